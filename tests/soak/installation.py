"""An installation that can be broken: real `gossamer serve` and `gossamer worker`, and what they stand on.

*embedded* is one server on SQLite, memory and a folder; *server* is two servers and two workers on
PostgreSQL, Valkey and S3. All of it is on free ports of loopback.
"""

import itertools
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.request import ProxyHandler, build_opener

import psutil  # type: ignore[import-untyped]

from tests.crawl.web import NETWORK
from tests.doors.services import ADMIN_KEY
from tests.servers.daemon import Daemon
from tests.servers.postgres import TEMPLATE, PostgresServer
from tests.servers.s3 import Rclone
from tests.servers.valkey import Valkey

LAME_DUCK: Final = 2.0  # seconds
STOP_SECONDS: Final = 60.0  # for a process that was told to stop
DISK_MEGABYTES: Final = 256
CONNECTIONS: Final = "max_connections=200"  # each process has 17, and those that were killed a while longer
BALLAST: Final = 1 << 20
MANY: Final = "1000000000/60"
SETTINGS: Final = {
    "BOOTSTRAP_KEY": ADMIN_KEY,
    "EGRESS_ALLOW": f"127.0.0.0/8,{NETWORK}",
    "EGRESS_PORTS": "*",
    "LOG_LEVEL": "info",
    "LOG_FORMAT": "json",
    "ACCESS_LOG": "false",
    "LAME_DUCK_SECONDS": str(LAME_DUCK),
    "CRAWL_DELAY": "0",
    "BACKOFF_FAULTS": "0",
    "BACKOFF_MISSES": "0",
    **{f"LIMIT_{name}": MANY for name in ("ADMIN", "USER", "ANONYMOUS_POST", "ANONYMOUS_READ")},
    **{
        f"LIMIT_{what}_{tier}": MANY
        for what in ("HITS", "CONTROL", "RENDERS")
        for tier in ("FREE", "PRO", "ENTERPRISE")
    },
}


@dataclass(frozen=True, slots=True)
class AtRest:
    """What a process holds while nothing is asked of it."""

    megabytes: float
    descriptors: int

    def __str__(self) -> str:
        return f"{self.megabytes:.0f} MB and {self.descriptors} descriptors"


