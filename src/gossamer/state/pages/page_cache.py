"""Page cache: rendered pages in two tiers, hot and cold, and an authoritative row for each.

    put     blob (cold)  →  row, in the caller's transaction  →  hot; a slow upload ends last
    get     hot  →  row  →  blob, and behind the answer hot again
    drop    row  →  hot and blob; a tier that does not confirm is asked again

The row is authoritative. Its edition grows with every transaction that changes it. The hot tier refuses an
edition that is older than the one it has, or than one that was dropped, so a late promotion or publication
changes nothing. A blob belongs to one edition. It is an orphan before its row is written, and after the row
is changed or deleted. So after a crash or an outage a page is seen whole and as last written, or not at
all; `repair` does the rest. While a row has no blob (`PageUploads`), the page is in the hot tier alone; if
that loses it, the page is rendered again.

A hit asks only the hot tier: no database, no parsing. Hits are counted in memory and written by `flush`.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import Hot
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import (
    BodyStream,
    CachedPage,
    Dropped,
    Location,
    PageHit,
    PageStatus,
    edition_of,
    unframe,
)
from gossamer.state.pages.cold_pages import ColdPages, PageUploads, Upload
from gossamer.state.pages.hot_pages import HotPages, NearPage, NearPages, PageChanges, Promotions
from gossamer.state.pages.page_drops import AlsoInTransaction, PageDrops, UncertainPages
from gossamer.state.pages.page_key import PageKey, PagePrefix
from gossamer.state.pages.page_list import PageListing
from gossamer.state.pages.page_repair import PageRepair
from gossamer.state.pages.page_rows import CachedPageRow
from gossamer.state.pages.write_behind import WriteBehind

MAX_WHOLE_BYTES: Final = 262_144  # a larger page comes from cold as a stream
MAX_PROMOTED_BYTES: Final = 8_000_000  # a larger page stays cold once it has left the hot tier
PUBLISH_SECONDS: Final = 1.0  # after its row, within which a page is in the hot tier
POLL_SECONDS: Final = 0.02
NEAR_BYTES: Final = 64_000_000

# How long a new page waits for the cold tier; the second if the hot tier belongs to this process alone, so
# that other processes find the page only in the cold tier.
UPLOAD_WAIT_SECONDS: Final = 0.3
UPLOAD_WAIT_ALONE_SECONDS: Final = 2.0


@dataclass(slots=True)
class StagedPage:
    """A page that is being stored, and is not in the cache yet."""

    key: PageKey
    page: CachedPage
    upload: Upload
    edition: int = field(default=0, init=False)  # given when its row is written
    stored: bool = field(default=False, init=False)  # the row that was written names its blob

    @property
    def blob(self) -> str | None:
        """Where the cold tier has it; None when it does not, or not yet."""
        return self.upload.result() if self.upload.done() else None


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
        """`alone`: the hot tier belongs to this process, and others may change pages without it."""
        self._hot = HotPages(hot)
        self._changes = PageChanges(self._hot, database) if alone else None
        self._cold = ColdPages(blobs, database, log)
        self.cold_breaker = self._cold.breaker
        self._database = database
        self._log = log
        self._metrics = metrics
        self._near = NearPages(near_bytes)
        self._uncertain = UncertainPages()
        self._drops = PageDrops(self._hot, self._cold, database, log, self._near, self._uncertain)
        self._uploads = PageUploads(self._cold, database, log)
        self._patience = UPLOAD_WAIT_ALONE_SECONDS if alone else UPLOAD_WAIT_SECONDS
        self._repair = PageRepair(self._hot, self._cold, self._uploads, database, log)
        self._promotions = Promotions(self._hot, database, log, metrics)
        self._behind = WriteBehind(database)
        self.listing = PageListing(database, self._hot, self._behind)

    # Getting.

    async def get(self, key: PageKey) -> PageHit | None:
        """Find a page. If one tier is unavailable, the other answers; raises `Unavailable` if neither can."""
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
        """Whether a page of this edition, which was found hot before, may be served again. `start` is what
        Hot has under `hot_name`. If so, it counts as a hit."""
        if not start or edition_of(start) != edition or name in self._uncertain:
            return False
        self._count(name, Location.HOT)
        return True

    def _count(self, name: str, location: Location) -> None:
        self._metrics.page_cache(location)
        self._behind.note_access(name)

    async def _from_hot(self, name: str) -> tuple[PageHit | None, Unavailable | None]:
        if name in self._uncertain:
            return None, None
        near = self._near.get(name)
        try:
            start = await self._ask_edition(name, near) if near is not None else None
            if near is not None and start and edition_of(start) == near.edition:
                return PageHit(near.page, Location.HOT, name=name, edition=near.edition), None
            whole = await self._hot.ask(name) if near is None or start else None
        except Unavailable as away:
            return None, away
        opened = unframe(whole) if whole else None
        if opened is None:
            self._near.drop(name)
            return None, None
        edition, page = opened
        self._near.keep(name, edition, page)
        return PageHit(page, Location.HOT, name=name, edition=edition), None

    def _ask_edition(self, name: str, near: NearPage) -> Awaitable[bytes | None]:
        now = asyncio.get_running_loop().time()
        return self._hot.ask_edition(name, touch=near.is_to_be_touched(now))

    async def _from_cold(self, name: str, away: Unavailable | None) -> PageHit | None:
        began = asyncio.get_running_loop().time()
        row = await self._row(name)
        while row is not None:
            if row.blob is None:
                if away is not None:
                    raise away  # it may be there, and nowhere else
                return await self._await_published(name) if row.hot_behind else None
            found = await self._read(row, row.blob, began, promote=away is None)
            if found is not None:
                return found
            # The blob is gone because the page has changed since; or else it was lost, and so is the page.
            missing, row = row, await self._row(name)
            if row is not None and row.edition == missing.edition and missing.blob is not None:
                await self._lose(row, missing.blob)
                return None
        return None

    async def _await_published(self, name: str) -> PageHit | None:
        """A page whose row was just written is in the hot tier a moment later."""
        end = asyncio.get_running_loop().time() + PUBLISH_SECONDS
        found, away = await self._from_hot(name)
        while found is None and away is None and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(POLL_SECONDS)
            found, away = await self._from_hot(name)
        return found

    async def _row(self, name: str) -> CachedPageRow | None:
        async with self._database.read() as connection:
            row = await page_rows.find(connection, name)
        if row is None or not row.hot_behind:
            self._uncertain.discard([name])
        return None if row is None or row.deleted else row

    async def _read(self, row: CachedPageRow, blob: str, began: float, *, promote: bool) -> PageHit | None:
        near = self._near.get(row.name)
        if near is not None and near.edition == row.edition:
            return PageHit(near.page, Location.COLD)
        promote = promote and row.stored_size <= MAX_PROMOTED_BYTES

        def read(body: bytes) -> CachedPage:
            page = replace(row.page, body=body)
            if promote:
                self._promotions.begin(row.name, row.edition, page, began)
            return page

        if row.stored_size > MAX_WHOLE_BYTES:
            opened = await self._cold.open(blob)
            if opened is None:
                return None
            stream = BodyStream(*opened, row.stored_size, read if promote else None)
            return PageHit(row.page, Location.COLD, stream, promote)
        body = await self._cold.read(blob)
        if body is None or len(body) != row.stored_size:
            return None
        return PageHit(read(body), Location.COLD, None, promote)

    async def _lose(self, row: CachedPageRow, blob: str) -> None:
        self._log.error("page_lost", "the cold tier has lost a page", code="CACHE_ERROR", page=row.name)
        with suppress(Unavailable):
            async with self._database.write() as connection:
                await page_rows.remove_blob(connection, row)
                await orphan_blobs.mark(connection, [blob])

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
        """Store the page in both tiers, if they are there."""
        staged = await self.stage(key, page)
        async with self._database.write() as connection:
            await self.write(connection, staged)
        stored = await self.publish(staged)
        if stored is not None:
            await stored

    async def stage(self, key: PageKey, page: CachedPage) -> StagedPage:
        """Start to store the page, not visible yet. `Unavailable` if neither tier can take it."""
        staged = StagedPage(key, page, self._uploads.begin(key.tenant, key.name, page))
        await asyncio.wait([staged.upload], timeout=self._patience)
        if staged.blob is None:
            await self._insist_on_one(staged)
        return staged

    async def _insist_on_one(self, staged: StagedPage) -> None:
        """Check that the hot tier answers; else wait for the upload."""
        try:
            await self._hot.ping()
        except Unavailable:
            if await staged.upload is None:
                raise

    async def write(self, connection: AsyncConnection, staged: StagedPage) -> None:
        """Make it the page, when the transaction is committed."""
        blob = staged.blob
        if blob is not None and not await orphan_blobs.claim(connection, blob):
            blob = None
        staged.edition, before = await page_rows.write(connection, staged.key, staged.page, blob)
        staged.stored = blob is not None
        if before is not None:
            await orphan_blobs.mark(connection, [before])

    async def publish(self, staged: StagedPage) -> asyncio.Task[bool] | None:
        """After the transaction: put the page into the hot tier. If that fails, `repair` does it.

        The returned task ends when the cold tier has the page; None if it has it already."""
        kept = await self._make_hot(staged)
        if staged.stored:
            return None
        storing = self._uploads.follow(staged.upload, staged.key.name, staged.edition)
        if not kept:  # then no tier has the page yet
            await asyncio.wait([storing])
        return storing

    async def _make_hot(self, staged: StagedPage) -> bool:
        name = staged.key.name
        try:
            kept = await self._hot.keep(name, staged.edition, staged.page)
        except Unavailable as away:
            self._uncertain.add([name])
            self._log.warning("page_not_hot", "a page is kept cold only", code="CACHE_ERROR", why=away.detail)
            return False
        self._uncertain.discard([name])
        self._behind.note_confirmed(name, staged.edition)
        return kept

    # Dropping.

    async def drop(self, key: PageKey) -> Dropped:
        dropped = await self._drops.drop(page_rows.named(key.name))
        if not dropped.pages:
            with suppress(Unavailable):  # a page without a row was never promised
                await self._hot.drop(key.name, 0)
        return dropped

    async def drop_url(self, tenant: str, url: str, also: AlsoInTransaction | None = None) -> Dropped:
        """Drop every variant of a page. `also` joins the first transaction of a drop."""
        return await self._drops.drop(page_rows.of_url(tenant, url), also)

    async def drop_prefix(
        self, tenant: str, prefix: PagePrefix, also: AlsoInTransaction | None = None
    ) -> Dropped:
        return await self._drops.drop(page_rows.of_prefix(tenant, prefix), also)

    async def drop_tenant(self, tenant: str, also: AlsoInTransaction | None = None) -> Dropped:
        return await self._drops.drop(page_rows.of_tenant(tenant), also)

    # Now and then.

    async def repair(self) -> int:
        """Repair a batch of pages that a tier could not store or drop; returns how many."""
        mended, caught_up = await self._repair.run()
        self._uncertain.discard(caught_up)
        self._metrics.page_cache("repaired", mended)
        return mended

    async def hear_news(self) -> None:
        """Find the changes of other processes, if the hot tier belongs to this one alone."""
        if self._changes is not None:
            await self._changes.apply()

    async def flush(self) -> None:
        """Write the counts of served pages; on failure they are kept."""
        await self._behind.flush()

    async def close(self) -> None:
        await self._promotions.close()
        await self._uploads.close()
        with suppress(Unavailable):
            await self.flush()
