"""Batch: many URLs in, what each of them says out. That some of them fail is normal.

A batch is polite: few pages at a time, fewer of one host, each page once however often it is listed. What
may only have been bad luck is tried a second time when all the others are done. `batch_job` has it done as a
job, the command line without one.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from gossamer import problems
from gossamer.flows.admit import Caller
from gossamer.flows.caching import Caching
from gossamer.flows.read import Reader, Reply, Wish
from gossamer.flows.serve import LimitReached
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.failures import is_transient
from gossamer.reach.retry import is_transient_status
from gossamer.web.outcome import Outcome
from gossamer.web.url import Url

MOST: Final = 1_000  # URLs
AT_ONCE: Final = 8  # pages of a batch
AT_ONCE_EACH: Final = 2  # pages of one host, whichever batches they are in
LOOK_SECONDS: Final = 1.0  # how often somebody looks whether it is still wanted
PAUSE_SECONDS: Final = 1.0  # before what failed is tried again

Trouble = Problem | LimitReached


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted of every page; the URL of the wish is replaced by each one's own."""

    wish: Wish
    caching: Caching | None = None  # None: the cache has no part in it


@dataclass(frozen=True, slots=True)
class Came:
    """What came of an entry of the list."""

    index: int
    url: str  # as it was given
    what: Reply | Trouble
    wish: Wish  # its URL is the plan's

    @property
    def ok(self) -> bool:
        return isinstance(self.what, Reply) and self.what.read.outcome is Outcome.OK


@dataclass(frozen=True, slots=True)
class Target:
    """A page, and where in the list it stands."""

    url: Url
    entries: list[tuple[int, str]] = field(default_factory=list)

    def came(self, what: Reply | Trouble, plan: Plan) -> list[Came]:
        return [Came(index, url, what, plan.wish) for index, url in self.entries]


class Batcher:
    """Reads many pages. One for the whole process, since it knows whose pages are being read."""

    def __init__(self, reader: Reader, log: Log, *, at_once: int = AT_ONCE, renders_at_once: int = 2) -> None:
        self._reader = reader
        self._log = log
        self._at_once = at_once
        self._renders_at_once = renders_at_once
        self._sites: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def read_all(
        self, urls: Mapping[int, str], plan: Plan, caller: Caller
    ) -> AsyncGenerator[list[Came]]:
        """What comes of each, as it comes, and what comes meanwhile together. Now and then an empty list, for
        who wants to do something else; to be closed by who stops early."""
        targets, refused = _sorted_out(urls, plan)
        yield refused
        again: list[Target] = []
        async with aclosing(self._round(targets, plan, caller)) as arriving:
            async for arrived in arriving:
                again += [target for target, what in arrived if _may_pass(what)]
                yield [
                    one for target, what in arrived if not _may_pass(what) for one in target.came(what, plan)
                ]
        if again:
            await asyncio.sleep(PAUSE_SECONDS)
        async with aclosing(self._round(again, plan, caller)) as arriving:
            async for arrived in arriving:
                yield [one for target, what in arrived for one in target.came(what, plan)]

    async def _round(
        self, targets: Sequence[Target], plan: Plan, caller: Caller
    ) -> AsyncGenerator[list[tuple[Target, Reply | Trouble]]]:
        # Bounded: while nobody takes what has been read, no more is read.
        arrived: asyncio.Queue[tuple[Target, Reply | Trouble]] = asyncio.Queue(self._at_once)
        places = asyncio.Semaphore(
            min(self._at_once, self._renders_at_once) if plan.wish.render == "always" else self._at_once
        )

        async def one(target: Target) -> None:
            # The host's turn first: who waits for that takes no place from pages of other hosts.
            async with self._turn(target.url), places:
                await arrived.put((target, await self._read(target.url, plan, caller)))

        tasks = [asyncio.create_task(one(target)) for target in targets]
        left = len(tasks)
        try:
            while left:
                some = await _taken(arrived)
                left -= len(some)
                yield some
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, url: Url, plan: Plan, caller: Caller) -> Reply | Trouble:
        """One attempt: the second one comes later."""
        wish = replace(plan.wish, url=url, attempts=1)
        try:
            if plan.caching is not None:
                return await self._reader.read_through(wish, caller, plan.caching)
            return Reply(await self._reader.read(wish, caller))
        except (Problem, LimitReached) as trouble:
            return trouble
        except Exception as error:  # noqa: BLE001  (a defect that one page has found is no end of the others)
            self._log.error("batch_defect", "a page could not be read", cause=error)
            return Problem(problems.INTERNAL_ERROR, problems.INTERNAL_ERROR.detail)

    def _turn(self, url: Url) -> asyncio.Semaphore:
        turn = self._sites.get(url.site)
        if turn is None:
            turn = self._sites[url.site] = asyncio.Semaphore(AT_ONCE_EACH)
        return turn


def _sorted_out(urls: Mapping[int, str], plan: Plan) -> tuple[list[Target], list[Came]]:
    """The pages that they name, and the entries that name none."""
    targets: dict[str, Target] = {}
    refused: list[Came] = []
    for index, text in urls.items():
        try:
            url = Url.parse(text)
        except Problem as problem:
            refused.append(Came(index, text, problem, plan.wish))
        else:
            targets.setdefault(url.href, Target(url)).entries.append((index, text))
    return list(targets.values()), refused


def _may_pass(what: Reply | Trouble) -> bool:
    """May it go well if it is tried again?"""
    if isinstance(what, Reply):
        return not what.part.hit and is_transient_status(what.read.status)
    return isinstance(what, Problem) and (
        is_transient(what) or isinstance(what, Unavailable) or what.kind is problems.RENDER_FAILED
    )


async def _taken(arrived: "asyncio.Queue[Any]") -> list[Any]:
    """All that is there, when there is something; none when there was nothing for a while."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            some = [await arrived.get()]
    except TimeoutError:
        return []
    while not arrived.empty():
        some.append(arrived.get_nowait())
    return some
