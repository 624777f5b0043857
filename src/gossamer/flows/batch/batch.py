"""Batch: many URLs in, the content of each out. It is normal that some of them fail.

A batch is polite: it reads few pages at a time, fewer of one host, and each page once, however often the list
names it. A page that failed for a passing reason is tried once more after all the others. `batch_job` runs a
batch as a job.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final
from weakref import WeakValueDictionary

from msgspec import Struct, field

from gossamer import problems
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.read import Reader
from gossamer.flows.render.serve import LimitReached
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.failures import is_transient
from gossamer.reach.http.retry import is_transient_status
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import PageOptions, PageRequest
from gossamer.web.pages.read_result import ReadReply
from gossamer.web.url.url import Url

MAX_PAGES_AT_ONCE_PER_HOST: Final = 2  # of all batches
POLL_SECONDS: Final = 1.0  # how often a batch checks whether it is still wanted
PAUSE_SECONDS: Final = 1.0  # before failed pages are tried again

Trouble = Problem | LimitReached


class BatchOutcome(Struct, frozen=True):
    """The outcome for one entry of the list."""

    index: int
    url: str  # as it was given
    reply: ReadReply | Trouble
    request: PageRequest

    @property
    def ok(self) -> bool:
        return isinstance(self.reply, ReadReply) and self.reply.read.outcome is Outcome.OK


class BatchTarget(Struct, frozen=True):
    """A page, and its entries in the list."""

    url: Url
    request: PageRequest
    entries: list[tuple[int, str]] = field(default_factory=list)

    def outcomes(self, reply: ReadReply | Trouble) -> list[BatchOutcome]:
        return [BatchOutcome(index, url, reply, self.request) for index, url in self.entries]


class Batcher:
    """Reads many pages. There is one for the whole process, because it bounds the pages of each host."""

    def __init__(self, reader: Reader, log: Log, *, at_once: int = 8, renders_at_once: int = 2) -> None:
        self._reader = reader
        self._log = log
        self._at_once = at_once
        self._renders_at_once = renders_at_once
        self._hosts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def read_all(
        self, urls: Mapping[int, str], options: PageOptions, caller: Caller
    ) -> AsyncGenerator[list[BatchOutcome]]:
        """Outcomes as they arrive; those that arrive together in one list. Yields an empty list now and
        then, so that the caller can do something else. A caller that stops early must close it."""
        targets, refused = _group(urls, options)
        yield refused
        again: list[BatchTarget] = []
        async with aclosing(self._round(targets, options, caller)) as arriving:
            async for arrived in arriving:
                again += [target for target, reply in arrived if _may_succeed_later(reply, options)]
                yield [
                    outcome
                    for target, reply in arrived
                    if not _may_succeed_later(reply, options)
                    for outcome in target.outcomes(reply)
                ]
        if again:
            await asyncio.sleep(PAUSE_SECONDS)
        async with aclosing(self._round(again, options, caller)) as arriving:
            async for arrived in arriving:
                yield [outcome for target, reply in arrived for outcome in target.outcomes(reply)]

    async def _round(
        self, targets: Sequence[BatchTarget], options: PageOptions, caller: Caller
    ) -> AsyncGenerator[list[tuple[BatchTarget, ReadReply | Trouble]]]:
        # Bounded: no more pages are read while the replies are not taken.
        arrived: asyncio.Queue[tuple[BatchTarget, ReadReply | Trouble]] = asyncio.Queue(self._at_once)
        places = asyncio.Semaphore(
            min(self._at_once, self._renders_at_once) if options.render == "always" else self._at_once
        )

        async def one(target: BatchTarget) -> None:
            # The host's turn comes first, so that a page that waits for it takes no place from other hosts.
            async with self._turn(target.url), places:
                await arrived.put((target, await self._read(target.request, caller)))

        tasks = [asyncio.create_task(one(target)) for target in targets]
        left = len(tasks)
        try:
            while left:
                some = await _take_all(arrived)
                left -= len(some)
                yield some
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, request: PageRequest, caller: Caller) -> ReadReply | Trouble:
        """Make one attempt; the second one comes later."""
        try:
            if request.uses_cache():
                caching = Caching.of(request, caller)
                return await self._reader.read_cached(request, caller, caching, attempts=1)
            return ReadReply(await self._reader.read(request, caller, attempts=1))
        except (Problem, LimitReached) as trouble:
            return trouble
        except Exception as error:  # noqa: BLE001  (a defect that one page reveals must not end the others)
            self._log.error("batch_defect", "a page could not be read", cause=error)
            return Problem(problems.INTERNAL_ERROR, problems.INTERNAL_ERROR.detail)

    def _turn(self, url: Url) -> asyncio.Semaphore:
        turn = self._hosts.get(url.site)
        if turn is None:
            turn = self._hosts[url.site] = asyncio.Semaphore(MAX_PAGES_AT_ONCE_PER_HOST)
        return turn


def _group(urls: Mapping[int, str], options: PageOptions) -> tuple[list[BatchTarget], list[BatchOutcome]]:
    """The pages that the entries name, and the entries that name none."""
    targets: dict[str, BatchTarget] = {}
    refused: list[BatchOutcome] = []
    for index, text in urls.items():
        try:
            url = Url.parse(text)
            options.at(url.href).check()
        except Problem as problem:
            refused.append(BatchOutcome(index, text, problem, options.at(text)))
            continue
        if url.href not in targets:
            targets[url.href] = BatchTarget(url, options.at(url.href))
        targets[url.href].entries.append((index, text))
    return list(targets.values()), refused


def _may_succeed_later(reply: ReadReply | Trouble, options: PageOptions) -> bool:
    if options.actions:  # they may have had effects, which must not be repeated
        return False
    if isinstance(reply, ReadReply):
        return not reply.part.hit and is_transient_status(reply.read.status)
    return isinstance(reply, Problem) and (
        is_transient(reply) or isinstance(reply, Unavailable) or reply.kind is problems.RENDER_FAILED
    )


async def _take_all(arrived: "asyncio.Queue[Any]") -> list[Any]:
    """Everything in the queue, as soon as there is something; nothing if there was nothing for a while."""
    try:
        async with asyncio.timeout(POLL_SECONDS):
            some = [await arrived.get()]
    except TimeoutError:
        return []
    while not arrived.empty():
        some.append(arrived.get_nowait())
    return some
