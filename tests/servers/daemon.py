"""A server that a test starts, freezes and kills."""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

START_SECONDS = 30.0
# Ports below those that connections are given on their way out, others for each process of a test run, and
# from another one on for each run: so that nobody takes one before who asked for it.
_MANY: Final = 4_000
_FIRST: Final = 10_000 + _MANY * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw4")[2:]) % 5)
_PORTS: Final = (_FIRST + number % _MANY for number in itertools.count(os.getpid() * 97))


def free_port() -> int:
    for port in itertools.islice(_PORTS, _MANY):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no free port")


def freeze(process: int) -> None:
    """Stop a process, and wait until it stands still: each thread hears the signal when it is next scheduled,
    and one that is in the kernel may still be given a lock there."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        os.kill(process, signal.SIGSTOP)
        while not all(map(_stands, Path(f"/proc/{process}/task").iterdir())):
            time.sleep(0.001)


class Daemon:
    """Says its command and when it answers; what it writes is kept in its folder."""

    start_seconds: ClassVar[float] = START_SECONDS

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / "log"
        with log.open("ab") as said:
            self._process = subprocess.Popen(self._command(), stdout=said, stderr=said, env=self._environ())
        deadline = time.monotonic() + self.start_seconds
        while not self._answers():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"{type(self).__name__} does not answer"
            time.sleep(0.01)
        assert self._process.poll() is None, log.read_text()  # else another one has answered

    def kill(self) -> None:
        """As by `kill -9`, also while it is frozen."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        """Freeze it: connections stay open, nothing is answered."""
        assert self._process is not None
        freeze(self._process.pid)

    def cont(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _environ(self) -> Mapping[str, str] | None:
        """None: as ours is."""
        return None

    def _answers(self) -> bool:
        raise NotImplementedError


def _stands(thread: Path) -> bool:
    try:
        state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True  # it has ended
    return state in "TXZ"  # stopped, or ended
