"""The hot tier of rendered pages: in `Hot`, near copies in this process, promotions and foreign changes."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from typing import Final

from msgspec import Struct

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import FENCE_SECONDS, Hot
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import EDITION_BYTES, CachedPage, edition_of

OVERHEAD: Final = 2_000  # bytes that a near page costs beside its body, about
TOUCH_SECONDS: Final = 1.0  # between two notes to the hot tier that a near page is in use
MAX_PROMOTIONS: Final = 64  # at a time; further pages are promoted the next time they are asked for
MAX_PROMOTION_SECONDS: Final = FENCE_SECONDS / 2  # later, the fence of a dropped page may be gone
CHANGES_BATCH: Final = 1_000
CHANGES_OVERLAP_MS: Final = 60_000  # a transaction may commit this long after it took its edition


class HotPages:
    def __init__(self, hot: Hot) -> None:
        self._hot = hot

    def ask(self, name: str) -> Awaitable[bytes | None]:
        """The framed page. The request is sent by the call itself."""
        return self._hot.page(hot_name(name))

    def ask_edition(self, name: str, *, touch: bool = True) -> Awaitable[bytes | None]:
        """The start of the page, which has its edition."""
        return self._hot.page(hot_name(name), start=EDITION_BYTES, touch=touch)

    async def edition(self, name: str) -> int:
        """The edition of a page; 0 if it is not there."""
        start = await self.ask_edition(name, touch=False)
        return edition_of(start) if start else 0

    async def keep(self, name: str, edition: int, page: CachedPage) -> bool:
        """False when a newer edition is there, or this one was dropped."""
        return await self._hot.keep_page(hot_name(name), page.frame(edition), edition=edition)

    async def drop(self, name: str, edition: int) -> bool:
        """Drop this edition and all older ones; 0 drops any edition."""
        return await self._hot.drop_page(hot_name(name), edition=edition)

    async def drop_all(self, editions: Mapping[str, int]) -> bool:
        """Drop these editions and all older ones; returns whether any was there."""
        dropped = await asyncio.gather(*(self.drop(name, edition) for name, edition in editions.items()))
        return any(dropped)

    async def ping(self) -> None:
        await self._hot.ping()


def hot_name(name: str) -> str:
    """The key of a page in Hot."""
    return f"render:{name}"


class NearPage(Struct):
    edition: int
    page: CachedPage
    touched_at: float = 0.0

    def is_to_be_touched(self, now: float) -> bool:
        if now - self.touched_at < TOUCH_SECONDS:
            return False
        self.touched_at = now
        return True


class NearPages:
    """Pages that this process has at hand, by edition, bounded by the bytes of their bodies.

    A near page is served only after the hot tier has confirmed its edition, so a page that is deleted or
    replaced there is gone here too. A hit saves the transfer and the decoding of the body.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[str, NearPage] = OrderedDict()

    def get(self, name: str) -> NearPage | None:
        near = self._pages.get(name)
        if near is not None:
            self._pages.move_to_end(name)
        return near

    def keep(self, name: str, edition: int, page: CachedPage) -> None:
        self.drop(name)
        self._pages[name] = NearPage(edition, page)
        self._bytes += len(page.body) + OVERHEAD
        while self._bytes > self._max_bytes:
            _, oldest = self._pages.popitem(last=False)
            self._bytes -= len(oldest.page.body) + OVERHEAD

    def drop(self, name: str) -> None:
        near = self._pages.pop(name, None)
        if near is not None:
            self._bytes -= len(near.page.body) + OVERHEAD


class Promotions:
    """Makes pages hot that were found cold, behind the answer."""

    def __init__(self, hot: HotPages, database: Database, log: Log, metrics: Metrics) -> None:
        self._hot = hot
        self._database = database
        self._log = log
        self._metrics = metrics
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, name: str, edition: int, page: CachedPage, read_at: float) -> None:
        """Never waits. `read_at` is the loop's time before the row was read."""
        if name in self._running or len(self._running) >= MAX_PROMOTIONS:
            return
        task = asyncio.create_task(self._promote(name, edition, page, read_at))
        self._running[name] = task
        task.add_done_callback(lambda _: self._running.pop(name))

    async def close(self) -> None:
        """Wait for promotions under way, a few seconds at most."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _promote(self, name: str, edition: int, page: CachedPage, read_at: float) -> None:
        if asyncio.get_running_loop().time() - read_at > MAX_PROMOTION_SECONDS:
            return
        try:
            if await self._hot.keep(name, edition, page):
                await self._check_row(name, edition)
                self._metrics.page_cache("promoted")
        except Unavailable as away:
            self._log.debug("page_not_promoted", "it stays cold for now", why=away.detail)

    async def _check_row(self, name: str, edition: int) -> None:
        """A page deleted meanwhile is kept out by the fence, unless the hot tier has lost its fences."""
        async with self._database.read() as connection:
            row = await page_rows.find(connection, name)
        if row is None or row.deleted or row.edition != edition:
            await self._hot.drop(name, edition)


class PageChanges:
    """Changes by other processes, for a hot tier that belongs to this process alone.

    A Redis is shared, so every process changes pages for all. A hot tier in memory cannot be reached by a
    worker or the command line, which write the row; so this process polls the rows.
    """

    def __init__(self, hot: HotPages, database: Database) -> None:
        self._hot = hot
        self._database = database
        self._seen: int | None = None  # the newest edition that was seen

    async def apply(self) -> None:
        """Drop every page that was deleted or has a newer edition."""
        if self._seen is None:
            async with self._database.read() as connection:
                self._seen = await page_rows.newest(connection)
            return
        after = self._seen - CHANGES_OVERLAP_MS
        more = True
        while more:
            async with self._database.read() as connection:
                changed = await page_rows.list_changed(connection, after, CHANGES_BATCH)
            for name, edition in changed:
                await self._hot.drop(name, edition - 1)
                after = edition
            more = len(changed) == CHANGES_BATCH
        self._seen = max(self._seen, after)
