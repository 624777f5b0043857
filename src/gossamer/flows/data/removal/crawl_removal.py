"""Removes a crawl: everything that it has stored, a batch at a time.

A crawl is marked when its deletion is accepted, and nobody finds it or writes for it from then on.
"""

import asyncio
from typing import Final

from msgspec import Struct
from sqlalchemy import Table

from gossamer.flows.data.removal import pacing
from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.flows.data.removal.leftovers import drop_orphans, index_names
from gossamer.flows.data.removal.pacing import RemovalProgress, rest
from gossamer.problems import Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawl_tables import (
    crawled_pages,
    frontier,
    unindexed,
)
from gossamer.state.crawl.removal import crawl_blobs, deleting, removed_pages
from gossamer.state.crawl.removal.deleting import MarkedCrawl
from gossamer.state.crawl.upkeep import archives
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import Deletion, DeletionKind

BLOBS_AT_ONCE: Final = 100
LOCKED_SECONDS: Final = 0.1  # until rows are tried again that somebody has locked
MAX_LOCKED_SECONDS: Final = 30.0  # no transaction lasts longer
URLS, PAGES, BLOBS, COUNTS = 5, 30, 85, 95  # percent of the work that is done when these begin


class CrawlRemoval(Struct, frozen=True):
    database: Database
    blobs: Blobs

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        crawl = await deleting.mark(connection, deletion.subject, seen_by)
        if crawl is None:
            return None
        own = Deletion(DeletionKind.CRAWL, crawl.id, crawl.tenant_id)
        return AcceptedDeletion(own, f"{crawl.pages:,} pages")

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        return await self.remove_crawl(deletion.subject, step)

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        await deleting.drop_row(connection, deletion.subject)

    async def remove_crawl(self, crawl_id: str, step: Step) -> DeleteResult:
        """Remove everything but the crawl's own row. Its URLs go first: see `deleting.py`."""
        async with self.database.read() as connection:
            crawl = await deleting.find(connection, crawl_id)
        if crawl is None:
            return DeleteResult(DeletionKind.CRAWL, crawl_id)
        urls = RemovalProgress(step, "removing its URLs", URLS, PAGES, crawl.urls)
        await self._drop(crawl, frontier, urls)
        queue = RemovalProgress(step, "taking it from the queue of the index", PAGES, PAGES)
        await self._drop(crawl, unindexed, queue)
        await self._drop_pages(crawl, RemovalProgress(step, "removing its pages", PAGES, BLOBS, crawl.pages))
        await self._drop_blobs(crawl, RemovalProgress(step, "removing their content", BLOBS, COUNTS))
        await self._drop_archives(crawl, RemovalProgress(step, "removing its archives", COUNTS, COUNTS))
        counts = RemovalProgress(step, "removing its hosts and counts", COUNTS, 99)
        for table in deleting.LAST:
            await self._drop(crawl, table, counts)
        return DeleteResult(DeletionKind.CRAWL, crawl_id, pages=crawl.pages, urls=crawl.urls)

    async def _drop(self, crawl: MarkedCrawl, table: Table, progress: RemovalProgress) -> None:
        """Remove all rows of the crawl, also those that somebody has locked for the moment."""
        moved = pacing.now()
        await progress.add(0)
        while True:
            began = pacing.now()
            async with self.database.write() as connection:
                removed = await deleting.drop_rows(connection, table, crawl.id)
                if not removed and not await deleting.are_left(connection, table, crawl.id):
                    return
            await progress.add(removed)
            if removed:
                moved = pacing.now()
                await rest(began)
            elif pacing.now() - moved > MAX_LOCKED_SECONDS:
                raise Unavailable("database", f"rows of {table.name} stay locked")
            else:
                await asyncio.sleep(LOCKED_SECONDS)

    async def _drop_pages(self, crawl: MarkedCrawl, progress: RemovalProgress) -> None:
        await progress.add(0)
        own = [crawled_pages.c.crawl_id == crawl.id]
        async with self.database.read() as connection:
            others = await removed_pages.siblings(connection, crawl.owned)
        while True:
            began = pacing.now()
            async with self.database.read() as connection:
                pages = await removed_pages.next_pages(connection, own)
            if not pages:
                return
            names = await asyncio.to_thread(index_names, crawl.tenant_id, pages)
            async with self.database.write() as connection:
                removed = await removed_pages.drop_with_crawl(connection, crawl.owned, pages, names, others)
            await progress.add(removed)
            await rest(began)

    async def _drop_blobs(self, crawl: MarkedCrawl, progress: RemovalProgress) -> None:
        await progress.add(0)
        while True:
            began = pacing.now()
            async with self.database.write() as connection:
                released = await crawl_blobs.release(connection, crawl.id, BLOBS_AT_ONCE)
            if not released.number:
                return
            await drop_orphans(self.database, self.blobs, released.orphans)
            await progress.add(released.number)
            await rest(began)

    async def _drop_archives(self, crawl: MarkedCrawl, progress: RemovalProgress) -> None:
        await progress.add(0)
        while True:
            async with self.database.write() as connection:
                dropped = await archives.drop_of_crawl(connection, crawl.id)
            if not dropped.number:
                return
            await drop_orphans(self.database, self.blobs, dropped.orphans)
            await progress.add(dropped.number)
