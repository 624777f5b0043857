"""Jobs in a storm: every second one worker is killed and another is frozen past its lease.

What is counted is rows that the jobs wrote in the transactions that finished them: none may be missing, none
may be there twice, and no more may have been begun again than workers were killed or frozen.
"""

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass

from sqlalchemy import text

from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import open_wakeups
from tests.doors.worker.worker_process import KIND, Options, WorkerProcess, lapse, make_effects
from tests.servers.postgres import TEMPLATE, PostgresServer

PAST = 1.25  # of the lease
PROBE = 0.02
OVERTAKEN_SECONDS = 1.25


@dataclass(frozen=True, slots=True)
class Outcome:
    jobs: int
    seconds: float
    kills: int
    freezes: int
    lost: int  # jobs that are not done
    twice: int  # jobs that wrote more than once
    begun_again: int

    @property
    def complaints(self) -> list[str]:
        return [
            *([f"{self.lost} lost"] if self.lost else []),
            *([f"{self.twice} written twice"] if self.twice else []),
            *(["begun again too often"] if self.begun_again > self.kills + self.freezes else []),
        ]

    def __str__(self) -> str:
        return (
            f"{self.jobs} jobs in {self.seconds:.0f} s, {self.kills} kills, {self.freezes} freezes: "
            f"{self.lost} lost, {self.twice} written twice, {self.begun_again} begun again "
            f"(at most {self.kills + self.freezes})"
        )


async def freeze_alone(process: WorkerProcess, url: str) -> None:
    """Not while it holds SQLite's only lock: that would freeze everybody, which is another storm."""
    process.freeze()
    while await asyncio.to_thread(_is_locked, url):
        process.thaw()
        await asyncio.sleep(PROBE)
        process.freeze()


class Crew:
    """Worker processes, of which there are always so many. If they are `overtaken`, their leases
    end at once when they are struck, and else last so long that no busy machine ends them."""

    def __init__(
        self,
        database: Database,
        url: str,
        count: int,
        lease: float,
        randomness: random.Random,
        overtaken: bool,
    ) -> None:
        self.kills = self.freezes = 0
        self._database = database
        self._url = url
        self._count = count
        self._lease = lease
        self._overtaken = overtaken
        self._random = randomness
        self._started = 0
        self._awake: list[WorkerProcess] = []
        self._frozen: list[WorkerProcess] = []
        self._thawing: set[asyncio.Task[None]] = set()

    def fill(self) -> None:
        while len(self._awake) + len(self._frozen) < self._count:
            self._started += 1
            self._awake.append(WorkerProcess(Options(self._url, f"w{self._started}", self._lease)))

    async def kill_one(self) -> None:
        process = self._random.choice(self._awake)
        self._awake.remove(process)
        await asyncio.to_thread(process.kill)
        self.kills += 1
        while self._overtaken and not await lapse(self._database, process.name):
            await asyncio.sleep(PROBE)
        self.fill()

    async def freeze_one(self) -> None:
        """Past its lease, in the background."""
        process = self._random.choice(self._awake)
        self._awake.remove(process)
        self._frozen.append(process)
        await freeze_alone(process, self._url)
        while self._overtaken and not await lapse(self._database, process.name):
            process.thaw()  # it has locked the row of a job
            await asyncio.sleep(PROBE)
            await freeze_alone(process, self._url)
        self.freezes += 1
        task = asyncio.create_task(self._thaw(process))
        self._thawing.add(task)
        task.add_done_callback(self._thawing.discard)

    async def _thaw(self, process: WorkerProcess) -> None:
        await asyncio.sleep(OVERTAKEN_SECONDS if self._overtaken else self._lease * PAST)
        process.thaw()
        self._frozen.remove(process)
        self._awake.append(process)

    async def end(self) -> None:
        for task in self._thawing:
            task.cancel()
        for process in [*self._awake, *self._frozen]:
            await asyncio.to_thread(process.kill)


async def storm(
    url: str,
    *,
    jobs: int,
    workers: int,
    lease: float,
    every: float,
    seed: int = 1,
    work: float = 0.005,
    overtaken: bool = False,
) -> Outcome:
    database = open_database(url)
    await database.migrate()
    queue = Jobs(database, open_wakeups(database))
    crew = Crew(database, url, workers, lease, random.Random(seed), overtaken)
    began = time.monotonic()
    try:
        await _fill(queue, jobs, work)
        crew.fill()
        while await _left(database, jobs):
            await asyncio.sleep(every)
            await crew.kill_one()
            await crew.freeze_one()
    finally:
        await crew.end()
        seconds = time.monotonic() - began
        counted = await _count(database)
        await queue.close()
        await database.close()
    return Outcome(jobs, seconds, crew.kills, crew.freezes, *counted)


async def _fill(queue: Jobs, count: int, work: float) -> None:
    await make_effects(queue.database)
    async with queue.database.write() as connection:
        tenant = (await tenants.ensure_tenant(connection, "storm@example.com")).id
    for start in range(0, count, 1_000):
        size = min(1_000, count - start)
        new = NewJob
        await queue.put_many(
            [
                new(kind=KIND, tenant_id=tenant, payload={"seconds": work}, max_attempts=100)
                for _ in range(size)
            ]
        )


async def _left(database: Database, jobs: int) -> bool:
    async with database.read() as connection:
        done = await connection.scalar(text("SELECT count(*) FROM jobs WHERE finished_at IS NOT NULL"))
    return (done or 0) < jobs


async def _count(database: Database) -> tuple[int, int, int]:
    twice = "SELECT count(*) FROM (SELECT job_id FROM effects GROUP BY job_id HAVING count(*) > 1) AS t"
    lost = "SELECT count(*) FROM jobs WHERE status <> 'done' OR job_id NOT IN (SELECT job_id FROM effects)"
    async with database.read() as connection:
        counts = [await connection.scalar(text(query)) for query in (lost, twice)]
        again = await connection.scalar(text("SELECT sum(attempt - 1) FROM jobs"))
    return counts[0] or 0, counts[1] or 0, int(again or 0)


def _is_locked(url: str) -> bool:
    if not url.startswith("sqlite:///"):
        return False
    path = url.removeprefix("sqlite:///")
    for _ in range(3):  # others hold it for a moment only
        with closing(sqlite3.connect(path, timeout=0.05, isolation_level=None)) as probe:
            try:
                probe.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                continue
            probe.execute("ROLLBACK")
            return False
    return True


def main() -> None:
    options = _options()
    failed = False
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as folder:
        for name in options.on:
            outcome = asyncio.run(_on(name, folder, options))
            print(f"{name}: {outcome}", flush=True)
            failed = failed or bool(outcome.complaints)
    sys.exit(1 if failed else 0)


async def _on(name: str, folder: str, options: argparse.Namespace) -> Outcome:
    size = {"jobs": options.jobs, "workers": options.workers, "lease": options.lease, "every": options.every}
    if name == "sqlite":
        return await storm(f"sqlite:///{folder}/soak.db", **size, seed=options.seed)
    server = PostgresServer()
    try:
        server.start()
        server.sql(f"CREATE DATABASE {TEMPLATE}")
        return await storm(server.url_of(TEMPLATE), **size, seed=options.seed)
    finally:
        server.remove()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/soak jobs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--lease", type=float, default=1.5, help="seconds")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between a kill and a freeze")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--on", choices=["postgres", "sqlite"], nargs="+", default=["postgres", "sqlite"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
