"""Workers, each a `gossamer worker --kinds crawl` of its own, which are killed and frozen while they work.

What a worker had in
hand when it was struck is asked of the database, so that what may be fetched again is known to the page.
"""

import asyncio
import itertools
import os
import random
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from gossamer.problems import Unavailable
from gossamer.state.crawl.hosts import LEASE_MS
from gossamer.state.db.database import Database
from tests.forks.forked import Forked
from tests.servers.daemon import freeze

PAST = 1.25  # of a lease
PATIENCE = 30.0
MOMENT = 0.02
IN_HAND = text(
    "SELECT count(*) FROM frontier JOIN hosts ON hosts.host = frontier.host"
    " WHERE hosts.locked_by = :worker AND frontier.state = 'in_progress'"
)
HOLDERS = text("SELECT DISTINCT locked_by FROM hosts WHERE locked_by IS NOT NULL")
BRIEFLY = text("SET LOCAL lock_timeout = '200ms'")
# A lease that its holder cannot see the end of.
LAPSE = text("UPDATE hosts SET locked_until = 1, due_at = 1 WHERE locked_by = :worker")


class WorkerProcess:
    def __init__(self, name: str, environment: Mapping[str, str], said: Path, kind: str = "crawl") -> None:
        self.name = name
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        whole = {**clean, **environment, "GOSSAMER_WORKER_ID": name}
        with said.open("ab") as file:
            self._process = Forked("gossamer", "worker", "--kinds", kind, env=whole, stdout=file, stderr=file)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        freeze(self._process.pid)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """As an operator does; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None


class Workers:
    """So many of them; who is killed is replaced."""

    def __init__(
        self, database: Database, environment: Mapping[str, str], folder: Path, *, count: int, seed: int = 1
    ) -> None:
        self.kills = self.freezes = 0
        self.in_hand = 0  # of those that were struck, at that moment
        self.log = folder / "workers"
        self._database = database
        self._environment = environment
        self._count = count
        self._random = random.Random(seed)
        self._names = (f"w{number}" for number in itertools.count(1))
        self._awake: list[WorkerProcess] = []
        self._frozen: list[WorkerProcess] = []
        self._thawing: set[asyncio.Task[None]] = set()

    @property
    def frozen(self) -> int:
        return len(self._frozen)

    @property
    def is_whole(self) -> bool:
        """Nobody has ended without being told to."""
        return all(process.is_alive for process in [*self._awake, *self._frozen])

    @property
    def names(self) -> set[str]:
        return {process.name for process in [*self._awake, *self._frozen]}

    def grow(self, count: int) -> None:
        self._count = count
        self.fill()

    def fill(self) -> None:
        while len(self._awake) + len(self._frozen) < self._count:
            self._awake.append(WorkerProcess(next(self._names), self._environment, self.log))

    def indexer(self) -> WorkerProcess:
        """One that brings what was crawled into the search index; not of the workers."""
        return WorkerProcess(next(self._names), self._environment, self.log, "index")

    async def kill_one(self, *, lapse: bool = False) -> None:
        """`lapse`: others need not wait until its leases have run out."""
        await self._kill(await self._chosen(), lapse)
        self.fill()

    async def kill_all(self, *, lapse: bool = False) -> None:
        """And leave it so."""
        for process in [*self._awake, *self._frozen]:
            await self._kill(process, lapse)
        self._awake.clear()
        self._frozen.clear()

    async def freeze_one(self, seconds: float = LEASE_MS / 1000 * PAST) -> None:
        """For so long, in the background."""
        process = await self._frozen_one()
        self.in_hand += await self._in_hand(process)
        task = asyncio.create_task(self._thaw(process, seconds))
        self._thawing.add(task)
        task.add_done_callback(self._thawing.discard)

    async def overtake_one(self) -> WorkerProcess:
        """Freeze one, and let its leases run out at once: when it is thawed, it believes in them still."""
        process = await self._frozen_one()
        self.in_hand += await self._lapsed(process)
        return process

    def thaw(self, process: WorkerProcess) -> None:
        process.thaw()
        self._frozen.remove(process)
        self._awake.append(process)

    async def end(self) -> None:
        for task in self._thawing:
            task.cancel()
        for process in [*self._awake, *self._frozen]:
            await asyncio.to_thread(process.kill)

    async def _kill(self, process: WorkerProcess, lapse: bool) -> None:
        await asyncio.to_thread(process.kill)
        self.kills += 1
        self.in_hand += await (self._lapsed(process) if lapse else self._in_hand(process))

    async def _chosen(self) -> WorkerProcess:
        """One that is awake, and of those that hold hosts if there are any."""
        async with self._database.read() as connection:
            holders = set(await connection.scalars(HOLDERS))
        busy = [process for process in self._awake if process.name in holders]
        process = self._random.choice(busy or self._awake)
        self._awake.remove(process)
        return process

    async def _frozen_one(self) -> WorkerProcess:
        process = await self._chosen()
        self._frozen.append(process)
        process.freeze()
        self.freezes += 1
        return process

    async def _lapsed(self, process: WorkerProcess) -> int:
        while (in_hand := await self._lapse(process)) is None:
            process.thaw()
            await asyncio.sleep(MOMENT)
            process.freeze()
        return in_hand

    async def _lapse(self, process: WorkerProcess) -> int | None:
        """What it had in hand; None: it has locked what is to be changed, and was frozen at a bad moment."""
        try:
            async with self._database.write() as connection:
                await connection.execute(BRIEFLY)
                in_hand = await connection.scalar(IN_HAND, {"worker": process.name})
                await connection.execute(LAPSE, {"worker": process.name})
        except (DBAPIError, Unavailable):
            return None
        return in_hand or 0

    async def _thaw(self, process: WorkerProcess, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(ValueError):  # killed meanwhile
            self.thaw(process)

    async def _in_hand(self, process: WorkerProcess) -> int:
        async with self._database.read() as connection:
            return await connection.scalar(IN_HAND, {"worker": process.name}) or 0
