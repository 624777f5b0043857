"""WatchedCrawl: a crawl, until it is over, is interrupted, or has to wait for long."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from msgspec import Struct

from gossamer.client.runs import CrawlRun
from gossamer.doors.cli.crawl.telling import PATIENCE, End
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.progress import WaitReason
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.pages.timestamps import seconds_of

LOOK_SECONDS: Final = 1.0  # how often its state is asked for
_SHORT: Final = ("turn", "worker")  # what ends as soon as a worker has time


class CrawlEnd(Struct, frozen=True):
    """How a crawl ended, and what it waits for if it does."""

    end: End
    crawl: ShownCrawl
    reason: WaitReason | None = None


class WatchedCrawl(Struct, frozen=True):
    run: CrawlRun  # it has begun
    put: Callable[[ShownPage], None]
    show: Callable[[ShownCrawl], None]  # how far it is

    async def until_over(self) -> CrawlEnd:
        """Take the pages that it stores. If it is interrupted or waits, it is paused."""
        printing = asyncio.create_task(self._put_all())
        interrupted = asyncio.Event()
        end: End | None = None
        reason: WaitReason | None = None
        with _interrupts(interrupted):
            try:
                while end is None and not printing.done():
                    await _wait_for_either(printing, interrupted, LOOK_SECONDS)
                    crawl = await self.run.status()
                    self.show(crawl)
                    reason = crawl.waiting.reason if crawl.waiting else None
                    if interrupted.is_set():
                        end = "interrupted"
                    elif _waits_for_long(crawl):
                        end = "waits"
                if end is not None:
                    await self.run.pause()
                await printing  # the pages that were stored last
            finally:
                printing.cancel()
                await asyncio.gather(printing, return_exceptions=True)
        crawl = await self.run.status()
        if end is None and crawl.status == "paused":  # by a quota, or by somebody else
            end, reason = "waits", crawl.waiting.reason if crawl.waiting else None
        return CrawlEnd(end or "over", crawl, reason)

    async def _put_all(self) -> None:
        async with aclosing(aiter(self.run)) as pages:
            async for page in pages:
                self.put(page)


@contextmanager
def _interrupts(interrupted: asyncio.Event) -> Iterator[None]:
    """Set the event when the user interrupts. Whoever does it twice does not want to wait."""
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)

    def interrupt() -> None:
        interrupted.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _wait_for_either(task: asyncio.Task[None], event: asyncio.Event, seconds: float) -> None:
    told = asyncio.create_task(event.wait())
    try:
        await asyncio.wait((task, told), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()


def _waits_for_long(crawl: ShownCrawl) -> bool:
    """Whether every host that is left fails, or asks for a long pause."""
    waiting = crawl.waiting
    if crawl.status != "running" or waiting is None or waiting.until is None or waiting.reason in _SHORT:
        return False
    usual = 2 * (crawl.options.delay or 0)
    return seconds_of(waiting.until) - usual > time.time() + PATIENCE
