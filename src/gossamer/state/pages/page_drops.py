"""Drops pages: first the row, which decides, then both tiers; repair asks a tier again that failed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from sqlalchemy import select

from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import Dropped, Location
from gossamer.state.pages.cold_pages import ColdPages
from gossamer.state.pages.hot_pages import HotPages, NearPages
from gossamer.state.pages.page_rows import DeletedPage, Which

BATCH: Final = 500
MAX_UNCERTAIN: Final = 100_000

AlsoInTransaction = Callable[[AsyncConnection], Awaitable[None]]


class UncertainPages:
    """Pages that changed while the hot tier did not answer, so that it may have an old edition."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, names: Iterable[str]) -> None:
        if len(self._names) < MAX_UNCERTAIN:
            self._names.update(names)

    def discard(self, names: Iterable[str]) -> None:
        if self._names:
            self._names.difference_update(names)


class TierClearing(NamedTuple):
    """The result of dropping pages from one tier."""

    location: Location
    cleared: bool  # something was there
    confirmed: bool


class PageDrops(Struct, frozen=True):
    hot: HotPages
    cold: ColdPages
    database: Database
    log: Log
    near: NearPages
    uncertain: UncertainPages

    async def drop(self, which: Which, also: AlsoInTransaction | None = None) -> Dropped:
        """Pages that are put while this runs stay. `also` joins the first transaction."""
        async with self.database.read() as connection:
            before = await connection.scalar(select(clock())) or 0
        dropped = Dropped()
        while True:
            async with self.database.write() as connection:
                deleted_pages = await page_rows.delete_pages(connection, which, BATCH, before=before)
                await orphan_blobs.mark(connection, [page.blob for page in deleted_pages if page.blob])
                if also is not None:
                    await also(connection)
            also = None
            dropped = dropped.plus(await self._clear(deleted_pages))
            if len(deleted_pages) < BATCH:
                return dropped

    async def _clear(self, deleted_pages: Sequence[DeletedPage]) -> Dropped:
        """Drop deleted pages from both tiers."""
        editions = {page.name: page.edition for page in deleted_pages}
        blobs = [page.blob for page in deleted_pages if page.blob]
        for name in editions:
            self.near.drop(name)
        hot, cold = await asyncio.gather(self._clear_hot(editions), self._clear_cold(blobs))
        try:
            async with self.database.write() as connection:
                await page_rows.confirm_hot(connection, editions if hot.confirmed else {})
                await orphan_blobs.forget(connection, blobs if cold.confirmed else ())
        except Unavailable as away:
            self.log.warning("drop_not_noted", "it will be done again", why=away.detail)
        return Dropped(
            cleared_from=tuple(tier.location for tier in (hot, cold) if tier.cleared),
            freed_bytes=sum(page.size for page in deleted_pages),
            pages=sum(page.live for page in deleted_pages),
            failed=tuple(tier.location for tier in (hot, cold) if not tier.confirmed),
        )

    async def _clear_hot(self, editions: Mapping[str, int]) -> TierClearing:
        try:
            there = await self.hot.drop_all(editions)
        except Unavailable as away:
            self.uncertain.add(editions)
            self.log.warning("page_still_hot", "will be tried again", code="CACHE_ERROR", why=away.detail)
            return TierClearing(Location.HOT, cleared=False, confirmed=False)
        self.uncertain.discard(editions)
        return TierClearing(Location.HOT, cleared=there, confirmed=True)

    async def _clear_cold(self, blobs: Sequence[str]) -> TierClearing:
        try:
            await self.cold.drop(blobs)
        except Unavailable as away:
            self.log.warning("page_still_cold", "will be tried again", code="CACHE_ERROR", why=away.detail)
            return TierClearing(Location.COLD, cleared=False, confirmed=False)
        return TierClearing(Location.COLD, cleared=bool(blobs), confirmed=True)
