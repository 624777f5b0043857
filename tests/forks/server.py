"""The preloaded process: `python -m tests.forks.server DESCRIPTOR`.

It has imported everything and runs nothing: no thread, no event loop, no open file. Each request that it
receives is answered by a fork of itself, which becomes the process that was asked for. When the other side
of its socket is closed, it ends.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from gossamer import doors
from tests.servers.statements import share_revisions, statements_of_revisions

# What `gossamer` and the modules of tests import, but not those modules: they are run as `__main__`. All
# doors are imported: otherwise each process imports what it uses, which takes longer than most of its work.
PRELOADED = (
    "gossamer.app",
    "gossamer.state.wakeups.wakeups_sqlite",
    "tests.doors.echo",
    "aiosqlite",
    "uvloop",
)
MAX_REQUEST_BYTES = 1 << 20


class Request(msgspec.Struct):
    """What a fork becomes. With it come its three standard descriptors, and where its end is reported."""

    module: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class _Fork:
    pid: int
    report: int

    def tell(self, number: int) -> None:
        os.write(self.report, number.to_bytes(4, "little", signed=True))


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        for name in (*PRELOADED, *_modules_of_doors()):
            importlib.import_module(name)
        share_revisions()
        statements_of_revisions()
        gc.collect()
        gc.freeze()
        assert len(os.listdir("/proc/self/task")) == 1, "a fork would lose the other threads"
        asked = _serve(channel)
    if asked is not None:
        _run(asked)
    _leave(0)


def _modules_of_doors() -> Iterator[str]:
    return (found.name for found in pkgutil.walk_packages(doors.__path__, "gossamer.doors."))


def _serve(channel: socket.socket) -> Request | None:
    """In each fork, its request. In the server, None at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the terminal is for the tests
    forks: dict[int, _Fork] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is not channel:
                    _report(forks.pop(key.fd))
                    ready.unregister(key.fd)
                    os.close(key.fd)
                    continue
                asked, given, _, _ = socket.recv_fds(channel, MAX_REQUEST_BYTES, 4)
                if not asked:
                    return None
                *standard, report = given
                pid = os.fork()
                if not pid:
                    for each in (report, *forks, *(fork.report for fork in forks.values())):
                        os.close(each)
                    _stand(standard)
                    return msgspec.json.decode(asked, type=Request)
                for each in standard:
                    os.close(each)
                watched = os.pidfd_open(pid)
                forks[watched] = _Fork(pid, report)
                forks[watched].tell(pid)
                ready.register(watched, selectors.EVENT_READ)


def _report(fork: _Fork) -> None:
    _, status = os.waitpid(fork.pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it
        fork.tell(os.waitstatus_to_exitcode(status))
    os.close(fork.report)


def _stand(standard: list[int]) -> None:
    """These are the standard input, output and error from here on, also for Python."""
    for number, given in enumerate(standard):
        os.dup2(given, number)
        os.close(given)
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = os.fdopen(  # type: ignore[misc]
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _run(asked: Request) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked.environment)
    time.tzset()
    os.chdir(asked.folder)
    sys.argv[1:] = asked.arguments
    code: int | str | None = 0
    try:
        runpy.run_module(asked.module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    if isinstance(code, str):
        raise SystemExit(code)
    _leave(code or 0)


def _leave(code: int) -> NoReturn:
    """As Python does at its end, except that nothing is taken apart: that would copy all that is shared."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = 120
    os._exit(code)


if __name__ == "__main__":
    main()
