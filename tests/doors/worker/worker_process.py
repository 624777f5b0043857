"""A worker as a process of its own, forked from one that has everything imported, so that it starts at once.

What it does leaves a row in the table `effects`, written in the transaction that finishes the job. It says
when it is ready, when it begins a job, and how each one ended.
"""

import asyncio
import multiprocessing
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

import msgspec
import uvloop
from sqlalchemy import text
from tests.servers.daemon import freeze

from gossamer.doors.worker.work import Handler, Work
from gossamer.doors.worker.worker import Worker
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups

PATIENCE = 20.0
KIND = "work"
EFFECTS = "CREATE TABLE effects (job_id VARCHAR(26), worker VARCHAR, attempt INTEGER)"
WRITE = text("INSERT INTO effects VALUES (:job_id, :worker, :attempt)")
BRIEFLY = text("SET LOCAL lock_timeout = '200ms'")
LAPSE = text("UPDATE jobs SET locked_until = 1 WHERE locked_by = :worker AND status = 'running'")


class Task(msgspec.Struct):
    seconds: float = 0.0
    kills: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    url: str
    name: str
    lease: float = 30.0
    concurrency: int = 1
    holds: bool = False  # it ends no job before it is let go
    clock: float = 0.0  # seconds by which the machine's clock is wrong, as far as Python can see it


class WorkerProcess:
    def __init__(self, options: Options) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self.name = options.name
        self._lines, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(options, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def line(self) -> str:
        """What it says next."""
        assert self._lines.poll(PATIENCE), "it says nothing"
        said: str = self._lines.recv()
        return said

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def freeze(self) -> None:
        if self._process.pid is not None and self._process.is_alive():
            freeze(self._process.pid)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def let_go(self) -> None:
        """Also while it is frozen; then it hears of it when it is thawed."""
        self._signal(signal.SIGUSR1)

    def stop(self) -> int | None:
        """As an operator does; its exit code."""
        self._signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int | None:
        self._process.join(PATIENCE)
        return self._process.exitcode

    def _signal(self, number: signal.Signals) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)


async def make_effects(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(text(EFFECTS))


async def lapse(database: Database, worker: str) -> bool:
    """Let its leases run out at once: it believes in them still, and a busy machine ends no others. False: it
    has locked what is to be changed."""
    try:
        async with database.write() as connection:
            if database.dialect == "postgresql":
                await connection.execute(BRIEFLY)
            await connection.execute(LAPSE, {"worker": worker})
    except Unavailable:
        return False
    return True


class _Doing:
    """The handler, and what is told of it."""

    def __init__(self, name: str, lines: Connection, *, holds: bool) -> None:
        self._name = name
        self._lines = lines
        self._free = asyncio.Event()
        if holds:
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._free.set)
        else:
            self._free.set()

    async def run(self, work: Work[Task]) -> None:
        self.say(f"began {work.job.job_id}")
        if work.payload.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(work.payload.seconds)
        await self._free.wait()
        effect = {"job_id": work.job.job_id, "worker": self._name, "attempt": work.job.attempt}
        async with work.finishing(self._name) as connection:
            await connection.execute(WRITE, effect)

    def job(self, _kind: str, outcome: str, _seconds: float) -> None:
        self.say(f"ended {outcome}")

    def say(self, line: str) -> None:
        if not _is_full(self._lines):  # who forks many of them does not listen
            self._lines.send(line)


def _is_full(lines: Connection) -> bool:
    return not select.select([], [lines], [], 0)[1]


def _run(options: Options, lines: Connection) -> None:
    _set_clock(options.clock)
    uvloop.run(_work(options, lines))


def _set_clock(seconds: float) -> None:
    true_time, true_nanoseconds = time.time, time.time_ns
    time.time = lambda: true_time() + seconds
    time.time_ns = lambda: true_nanoseconds() + int(seconds * 1e9)


async def _work(options: Options, lines: Connection) -> None:
    database = open_database(options.url)
    jobs = Jobs(database, open_wakeups(database))
    doing = _Doing(options.name, lines, holds=options.holds)
    worker = Worker(
        jobs,
        {KIND: Handler(run=doing.run, payload=Task, concurrency=options.concurrency)},
        name=options.name,
        log=Log(sys.stderr, level="error"),
        metrics=doing,
        lease_seconds=options.lease,
        stop_seconds=0.2,
    )
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    doing.say("ready")
    await worker.run(stop)
    await jobs.close()
    await database.close()
