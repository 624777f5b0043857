"""Page repair: what one tier could not do at the time is done later, by whoever comes first.

A row that is due is one of these, or several:
    hot behind      the hot tier may have an older edition than the row, or one that was deleted: drop it
    without a blob  the cold tier was away: upload what the hot tier has; a page that no tier has is forgotten
    a tombstone     every tier has confirmed it, and no fence stands for it any more: forget it
"""

from collections.abc import Sequence
from typing import Final

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import page_rows, stray_blobs
from gossamer.state.cached_page import CachedPage, unframed
from gossamer.state.cold_pages import ColdPages
from gossamer.state.database import Database
from gossamer.state.hot_pages import HotPages
from gossamer.state.page_rows import PageRow

BATCH: Final = 500


class PageRepair:
    def __init__(self, hot: HotPages, cold: ColdPages, database: Database, log: Log) -> None:
        self._hot = hot
        self._cold = cold
        self._database = database
        self._log = log

    async def run(self) -> tuple[int, list[str]]:
        """One batch: how much was mended, and the pages of which the hot tier is not behind any more. What
        cannot be mended now is due again."""
        if not await self._is_needed():
            return 0, []
        async with self._database.write() as connection:
            due = await page_rows.take_due(connection, BATCH)
        caught_up = await self._catch_up([row for row in due if row.hot_behind])
        stored = await self._store([row for row in due if not row.deleted and row.blob is None])
        forgotten = await self._forget([row for row in due if row.deleted and not row.hot_behind])
        dropped = await self._drop_strays()
        return len(caught_up) + stored + forgotten + dropped, caught_up

    async def _is_needed(self) -> bool:
        """Asked first: every process does so every few seconds, and a transaction may have to wait."""
        async with self._database.read() as connection:
            return await page_rows.are_due(connection) or await stray_blobs.are_due(connection)

    async def _catch_up(self, rows: Sequence[PageRow]) -> list[str]:
        # Of a page that is there, its own edition may stay.
        older = {row.name: row.edition if row.deleted else row.edition - 1 for row in rows}
        try:
            await self._hot.drop_all(older)
        except Unavailable as away:
            self._postponed("hot", len(rows), away)
            return []
        async with self._database.write() as connection:
            await page_rows.hot_confirmed(connection, {row.name: row.edition for row in rows})
        return list(older)

    async def _store(self, rows: Sequence[PageRow]) -> int:
        stored = 0
        try:
            for row in rows:
                stored += await self._store_one(row)
        except Unavailable as away:
            self._postponed("cold", len(rows) - stored, away)
        return stored

    async def _store_one(self, row: PageRow) -> bool:
        page = await self._page_of(row)
        if page is None:
            async with self._database.write() as connection:
                await page_rows.forget(connection, [row])
            return True
        blob = await self._cold.upload(row.tenant_id, row.name, page)
        if blob is None:
            return False
        async with self._database.write() as connection:
            adopted = await stray_blobs.adopt(connection, blob)
            if adopted and not await page_rows.add_blob(connection, row, blob):
                await stray_blobs.cast_out(connection, [blob])
        return adopted

    async def _page_of(self, row: PageRow) -> CachedPage | None:
        framed = await self._hot.ask(row.name)
        edition, page = (framed and unframed(framed)) or (0, None)
        return page if edition == row.edition else None

    async def _forget(self, rows: Sequence[PageRow]) -> int:
        if rows:
            async with self._database.write() as connection:
                await page_rows.forget(connection, rows)
        return len(rows)

    async def _drop_strays(self) -> int:
        try:
            return await self._cold.drop_due(BATCH)
        except Unavailable as away:
            if away.service != "blobs":
                raise
            self._postponed("cold", 0, away)
            return 0

    def _postponed(self, tier: str, pages: int, away: Unavailable) -> None:
        self._log.warning(
            "page_repair_postponed", "will be tried again", tier=tier, pages=pages, why=away.detail
        )
