"""The crawl worker: leases hosts that have something to do, walks them all at once, keeps the leases alive.

It may be killed or frozen at any instant: its hosts are given to another when their leases run out, with what
was taken and not written down, and what it writes after that is refused.
"""

import asyncio
import contextlib
import gc
import math
from collections import Counter
from typing import Final

from gossamer.flows.crawl.gate import Gates
from gossamer.flows.crawl.host import Crew, Walk
from gossamer.flows.crawl.lease import Held
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import heartbeats
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database
from gossamer.state.hosts import LEASE_MS

KIND: Final = heartbeats.CRAWL
RENEW_SECONDS: Final = LEASE_MS / 3000
IDLE_SECONDS: Final = 0.5  # how often it is asked whether there is something to do
LEASED_AT_ONCE: Final = 100  # or its part of what there is, if that is less
PRESENT_MS: Final = LEASE_MS  # within which a worker is heard of if it is there
FULL_TURN: Final = 60.0  # seconds for which a host is walked while others wait
SHORT_TURN: Final = 5.0  # while a crawl waits of which nothing is walked
LANES: Final = 64  # of all hosts that may be asked several times at once: more would only wait for us
STOP_SECONDS: Final = 5.0
TICK: Final = 1.0
# How often the collector looks for cycles. A crawl's pages are many objects that need none: it saves a tenth.
SELDOM: Final = (10_000, 20, 20)
PAUSES: Final = (0.25, 0.5)


