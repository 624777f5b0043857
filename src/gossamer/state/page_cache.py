"""Page cache: rendered pages in two tiers, hot over cold, and a row for each that says what is true.

    put     blob (cold)  →  row, in the caller's transaction  →  hot
    get     hot  →  row  →  blob, and behind the answer hot again
    drop    row  →  hot and blob, and what has not confirmed it is asked again

The row is the truth. Its edition grows with every transaction that changes it; the hot tier takes no edition
that is older than one it has, or than one that was dropped, so a promotion or a publication that comes late
changes nothing. A blob belongs to one edition and is a stray before its row is written and after that is
changed or deleted. So wherever a crash or an outage falls, a page is seen whole and as it was last written,
or not at all; `repair` does the rest.

A hit asks the hot tier alone: no database, no parsing. What was served is counted in memory and written down
by `flush`.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state import page_rows, stray_blobs
from gossamer.state.blobs import Blobs
from gossamer.state.cached_page import (
    BodyStream,
    CachedPage,
    Dropped,
    Found,
    Location,
    PageStatus,
    edition_of,
    unframed,
)
from gossamer.state.cold_pages import ColdPages
from gossamer.state.database import Database
from gossamer.state.hot import Hot
from gossamer.state.hot_pages import HotPages, hot_name
from gossamer.state.near_pages import NearPage, NearPages
from gossamer.state.page_drops import Doubts, PageDrops
from gossamer.state.page_key import DEFAULT_VARIANT, PageKey, PagePrefix
from gossamer.state.page_news import PageNews
from gossamer.state.page_repair import PageRepair
from gossamer.state.page_rows import PageRow
from gossamer.state.promotions import Promotions
from gossamer.state.written_behind import WrittenBehind

__all__ = [
    "PageCache", "PageKey", "PagePrefix", "DEFAULT_VARIANT", "CachedPage", "Draft", "Found", "BodyStream",
    "Location", "PageStatus", "Dropped", "hot_name",
]  # fmt: skip

STREAMED: Final = 262_144  # bytes; what is larger comes from cold as a stream
PROMOTED: Final = 8_000_000  # bytes; what is larger stays cold once it has left the hot tier
NEAR_BYTES: Final = 64_000_000


@dataclass(slots=True)
class Draft:
    """A page on its way into the cache."""

    key: PageKey
    page: CachedPage
    blob: str | None  # where the cold tier has it; None when that is away
    edition: int = field(default=0, init=False)  # given when it is put in


class PageCache:
    def __init__(
        self,
        hot: Hot,
        blobs: Blobs,
        database: Database,
        log: Log,
        metrics: Metrics,
        *,
        near_bytes: int = NEAR_BYTES,
        alone: bool = False,
    ) -> None:
        """`alone`: the hot tier is this process's own, and others may change pages without it."""
        self._hot = HotPages(hot)
        self._news = PageNews(self._hot, database) if alone else None
        self._cold = ColdPages(blobs, database, log)
        self._database = database
        self._log = log
        self._metrics = metrics
        self._near = NearPages(near_bytes)
        self._doubts = Doubts()
        self._drops = PageDrops(self._hot, self._cold, database, log, self._near, self._doubts)
        self._repair = PageRepair(self._hot, self._cold, database, log)
        self._promotions = Promotions(self._hot, database, log, metrics)
        self._behind = WrittenBehind(database)

    # Getting.

    async def get(self, key: PageKey) -> Found | None:
        """With one tier away the other answers; `Unavailable` only when nobody can know."""
        name = key.name
        found, away = await self._from_hot(name)
        if found is None:
            found = await self._from_cold(name, away)
        if found is None:
            self._metrics.page_cache("miss")
            return None
        self._count(name, found.location)
        return found

    def is_still(self, name: str, edition: int, start: bytes | None) -> bool:
        """For who has asked Hot by itself for the start of `hot_name`: may a page of this edition, which was
        found hot before, be served again? Then it counts as found."""
        if not start or edition_of(start) != edition or name in self._doubts:
            return False
        self._count(name, Location.HOT)
        return True

    def _count(self, name: str, location: Location) -> None:
        self._metrics.page_cache(location)
        self._behind.accessed(name)

    async def _from_hot(self, name: str) -> tuple[Found | None, Unavailable | None]:
        if name in self._doubts:
            return None, None
        near = self._near.get(name)
        try:
            start = await self._ask_edition(name, near) if near is not None else None
            if near is not None and start and edition_of(start) == near.edition:
                return Found(near.page, Location.HOT, edition=near.edition), None
            whole = await self._hot.ask(name) if near is None or start else None
        except Unavailable as away:
            return None, away
        opened = unframed(whole) if whole else None
        if opened is None:
            self._near.drop(name)
            return None, None
        edition, page = opened
        self._near.keep(name, edition, page)
        return Found(page, Location.HOT, edition=edition), None

    def _ask_edition(self, name: str, near: NearPage) -> Awaitable[bytes | None]:
        now = asyncio.get_running_loop().time()
        return self._hot.ask_edition(name, touch=near.is_to_be_touched(now))

    async def _from_cold(self, name: str, away: Unavailable | None) -> Found | None:
        began = asyncio.get_running_loop().time()
        row = await self._row(name)
        while row is not None:
            if row.blob is None:
                if away is not None:
                    raise away  # it may be there, and nowhere else
                return None
            found = await self._read(row, row.blob, began, promote=away is None)
            if found is not None:
                return found
            # The blob is gone because the page has changed since; or else it was lost, and so is the page.
            missing, row = row, await self._row(name)
            if row is not None and row.edition == missing.edition and missing.blob is not None:
                await self._lose(row, missing.blob)
                return None
        return None

    async def _row(self, name: str) -> PageRow | None:
        async with self._database.read() as connection:
            row = await page_rows.find(connection, name)
        if row is None or not row.hot_behind:
            self._doubts.discard([name])
        return None if row is None or row.deleted else row

    async def _read(self, row: PageRow, blob: str, began: float, *, promote: bool) -> Found | None:
        near = self._near.get(row.name)
        if near is not None and near.edition == row.edition:
            return Found(near.page, Location.COLD)
        promote = promote and row.stored_size <= PROMOTED

        def read(body: bytes) -> CachedPage:
            page = replace(row.page, body=body)
            if promote:
                self._promotions.begin(row.name, row.edition, page, began)
            return page

        if row.stored_size > STREAMED:
            opened = await self._cold.open(blob)
            if opened is None:
                return None
            stream = BodyStream(*opened, row.stored_size, read if promote else None)
            return Found(row.page, Location.COLD, stream, promote)
        body = await self._cold.read(blob)
        if body is None or len(body) != row.stored_size:
            return None
        return Found(read(body), Location.COLD, None, promote)

    async def _lose(self, row: PageRow, blob: str) -> None:
        self._log.error("page_lost", "the cold tier has lost a page", code="CACHE_ERROR", page=row.name)
        with suppress(Unavailable):
            async with self._database.write() as connection:
                await page_rows.blob_lost(connection, row)
                await stray_blobs.cast_out(connection, [blob])

    async def status(self, key: PageKey) -> PageStatus | None:
        row, edition = await asyncio.gather(self._row(key.name), self._hot_edition(key.name))
        if row is None or (edition != row.edition and row.blob is None):
            return None
        return PageStatus(
            location=Location.HOT if edition == row.edition else Location.COLD,
            rendered_at=row.page.rendered_at,
            size=row.page.size,
            access_count=row.access_count + self._behind.accesses(key.name),
            etag=row.page.etag,
        )

    async def _hot_edition(self, name: str) -> int:
        try:
            return await self._hot.edition(name)
        except Unavailable:
            return 0

    # Putting.

    async def put(self, key: PageKey, page: CachedPage) -> None:
        draft = await self.draft(key, page)
        async with self._database.write() as connection:
            await self.put_in(connection, draft)
        await self.publish(draft)

    async def draft(self, key: PageKey, page: CachedPage) -> Draft:
        """Store the page where nobody sees it yet. `Unavailable` when neither tier can take it."""
        blob = await self._cold.upload(key.tenant, key.name, page)
        if blob is None:
            await self._hot.ping()
        return Draft(key, page, blob)

    async def put_in(self, connection: AsyncConnection, draft: Draft) -> None:
        """Make it the page, when the transaction is committed."""
        if draft.blob is not None and not await stray_blobs.adopt(connection, draft.blob):
            draft.blob = None
        draft.edition, before = await page_rows.write(connection, draft.key, draft.page, draft.blob)
        if before is not None:
            await stray_blobs.cast_out(connection, [before])

    async def publish(self, draft: Draft) -> None:
        """After the transaction: have it in the hot tier too. Where that fails, `repair` sees to it."""
        name = draft.key.name
        try:
            await self._hot.keep(name, draft.edition, draft.page)
        except Unavailable as away:
            self._doubts.add([name])
            self._log.warning("page_not_hot", "a page is kept cold only", code="CACHE_ERROR", why=away.detail)
        else:
            self._doubts.discard([name])
            self._behind.confirmed(name, draft.edition)

    # Dropping.

    async def drop(self, key: PageKey) -> Dropped:
        dropped = await self._drops.drop(page_rows.named(key.name))
        if not dropped.pages:
            with suppress(Unavailable):  # what is there without a row is nothing that anybody promised
                await self._hot.drop(key.name, 0)
        return dropped

    async def drop_url(self, tenant: str, url: str) -> Dropped:
        """Every variant of it."""
        return await self._drops.drop(page_rows.of_url(tenant, url))

    async def drop_prefix(self, tenant: str, prefix: PagePrefix) -> Dropped:
        return await self._drops.drop(page_rows.of_prefix(tenant, prefix))

    async def drop_tenant(self, tenant: str) -> Dropped:
        return await self._drops.drop(page_rows.of_tenant(tenant))

    # Now and then.

    async def repair(self) -> int:
        """Mend a batch of what one of the tiers could not do at the time; how much it was."""
        mended, caught_up = await self._repair.run()
        self._doubts.discard(caught_up)
        self._metrics.page_cache("repaired", mended)
        return mended

    async def hear_news(self) -> None:
        """Learn what other processes have changed, where they cannot tell."""
        if self._news is not None:
            await self._news.hear()

    async def flush(self) -> None:
        """Write down what was served. When it fails, it is not forgotten."""
        await self._behind.flush()

    async def close(self) -> None:
        await self._promotions.close()
        with suppress(Unavailable):
            await self.flush()
