"""The crawl worker: leases hosts with pending URLs, crawls them concurrently and keeps the leases alive.

It may be killed or frozen at any instant. When its leases run out, its hosts go to another worker, with the
URLs that were taken and not written, and later writes of this one are refused.
"""

import asyncio
import contextlib
import gc
import math
from collections import Counter
from functools import partial
from typing import Final

from gossamer.flows.crawl.host import CrawlParts, HostCrawl
from gossamer.flows.crawl.lease import HeldHost
from gossamer.flows.crawl.politeness.gate import Gates
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.hosts import LEASE_MS
from gossamer.state.db import clock_steps
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats

KIND: Final = heartbeats.CRAWL
RENEW_SECONDS: Final = LEASE_MS / 3000
IDLE_SECONDS: Final = 0.5  # how often to look for work
MAX_LEASED_AT_ONCE: Final = 100  # or its share of the hosts, if that is less
PRESENT_MS: Final = LEASE_MS  # within which a living worker is heard of
FULL_TURN: Final = 60.0  # seconds for which a host is crawled while others wait
SHORT_TURN: Final = 5.0  # while another crawl has no host at all
MAX_REQUESTS: Final = 64  # over all hosts: more would only wait for this process
STOP_SECONDS: Final = 3.0
TICK: Final = 1.0
# A crawl makes many objects without cycles: collecting less often saves a tenth of the time.
GC_THRESHOLDS: Final = (10_000, 20, 20)
PAUSES: Final = (0.25, 0.5)