class Crawling:
    def __init__(
        self,
        crew: Crew,
        crawls: Crawls,
        database: Database,
        gates: Gates,
        log: Log,
        *,
        name: str,
        most_hosts: int,
        usual_delay: float,
    ) -> None:
        self.name = name
        self._crew = crew
        self._crawls = crawls
        self._database = database
        self._gates = gates
        self._log = log
        self._most_hosts = most_hosts
        self._usual_delay = usual_delay
        self._fair = most_hosts  # as many as it may hold while others have few
        self._workers = 1  # that crawl, as far as we know
        self._told = 0  # hosts that others think we have
        self._walks: dict[Held, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()
        self._idle = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Crawl until `stop`; then end what ends soon, and give the rest back."""
        usual = gc.get_threshold()
        gc.set_threshold(*SELDOM)
        background = [asyncio.create_task(self._crew.writer.run()), asyncio.create_task(self._keep())]
        try:
            await self._introduce()
            await self._lease_on(stop)
        finally:
            gc.set_threshold(*usual)
            await self._wind_down()
            await self._gates.close()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            with contextlib.suppress(Unavailable):
                async with self._database.write() as connection:
                    await heartbeats.leave(connection, self._heartbeat)

    async def _introduce(self) -> None:
        """Who leases hosts knows of the others, and they of it."""
        with contextlib.suppress(Unavailable):
            await self._beat()
            await self._look_around()

    # Leasing.

    async def _lease_on(self, stop: asyncio.Event) -> None:
        stopped = asyncio.create_task(stop.wait())
        failures = 0
        try:
            while not stop.is_set():
                self._freed.clear()
                try:
                    leased = await self._lease()
                    failures = 0
                except Unavailable as away:
                    if not failures:
                        self._log.warning("crawl_paused", "the database is away", why=away.detail)
                    leased, failures = 0, failures + 1
                except Exception as error:  # noqa: BLE001 - whatever it is, the next lease may go well
                    self._log.error("crawl_failed", "leasing hosts went wrong", cause=error)
                    leased, failures = 0, failures + 1
                if leased < LEASED_AT_ONCE or self._workers > 1:  # who are to have their part
                    await self._wait(stopped, failures)
        finally:
            stopped.cancel()

    async def _lease(self) -> int:
        room = min(self._most_hosts, self._fair) - len(self._walks)
        if room <= 0:
            await self._take_turns()
            return 0
        since = asyncio.get_running_loop().time()
        leases = await self._crew.hosts.lease(self.name, min(room, LEASED_AT_ONCE))
        for lease in leases:
            self._start(Held.new(lease, since, self._usual_delay))
        return len(leases)

    async def _wait(self, stopped: asyncio.Task[bool], failures: int) -> None:
        pause = PAUSES[min(failures, len(PAUSES)) - 1] if failures else IDLE_SECONDS
        freed = asyncio.create_task(self._freed.wait())
        await asyncio.wait([stopped, freed], timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        freed.cancel()

    async def _take_turns(self) -> None:
        """Hosts that have been walked for long make room for others; there is work for more than we hold. If
        there are crawls that have none, so many need not wait that long."""
        now = asyncio.get_running_loop().time()
        for held in self._walks:
            held.leave = held.leave or now - held.began > FULL_TURN
        starving = await self._crew.hosts.starving(len(self._walks) * self._workers)
        leaving = sum(held.leave for held in self._walks)
        self._make_room(math.ceil(starving / self._workers) - leaving, now - SHORT_TURN)

    def _make_room(self, count: int, before: float) -> None:
        """Of who has most hosts the one that was begun with first, and so on."""
        having = Counter(held.tenant for held in self._walks if not held.leave)
        for _ in range(count):
            could = [held for held in self._walks if not held.leave and held.began < before]
            if not could:
                return
            chosen = min(could, key=lambda held: (-having[held.tenant], held.began))
            chosen.leave = True
            having[chosen.tenant] -= 1

    def _start(self, held: Held) -> None:
        self._walks[held] = asyncio.create_task(self._walk(held))

    async def _walk(self, held: Held) -> None:
        try:
            gate = await self._gates.of(held.host)
            await Walk(self._crew, held, gate, self._lanes).run()
        except Unavailable as away:
            self._log.warning("crawl_paused", "a host waits", host=held.host, why=away.detail)
        except Exception as error:  # noqa: BLE001 - the end of this walk only
            self._log.error("crawl_defect", "the walk of a host raised", host=held.host, cause=error)
        finally:
            del self._walks[held]
            self._freed.set()
            if not self._walks:  # that was perhaps the last of a crawl
                self._idle.set()
            if held.lost:
                self._log.warning("crawl_host_lost", "the lease of a host ran out", host=held.host)

    def _lanes(self) -> int:
        return max(1, LANES // max(1, len(self._walks)))

    # Keeping.

    async def _keep(self) -> None:
        """Renew leases, be seen to be alive, notice which crawls are done."""
        loop = asyncio.get_running_loop()
        renew_at = beat_at = 0.0
        while True:
            now = loop.time()
            try:
                if now >= renew_at:
                    await self._renew()
                    renew_at = now + RENEW_SECONDS
                if now >= beat_at or self._has_news():
                    await self._beat()
                    beat_at = now + RENEW_SECONDS
                await self._look_around()
                for crawl_id in await self._crawls.finished():
                    self._log.info("crawl_done", "a crawl is done", crawlId=crawl_id)
            except Unavailable as away:
                self._log.debug("crawl_unheard", "leases could not be renewed", why=away.detail)
            except Exception as error:  # noqa: BLE001 - the next round may go well
                self._log.error("crawl_failed", "keeping leases went wrong", cause=error)
            self._let_go()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._idle.wait()
            self._idle.clear()

    async def _renew(self) -> None:
        since = asyncio.get_running_loop().time()
        ours = [held for held in self._walks if not held.released]
        kept = {lease.host: lease for lease in await self._crew.hosts.extend([one.lease for one in ours])}
        for held in ours:
            if held.host in kept:
                held.renewed(kept[held.host], since)
            elif not held.released:
                held.lost = True

    def _let_go(self) -> None:
        """What is under way with a host that is not ours any more ends now."""
        for held, task in list(self._walks.items()):
            if not held.released and not held.holds():
                task.cancel()

    # Sharing.

    def _has_news(self) -> bool:
        """Whether others should know soon how many hosts we have now."""
        return self._workers > 1 and abs(len(self._walks) - self._told) > self._told // 4

    async def _beat(self) -> None:
        self._told = len(self._walks)
        async with self._database.write() as connection:
            await heartbeats.beat(connection, self._heartbeat, (KIND,), self._told)

    async def _look_around(self) -> None:
        """While somebody has less than half of his part, nobody has more than his."""
        async with self._database.read() as connection:
            crawling = [one for one in await heartbeats.alive(connection) if KIND in one.kinds]
        now = max((one.seen_at for one in crawling), default=0)
        others = [one for one in crawling if one.seen_at > now - PRESENT_MS and one.name != self._heartbeat]
        running = [len(self._walks), *(one.running for one in others)]
        self._workers = self._gates.workers = len(running)
        self._fair = self._most_hosts
        if others:
            part = math.ceil((sum(running) + await self._unleased()) / len(running))
            if 2 * min(running) < part:
                self._share(max(1, part))

    async def _unleased(self) -> int:
        return await self._crew.hosts.due(LEASED_AT_ONCE * self._workers)

    def _share(self, part: int) -> None:
        self._fair = part
        staying = [held for held in self._walks if not held.leave]
        for held in sorted(staying, key=lambda held: held.began)[part:]:
            held.leave = True

    @property
    def _heartbeat(self) -> str:
        return f"{self.name}-{KIND}"

    # Stopping.

    async def _wind_down(self) -> None:
        tasks = list(self._walks.values())
        for held in self._walks:
            held.leave = True
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        await self._crew.writer.close()
