"""Page drops: a page is deleted when its row says so; then both tiers are told, or told again by repair."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy import select

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import page_rows, stray_blobs
from gossamer.state.cached_page import Dropped, Location
from gossamer.state.cold_pages import ColdPages
from gossamer.state.database import Database, clock
from gossamer.state.hot_pages import HotPages
from gossamer.state.near_pages import NearPages
from gossamer.state.page_rows import Buried, Which

BATCH: Final = 500
MOST_DOUBTS: Final = 100_000


class Doubts:
    """Pages of which the hot tier may have what was replaced or deleted while it did not answer."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, names: Iterable[str]) -> None:
        if len(self._names) < MOST_DOUBTS:
            self._names.update(names)

    def discard(self, names: Iterable[str]) -> None:
        if self._names:
            self._names.difference_update(names)


class Clearing(NamedTuple):
    """How it went to drop pages from a tier."""

    location: Location
    cleared: bool  # something was there
    confirmed: bool


class PageDrops:
    def __init__(
        self,
        hot: HotPages,
        cold: ColdPages,
        database: Database,
        log: Log,
        near: NearPages,
        doubts: Doubts,
    ) -> None:
        self._hot = hot
        self._cold = cold
        self._database = database
        self._log = log
        self._near = near
        self._doubts = doubts

    async def drop(self, which: Which) -> Dropped:
        """What is put while this goes on stays."""
        async with self._database.read() as connection:
            before = await connection.scalar(select(clock())) or 0
        dropped = Dropped()
        while True:
            async with self._database.write() as connection:
                buried = await page_rows.bury(connection, which, BATCH, before=before)
                await stray_blobs.cast_out(connection, [page.blob for page in buried if page.blob])
            dropped = dropped.plus(await self._clear(buried))
            if len(buried) < BATCH:
                return dropped

    async def _clear(self, buried: Sequence[Buried]) -> Dropped:
        """Drop from both tiers what has been buried."""
        editions = {page.name: page.edition for page in buried}
        blobs = [page.blob for page in buried if page.blob]
        for name in editions:
            self._near.drop(name)
        hot, cold = await asyncio.gather(self._clear_hot(editions), self._clear_cold(blobs))
        try:
            async with self._database.write() as connection:
                await page_rows.hot_confirmed(connection, editions if hot.confirmed else {})
                await stray_blobs.forget(connection, blobs if cold.confirmed else ())
        except Unavailable as away:
            self._log.warning("drop_not_noted", "it will be done again", why=away.detail)
        return Dropped(
            cleared_from=tuple(tier.location for tier in (hot, cold) if tier.cleared),
            freed_bytes=sum(page.size for page in buried),
            pages=sum(page.live for page in buried),
            failed=tuple(tier.location for tier in (hot, cold) if not tier.confirmed),
        )

    async def _clear_hot(self, editions: Mapping[str, int]) -> Clearing:
        try:
            there = await self._hot.drop_all(editions)
        except Unavailable as away:
            self._doubts.add(editions)
            self._log.warning("page_still_hot", "will be tried again", code="CACHE_ERROR", why=away.detail)
            return Clearing(Location.HOT, cleared=False, confirmed=False)
        self._doubts.discard(editions)
        return Clearing(Location.HOT, cleared=there, confirmed=True)

    async def _clear_cold(self, blobs: Sequence[str]) -> Clearing:
        try:
            await self._cold.drop(blobs)
        except Unavailable as away:
            self._log.warning("page_still_cold", "will be tried again", code="CACHE_ERROR", why=away.detail)
            return Clearing(Location.COLD, cleared=False, confirmed=False)
        return Clearing(Location.COLD, cleared=bool(blobs), confirmed=True)
