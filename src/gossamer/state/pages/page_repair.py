"""Repairs pages: finishes later what a tier could not do at the time, in any process.

A row that is due is one of these, or several:
    hot behind      the hot tier may have an older edition than the row, or one that was deleted: drop it
    without a blob  the cold tier was away: upload what the hot tier has; a page that no tier has is forgotten
    a tombstone     every tier has confirmed it, and no fence stands for it any more: forget it
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.db.database import Database
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import CachedPage, unframe
from gossamer.state.pages.cold_pages import ColdPages, PageUploads
from gossamer.state.pages.hot_pages import HotPages
from gossamer.state.pages.page_rows import CachedPageRow

BATCH: Final = 500


class PageRepair(Struct, frozen=True):
    hot: HotPages
    cold: ColdPages
    uploads: PageUploads
    database: Database
    log: Log

    async def run(self) -> tuple[int, list[str]]:
        """Repair one batch; returns how many pages, and which of them the hot tier has caught up with. Pages
        that cannot be repaired now are due again."""
        if not await self._is_needed():
            return 0, []
        async with self.database.write() as connection:
            due = await page_rows.take_due(connection, BATCH)
        caught_up = await self._catch_up([row for row in due if row.hot_behind])
        stored = await self._store([row for row in due if not row.deleted and row.blob is None])
        forgotten = await self._forget([row for row in due if row.deleted and not row.hot_behind])
        dropped = await self._drop_orphans()
        return len(caught_up) + stored + forgotten + dropped, caught_up

    async def _is_needed(self) -> bool:
        """A read, since every process asks every few seconds, and a transaction may have to wait."""
        async with self.database.read() as connection:
            return await page_rows.are_due(connection) or await orphan_blobs.are_due(connection)

    async def _catch_up(self, rows: Sequence[CachedPageRow]) -> list[str]:
        # A page that was not deleted keeps its current edition in the hot tier.
        older = {row.name: row.edition if row.deleted else row.edition - 1 for row in rows}
        try:
            await self.hot.drop_all(older)
        except Unavailable as away:
            self._log_postponed("hot", len(rows), away)
            return []
        async with self.database.write() as connection:
            await page_rows.confirm_hot(connection, {row.name: row.edition for row in rows})
        return list(older)

    async def _store(self, rows: Sequence[CachedPageRow]) -> int:
        stored = 0
        try:
            for row in rows:
                if not await self._store_one(row):
                    break  # the store is away: the others are due again later
                stored += 1
        except Unavailable as away:
            self._log_postponed("cold", len(rows) - stored, away)
        return stored

    async def _store_one(self, row: CachedPageRow) -> bool:
        page = await self._page_of(row)
        if page is not None:
            return await self.uploads.store(row.tenant_id, row.name, row.edition, page)
        async with self.database.write() as connection:
            await page_rows.forget(connection, [row])
        return True

    async def _page_of(self, row: CachedPageRow) -> CachedPage | None:
        framed = await self.hot.ask(row.name)
        edition, page = (framed and unframe(framed)) or (0, None)
        return page if edition == row.edition else None

    async def _forget(self, rows: Sequence[CachedPageRow]) -> int:
        if rows:
            async with self.database.write() as connection:
                await page_rows.forget(connection, rows)
        return len(rows)

    async def _drop_orphans(self) -> int:
        try:
            return await self.cold.drop_due(BATCH)
        except Unavailable as away:
            if away.service != "blobs":
                raise
            self._log_postponed("cold", 0, away)
            return 0

    def _log_postponed(self, tier: str, pages: int, away: Unavailable) -> None:
        self.log.warning(
            "page_repair_postponed", "will be tried again", tier=tier, pages=pages, why=away.detail
        )
