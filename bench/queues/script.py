"""What a queue's program can be told to do. Only the standard library: every contender runs it.

prepare URL                     make the tables
put URL JOBS BATCH AT_ONCE      put so many jobs in; prints the seconds that took
work URL AT_ONCE                print "ready", wait for a line on stdin, then work until terminated
"""

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

Put = Callable[[int], Awaitable[object]]  # so many jobs, in one go


class Contender(Protocol):
    async def prepare(self, url: str) -> None: ...

    async def putting(self, url: str, at_once: int, use: Callable[[Put], Awaitable[None]]) -> None:
        """Connect, call `use` with how to put jobs in, disconnect."""

    async def work(self, url: str, at_once: int, go: asyncio.Event, stop: asyncio.Event) -> None:
        """Connect, wait for `go`, work until `stop`."""


async def obey(contender: Contender) -> None:
    what, url, *numbers = sys.argv[1:]
    if what == "prepare":
        await contender.prepare(url)
    elif what == "put":
        jobs, batch, at_once = map(int, numbers)
        await contender.putting(url, at_once, lambda put: _put(put, jobs, batch, at_once))
    else:
        await _work(contender, url, int(numbers[0]))


async def _put(put: Put, jobs: int, batch: int, at_once: int) -> None:
    await put(batch)  # what is done once is done before
    left = iter(range(0, jobs, batch))

    async def one() -> None:
        for _ in left:
            await put(batch)

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(at_once)))
    print(time.perf_counter() - began, flush=True)


async def _work(contender: Contender, url: str, at_once: int) -> None:
    go, stop = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)

    def told() -> None:
        sys.stdin.readline()
        loop.remove_reader(sys.stdin)
        go.set()

    loop.add_reader(sys.stdin, told)
    await contender.work(url, at_once, go, stop)


def ready() -> None:
    print("ready", flush=True)