class GossamerProcess(Daemon):
    """One of ours. Every start has a name of its own, by which the database knows whose leases they are."""

    command = ""
    start_seconds = 120.0  # the machine is busy with the storm

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.name = name
        self.dead: list[str] = []  # the names of starts that were killed
        self._starts = itertools.count(1)
        self._given = environment

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    @property
    def at_rest(self) -> AtRest:
        return AtRest(self.process.memory_info().rss / 1e6, self.process.num_fds())

    def start(self) -> None:
        self._id = f"{self.name}-{next(self._starts)}"
        super().start()

    def kill(self) -> None:
        if self._process is not None:
            self.dead.append(self._id)
        super().kill()

    def terminate(self) -> int:
        """As an operator does; its exit code. One that has not begun to work may end by the signal itself."""
        assert self._process is not None
        begun = _catches(self._process.pid, signal.SIGTERM)
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_SECONDS)
        self._process = None
        return 0 if code == -signal.SIGTERM and not begun else code

    def take_over(self, environment: Mapping[str, str]) -> None:
        """The next start is with these variables too."""
        self._given = {**self._given, **environment}

    @contextmanager
    def few_descriptors(self, more: int) -> Iterator[None]:
        """So many more than it has."""
        pid = self.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        held = self.process.num_fds() + more
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held, limits[1]))
        try:
            yield
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

    def browsers(self) -> list[psutil.Process]:
        """Of each Chromium below it, the process that the others belong to."""
        with suppress(psutil.NoSuchProcess):
            found = [one for one in self.process.children(recursive=True) if _is_chromium(one)]
            pids = {one.pid for one in found}
            return [one for one in found if one.ppid() not in pids]
        return []

    def children(self) -> list[psutil.Process]:
        """Workers that a server has started."""
        return [one for one in self.process.children() if "worker" in _command_of(one)]

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "gossamer", self.command]

    @property
    def environ(self) -> Mapping[str, str]:
        """What its commands are started with."""
        return self._environ()

    def _environ(self) -> Mapping[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        return {**clean, **self._given, "GOSSAMER_WORKER_ID": self._id, "GOSSAMER_PORT": str(self.port)}

    def _answers(self) -> bool:
        return True


class Server(GossamerProcess):
    command = "serve"

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(name, folder, environment)
        self.absences: list[tuple[float, float]] = []  # while nobody can expect it to answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def absent(self, after: float = 0.0) -> Iterator[None]:
        """What is asked meanwhile, or is not answered yet, may be cut; from so many seconds on."""
        began = time.monotonic() + after
        self.absences.append((began, float("inf")))
        try:
            yield
        finally:
            self.absences[-1] = (began, time.monotonic())

    def was_absent(self, began: float, ended: float) -> bool:
        return any(since <= ended and began <= until for since, until in self.absences)

    def _answers(self) -> bool:
        try:
            with build_opener(ProxyHandler({})).open(f"{self.url}/health/live", timeout=5) as answer:
                return int(answer.status) == 200
        except OSError:
            return False


class Worker(GossamerProcess):
    command = "worker"


class SmallDisk:
    """A file system of its own, which can be filled up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ballast = folder / "ballast"

    @classmethod
    def mounted(cls, folder: Path) -> "SmallDisk | None":
        """None where we may not mount."""
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "gossamer-soak", str(folder)]
        with suppress(OSError):
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return cls(folder)
        return None

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self._folder)], check=True)

    def fill(self) -> None:
        """To the last byte."""
        descriptor = os.open(self._ballast, os.O_WRONLY | os.O_CREAT)
        try:
            size = BALLAST
            while size:
                try:
                    os.write(descriptor, bytes(size))
                except OSError:
                    size //= 2
        finally:
            os.close(descriptor)

    def clear(self) -> None:
        self._ballast.unlink(missing_ok=True)


@dataclass
class Installation:
    size: str
    database_url: str
    servers: list[Server]
    workers: list[Worker] = field(default_factory=list)
    postgres: PostgresServer | None = None
    valkey: Valkey | None = None
    s3: Rclone | None = None
    disk: SmallDisk | None = None

    @property
    def processes(self) -> list[GossamerProcess]:
        return [*self.servers, *self.workers]

    @property
    def renderers(self) -> list[GossamerProcess]:
        """Who has browsers."""
        return [*(self.workers or self.servers)]

    def browsers(self) -> list[psutil.Process]:
        return [browser for process in self.processes for browser in process.browsers()]

    def at_rest(self) -> dict[str, AtRest]:
        return {process.name: process.at_rest for process in self.processes}


@contextmanager
def installed(size: str, folder: Path) -> Iterator[Installation]:
    """All of it is running; and is gone afterwards."""
    with ExitStack() as stack:
        installation = (_embedded if size == "embedded" else _on_servers)(folder, stack)
        for process in installation.processes:
            stack.callback(process.kill)
        first, *others = installation.processes
        first.start()  # it makes the tables
        with ThreadPoolExecutor() as threads:
            list(threads.map(GossamerProcess.start, others))
        yield installation


def _embedded(folder: Path, stack: ExitStack) -> Installation:
    data = folder / "data"
    disk = _disk(data, stack)
    settings = settings_environment({"DATA_DIR": str(data)})
    server = Server("server", folder / "server", settings)
    return Installation("embedded", f"sqlite:///{data}/gossamer.db", [server], disk=disk)


def _on_servers(folder: Path, stack: ExitStack) -> Installation:
    objects = folder / "objects"
    disk = _disk(objects, stack)
    postgres, valkey, s3 = PostgresServer(CONNECTIONS), Valkey(folder), Rclone(objects)
    stack.callback(postgres.remove)
    for daemon in (valkey, s3):
        stack.callback(daemon.kill)
        daemon.start()
    postgres.start()
    postgres.sql(f"CREATE DATABASE {TEMPLATE}")
    stores = {
        "DATABASE_URL": postgres.url_of(TEMPLATE),
        "REDIS_URL": valkey.url,
        "BLOBS_URL": s3.url,
        "DATA_DIR": str(folder / "data"),
    }
    settings = {**settings_environment(stores), **s3.environ}
    servers = [Server(name, folder / name, settings) for name in ("server-1", "server-2")]
    workers = [Worker(name, folder / name, settings) for name in ("worker-1", "worker-2")]
    return Installation(
        "server", stores["DATABASE_URL"], servers, workers, postgres=postgres, valkey=valkey, s3=s3, disk=disk
    )


def flush(valkey: Valkey) -> None:
    with socket.create_connection(("127.0.0.1", valkey.port), timeout=5) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        assert connection.recv(64).startswith(b"+OK")


def shorten_log(url: str) -> None:
    """What SQLite writes next needs room on the disk: it has none left over from before."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _disk(folder: Path, stack: ExitStack) -> SmallDisk | None:
    disk = SmallDisk.mounted(folder)
    if disk is not None:
        stack.callback(disk.unmount)
    return disk


def settings_environment(more: Mapping[str, str]) -> dict[str, str]:
    return {f"GOSSAMER_{name}": value for name, value in {**SETTINGS, **more}.items()}


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for this signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def _is_chromium(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any(name in process.name() for name in ("chrom", "headless"))
    return False


def _command_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        command: list[str] = process.cmdline()
        return command
    return []
