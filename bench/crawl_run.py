"""One crawl of a site by a fresh process, and what it used."""

import os
import subprocess
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import crawl_sites
from bench.contenders import usage
from bench.crawl_contenders import Contender
from bench.crawl_sites import Site
from bench.crawlers.gossamer import PROCESSES
from bench.jobs import DurableServer
from bench.servers import ROOT, Cores

LONGEST: Final = 1_800.0  # seconds of one crawl
LOOK_SECONDS: Final = 0.05
MEMORY_LOOKS: Final = 10  # it costs milliseconds, so only at each tenth look
DATABASE: Final = "GOSSAMER_BENCH_DATABASE"
LITTLE: Final = 0.05  # CPU seconds; a process that had used less at the first request has not started up


@dataclass(frozen=True, slots=True)
class Round:
    """CPU in seconds, each from the start of the processes to their end."""

    pages: int
    requests: int
    seconds: float  # from the first request to the end
    cpu: float  # of the contender
    peak: int  # bytes, of all its processes together; what they share is counted once
    cores: int = 1  # that it had
    startup: tuple[float, ...] = ()  # CPU of each of its processes up to the first request
    database: float = 0.0  # CPU of a database server
    database_startup: float = 0.0  # CPU of it up to the first request
    server: float = 0.0  # CPU of nginx, which is on these cores if there are several

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def cost(self) -> float:
        """CPU seconds per 1,000 pages, with those of the database."""
        return (self.cpu + self.database) / self.pages * 1_000

    @property
    def idle(self) -> float | None:
        """The share of its cores that nobody used after the first request; None if it was not measured."""
        if not self.startup:
            return None
        used = self.cpu - sum(self.startup) + self.database - self.database_startup
        return 1 - (used + (self.server if self.cores > 1 else 0.0)) / (self.seconds * self.cores)


@dataclass(slots=True)
class Watch:
    """What a process and its children have used, looked at again and again."""

    pid: int
    times: list[float] = field(default_factory=list)
    used: list[dict[int, float]] = field(default_factory=list)  # CPU seconds by process
    peak: int = 0

    def look(self) -> None:
        self.used.append(usage.cpu_by_process(self.pid))
        self.times.append(time.time())
        if len(self.times) % MEMORY_LOOKS == 1:
            self.peak = max(self.peak, usage.held_bytes(self.pid))

    def at(self, moment: float) -> dict[int, float]:
        """What each had used at that time; in between two looks, in proportion."""
        after = bisect_right(self.times, moment)
        if after in (0, len(self.times)):
            return self.used[max(after - 1, 0)] if self.used else {}
        share = (moment - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        earlier, later = self.used[after - 1], self.used[after]
        return {pid: earlier.get(pid, 0.0) * (1 - share) + cpu * share for pid, cpu in later.items()}


class CrawlBench:
    """Where crawls are measured: a scratch folder, cores, and a PostgreSQL if a contender wants one."""

    def __init__(self, folder: Path, cores: Cores, postgres: DurableServer | None) -> None:
        self._folder = folder
        self._cores = cores
        self._postgres = postgres
        self._runs = 0

    def crawl(self, contender: Contender, site: Site) -> Round:
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        (folder / "kept").mkdir(parents=True)
        with self._database(contender) as database:
            return self._measured(contender, site, folder, database)

    @contextmanager
    def _database(self, contender: Contender) -> Iterator[dict[str, str]]:
        """An empty database on the contender's cores."""
        if self._postgres is None or not contender.on_postgres:
            yield {}
            return
        name = f"crawl_{self._runs}"
        self._postgres.sql(f"CREATE DATABASE {name}")
        for pid in usage.cpu_by_process(self._postgres.pid):
            os.sched_setaffinity(pid, self._allowed(contender))
        try:
            yield {DATABASE: self._postgres.url_of(name)}
        finally:
            self._postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def _allowed(self, contender: Contender) -> set[int]:
        mine = self._cores.server
        return {int(mine)} if mine and contender.processes == 1 else os.sched_getaffinity(0)

    def _measured(self, contender: Contender, site: Site, folder: Path, database: Mapping[str, str]) -> Round:
        seeds = folder / "seeds"
        seeds.write_text("\n".join(site.seeds))
        module, kept = f"bench.crawlers.{contender.module}", folder / "kept"
        command = [str(contender.python()), "-m", module, str(kept), str(seeds)]
        environment = {
            **_plain(folder),
            **contender.environment(),
            **database,
            PROCESSES: str(contender.processes),
        }
        allowed = self._allowed(contender)
        with (
            crawl_sites.serving(site, folder / "nginx", cores=self._cores.load) as server,
            (folder / "log").open("wb") as said,
        ):
            stored = usage.cpu_seconds(self._postgres.pid) if self._postgres and database else 0.0
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdout=said,
                stderr=said,
                preexec_fn=lambda: os.sched_setaffinity(0, allowed),
            )
            watches = [
                Watch(process.pid),
                *([Watch(self._postgres.pid)] if self._postgres and database else []),
            ]
            with _looking(watches):
                cpu = _ended(process)
            ended = time.time()
            served = usage.cpu_seconds(server.pid)
            spent = usage.cpu_seconds(self._postgres.pid) - stored if self._postgres and database else 0.0
        if process.returncode:
            end = "\n".join((folder / "log").read_text(errors="replace").splitlines()[-20:])
            raise SystemExit(f"{contender.name} failed on {site.name}:\n{end}")
        seen = crawl_sites.seen(folder / "nginx")
        if seen.pages < site.pages:
            raise SystemExit(f"{contender.name} fetched {seen.pages} of {site.pages} pages of {site.name}")
        begun = [watch.at(seen.began) for watch in watches]
        return Round(
            pages=seen.pages,
            requests=seen.requests,
            seconds=ended - seen.began,
            cpu=cpu,
            peak=watches[0].peak,
            cores=len(allowed),
            startup=tuple(round(used, 3) for used in begun[0].values() if used > LITTLE),
            database=spent,
            database_startup=sum(begun[1].values()) - stored if database else 0.0,
            server=served,
        )


def _plain(folder: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**plain, "HOME": str(folder), "PYTHONPATH": str(ROOT)}


def _ended(process: subprocess.Popen[bytes]) -> float:
    """When it has ended: the seconds of the processor that it and its children have used."""
    timer = threading.Timer(LONGEST, process.kill)
    timer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
        if process.returncode is None:
            process.kill()
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


@contextmanager
def _looking(watches: list[Watch]) -> Iterator[None]:
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            for watch in watches:
                watch.look()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        done.set()
        looking.join()