class CrawlWorker:
    def __init__(
        self,
        parts: CrawlParts,
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
        self._parts = parts
        self._crawls = crawls
        self._database = database
        self._gates = gates
        self._log = log
        self._most_hosts = most_hosts
        self._usual_delay = usual_delay
        self._fair = most_hosts  # hosts that it may hold while others have few
        self._workers = 1  # as far as is known
        self._reported = 0  # hosts, in the last heartbeat
        self._tasks: dict[HeldHost, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()
        self._idle = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Crawl until `stop`; then finish what ends soon, and give the rest back."""
        usual = gc.get_threshold()
        gc.set_threshold(*GC_THRESHOLDS)
        background = [asyncio.create_task(self._parts.writer.run()), asyncio.create_task(self._keep())]
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
        """Workers must know of each other before they lease hosts."""
        with contextlib.suppress(Unavailable):
            await self._beat()
            await self._read_heartbeats()

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
                except Exception as error:  # noqa: BLE001 - the next lease may succeed
                    self._log.error("crawl_failed", "leasing hosts went wrong", cause=error)
                    leased, failures = 0, failures + 1
                if leased < MAX_LEASED_AT_ONCE or self._workers > 1:  # which need their share
                    await self._wait(stopped, failures)
        finally:
            stopped.cancel()

    async def _lease(self) -> int:
        room = min(self._most_hosts, self._fair) - len(self._tasks)
        if room <= 0:
            await self._take_turns()
            return 0
        since = asyncio.get_running_loop().time()
        leases = await self._parts.hosts.lease(self.name, min(room, MAX_LEASED_AT_ONCE))
        for lease in leases:
            self._start(HeldHost.new(lease, since, self._usual_delay))
        return len(leases)

    async def _wait(self, stopped: asyncio.Task[bool], failures: int) -> None:
        pause = PAUSES[min(failures, len(PAUSES)) - 1] if failures else IDLE_SECONDS
        freed = asyncio.create_task(self._freed.wait())
        await asyncio.wait([stopped, freed], timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        freed.cancel()

    async def _take_turns(self) -> None:
        """Give up hosts that were crawled for long, as more hosts wait than this worker holds. A crawl
        without any host need not wait that long for one."""
        now = asyncio.get_running_loop().time()
        for held in self._tasks:
            held.leave = held.leave or now - held.began > FULL_TURN
        starving = await self._parts.hosts.count_starving(len(self._tasks) * self._workers)
        leaving = sum(held.leave for held in self._tasks)
        self._make_room(math.ceil(starving / self._workers) - leaving, now - SHORT_TURN)

    def _make_room(self, count: int, before: float) -> None:
        """Give up hosts, each time the oldest of the tenant that has most."""
        held_by_tenant = Counter(held.tenant for held in self._tasks if not held.leave)
        for _ in range(count):
            could = [held for held in self._tasks if not held.leave and held.began < before]
            if not could:
                return
            chosen = min(could, key=lambda held: (-held_by_tenant[held.tenant], held.began))
            chosen.leave = True
            held_by_tenant[chosen.tenant] -= 1

    def _start(self, held: HeldHost) -> None:
        self._tasks[held] = asyncio.create_task(self._crawl_host(held))

    async def _crawl_host(self, held: HeldHost) -> None:
        try:
            gate = await self._gates.of(held.host)
            await HostCrawl(self._parts, held, gate, self._concurrency).run()
        except Unavailable as away:
            self._log.warning("crawl_paused", "a host waits", host=held.host, why=away.detail)
        except Exception as error:  # noqa: BLE001 - only the crawl of this host ends
            self._log.error("crawl_defect", "the crawl of a host failed", host=held.host, cause=error)
        finally:
            del self._tasks[held]
            self._freed.set()
            if not self._tasks:  # this may have been the last host of a crawl
                self._idle.set()
            if held.lost:
                self._log.warning("crawl_host_lost", "the lease of a host ran out", host=held.host)

    def _concurrency(self) -> int:
        return max(1, MAX_REQUESTS // max(1, len(self._tasks)))

    # Keeping.

    async def _keep(self) -> None:
        """Renew leases, send heartbeats, and end the crawls that are done."""
        loop = asyncio.get_running_loop()
        renew_at = beat_at = 0.0
        while True:
            now = loop.time()
            try:
                if now >= renew_at:
                    await self._renew()
                    renew_at = now + RENEW_SECONDS
                if now >= beat_at or self._has_changed():
                    await self._beat()
                    beat_at = now + RENEW_SECONDS
                await self._read_heartbeats()
                for crawl_id in await self._crawls.finish():
                    self._log.info("crawl_done", "a crawl is done", crawlId=crawl_id)
            except Unavailable as away:
                self._log.debug("crawl_unheard", "leases could not be renewed", why=away.detail)
            except Exception as error:  # noqa: BLE001 - the next round may succeed
                self._log.error("crawl_failed", "keeping leases went wrong", cause=error)
            self._let_go()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._idle.wait()
            self._idle.clear()

    async def _renew(self) -> None:
        since = asyncio.get_running_loop().time()
        ours = [held for held in self._tasks if not held.released]
        kept = {lease.host: lease for lease in await self._parts.hosts.extend([one.lease for one in ours])}
        for held in ours:
            if held.host in kept:
                held.renew(kept[held.host], since)
            elif not held.released:
                held.lost = True

    def _let_go(self) -> None:
        """Stop crawling the hosts whose leases were lost."""
        for held, task in list(self._tasks.items()):
            if not held.released and not held.holds():
                task.cancel()

    # Sharing.

    def _has_changed(self) -> bool:
        """Whether the number of hosts has changed so much that others should know."""
        return self._workers > 1 and abs(len(self._tasks) - self._reported) > self._reported // 4

    async def _beat(self) -> None:
        self._reported = len(self._tasks)
        step = await clock_steps.follow(self._database)
        if step:
            self._log.warning("clock_set_back", "the clock was set back", seconds=step // 1000)
        beat = partial(heartbeats.beat, name=self._heartbeat, kinds=(KIND,), running=self._reported)
        await self._database.transact(beat)

    async def _read_heartbeats(self) -> None:
        """While one worker has less than half of its share, no other keeps more than its own."""
        async with self._database.read() as connection:
            crawling = [one for one in await heartbeats.alive(connection) if KIND in one.kinds]
        now = max((one.seen_at for one in crawling), default=0)
        others = [one for one in crawling if one.seen_at > now - PRESENT_MS and one.name != self._heartbeat]
        running = [len(self._tasks), *(one.running for one in others)]
        self._workers = self._gates.workers = len(running)
        self._fair = self._most_hosts
        if others:
            part = math.ceil((sum(running) + await self._count_due()) / len(running))
            if 2 * min(running) < part:
                self._share(max(1, part))

    async def _count_due(self) -> int:
        return await self._parts.hosts.count_due(MAX_LEASED_AT_ONCE * self._workers)

    def _share(self, part: int) -> None:
        self._fair = part
        staying = [held for held in self._tasks if not held.leave]
        for held in sorted(staying, key=lambda held: held.began)[part:]:
            held.leave = True

    @property
    def _heartbeat(self) -> str:
        return f"{self.name}-{KIND}"

    # Stopping.

    async def _wind_down(self) -> None:
        tasks = list(self._tasks.values())
        for held in self._tasks:
            held.leave = True
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        await self._parts.writer.close()
