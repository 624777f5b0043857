"""Processes of a test's own that start at once: forks of one that has imported everything.

Importing all of Gossamer takes more than a second of computing, and the tests start hundreds of processes.
What a fork has of its own: arguments, environment, folder, standard descriptors, and everything that it does.
What it has in common with the others: what was imported, the seed of Python's hashes, and the statements that
make the schema of an empty SQLite file (`tests.servers.statements`).

Not for tests of the start itself, of what is imported or installed, of the memory that a process has
(a fork shares its imported modules with others), or of options of Python: those start a real process.
"""

import atexit
import functools
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO

import msgspec

from tests.forks.server import Request

ROOT = Path(__file__).parents[2]
Stream = int | IO[str] | IO[bytes] | None  # as subprocess.Popen takes it; None: as ours is


class Forked:
    """`python -m module arguments…`, with that part of Popen's interface that tests use."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> None:
        self.args = (module, *arguments)
        self.returncode: int | None = None
        self._reading = Lock()
        request = Request(module, [*arguments], dict(os.environ if env is None else env), str(cwd))
        theirs: list[int] = []
        self.stdin = self._open(stdin, 0, theirs)
        self.stdout = self._open(stdout, 1, theirs)
        self.stderr = self._open(stderr, 2, theirs)
        self._report, report = os.pipe()
        theirs.append(report)
        try:
            _ask(msgspec.json.encode(request), theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self.pid = self._read()

    def poll(self) -> int | None:
        with self._reading:
            if self.returncode is None and self._is_over(0.0):
                self.returncode = self._read()
                os.close(self._report)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._is_over(left)
        return code

    def communicate(self, given: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Give it this, and wait for all that it says and its end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        readings = [_Reading(pipe) for pipe in (self.stdout, self.stderr)]
        if self.stdin is not None and not self.stdin.closed:
            self.stdin.write(given)
            self.stdin.close()
        for reading in readings:
            reading.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if reading.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(None if deadline is None else max(0.01, deadline - time.monotonic()))
        return readings[0].text, readings[1].text

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # the process that forks has reaped it, and is about to say so
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _open(self, stream: Stream, number: int, theirs: list[int]) -> IO[str] | None:
        """Add the descriptor that it gets; our side of it, if it is a pipe."""
        if stream != subprocess.PIPE:
            theirs.append(_duplicate(stream, number))
            return None
        read, write = os.pipe()
        theirs.append(write if number else read)
        return open(read, encoding="utf-8") if number else open(write, "w", encoding="utf-8")

    def _is_over(self, timeout: float | None) -> bool:
        with selectors.DefaultSelector() as ready:
            ready.register(self._report, selectors.EVENT_READ)
            return bool(ready.select(timeout))

    def _read(self) -> int:
        said = os.read(self._report, 4)
        assert len(said) == 4, "the process that forks is gone"
        return int.from_bytes(said, "little", signed=True)


class _Reading(Thread):
    """Reads a pipe to its end, and closes it."""

    def __init__(self, pipe: IO[str] | None) -> None:
        super().__init__(daemon=True)
        self.text = ""
        self._pipe = pipe
        self.start()

    def run(self) -> None:
        if self._pipe is not None and not self._pipe.closed:
            with self._pipe:
                self.text = self._pipe.read()


def _duplicate(stream: Stream, number: int) -> int:
    match stream:
        case None:
            return os.dup(number)
        case subprocess.DEVNULL:
            return os.open(os.devnull, os.O_RDWR)
        case int():
            return os.dup(stream)
        case _:
            return os.dup(stream.fileno())


def _ask(request: bytes, descriptors: list[int]) -> None:
    socket.send_fds(_channel(), [request], descriptors)


@functools.lru_cache(maxsize=1)  # one for all tests of this process
def _channel() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks.server", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
        )
    atexit.register(server.wait)  # the last to be registered is the first to be called
    atexit.register(ours.close)
    return ours
