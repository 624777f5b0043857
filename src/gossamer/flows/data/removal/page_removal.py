"""Removes stored pages that match a filter, in all crawls, and leaves the crawls as they are.

Pages that are stored while it runs stay. A blob has the bodies of many pages; it goes with the last of them.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import select
from ulid import ULID

from gossamer.flows.data.removal import pacing
from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.flows.data.removal.leftovers import drop_orphans, index_names
from gossamer.flows.data.removal.pacing import RemovalProgress, rest
from gossamer.problems import Busy, validation_error
from gossamer.reach.page.visit import Step
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.removal import purge, removed_pages
from gossamer.state.crawl.removal.purge import PurgeCount, PurgeFilter
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl, RemovedPage
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.jobs.deletions import Deletion, DeletionKind

CRAWLS_AT_ONCE: Final = 100


class ArchiveOutdated(Exception):
    """Pages were removed or stored again while they were archived."""


class KeptPages(Protocol):
    """Pages that are written to an archive, which does not count yet."""

    async def record(self, connection: AsyncConnection, removed: int) -> Sequence[str]:
        """Make the archive count, in the transaction that removes the pages; returns blobs that nobody needs
        any more. Raises `ArchiveOutdated` unless exactly these pages were removed."""


class PageArchive(Protocol):
    """Where pages are kept that are about to be removed because they are old."""

    @property
    def span_ms(self) -> int:
        """Pages of such a span of time are archived together."""

    async def keep(self, crawl: OwnedCrawl, pages: Sequence[RemovedPage]) -> KeptPages:
        """Returns when their files are safe. It may get the same pages again. Raises `ArchiveOutdated`."""


class NoArchive:
    """Pages that are removed are gone."""

    span_ms = 1

    async def keep(self, crawl: OwnedCrawl, pages: Sequence[RemovedPage]) -> "NoArchive":
        """There is nowhere to keep them."""
        return self

    async def record(self, connection: AsyncConnection, removed: int) -> Sequence[str]:
        return ()


def purging(which: PurgeFilter, tenant: str) -> Deletion:
    """The deletion of these pages, for the tenant whose job it is. Raises `Problem` for all pages of all
    crawls."""
    if which == PurgeFilter():
        raise validation_error(
            "There is no filter, so this would delete every page.",
            hint="Give at least one of crawl, host, before and outcome.",
        )
    detail = msgspec.json.encode(which).decode()
    return Deletion(DeletionKind.PAGES, str(ULID()), tenant, detail)


class PageRemoval(Struct, frozen=True):
    database: Database
    blobs: Blobs

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        """Nothing that is stored from now on matches."""
        now = await connection.scalar(select(clock())) or 0
        which = _filter(deletion)
        bound = replace(which, before=min(now, now if which.before is None else which.before))
        detail = msgspec.json.encode(bound).decode()
        own = Deletion(DeletionKind.PAGES, deletion.subject, deletion.tenant_id, detail)
        return AcceptedDeletion(own, which.describe())

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        which = _filter(deletion)
        progress = RemovalProgress(step, "removing pages", 5, 99, await self._total(which))
        await progress.add(0)
        crawls = await self.remove_matching(which, progress)
        return DeleteResult(DeletionKind.PAGES, deletion.subject, pages=progress.done, crawls=crawls)

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        """Nothing is left."""

    async def count(self, which: PurgeFilter) -> PurgeCount:
        """What would be removed. Raises `Busy` if there is too much to go through."""
        async with self.database.scan() as connection:
            return await purge.count(connection, which)

    async def remove_matching(
        self, which: PurgeFilter, progress: RemovalProgress, archive: PageArchive | None = None
    ) -> int:
        """Remove all that match; returns in how many crawls there were some."""
        concerned, after = 0, ""
        while True:
            async with self.database.read() as connection:
                crawls = await purge.list_crawls(connection, which, after, CRAWLS_AT_ONCE)
            for crawl in crawls:
                before = progress.done
                await self._remove_of(crawl, which, progress, archive or NoArchive())
                concerned += progress.done > before
            if len(crawls) < CRAWLS_AT_ONCE:
                return concerned
            after = crawls[-1].id

    async def _remove_of(
        self, crawl: OwnedCrawl, which: PurgeFilter, progress: RemovalProgress, archive: PageArchive
    ) -> None:
        others: list[str] | None = None
        while True:
            began = pacing.now()
            async with self.database.read() as connection:
                pages = await removed_pages.next_pages(connection, which.conditions(crawl.id))
                if not pages:
                    return
                others = await removed_pages.siblings(connection, crawl) if others is None else others
            names = await asyncio.to_thread(index_names, crawl.tenant_id, pages)
            try:
                kept = await archive.keep(crawl, pages)
                async with self.database.write() as connection:
                    removed = await removed_pages.drop(connection, crawl, pages, names, others)
                    unneeded = await kept.record(connection, removed.pages)
            except ArchiveOutdated:  # so look again
                continue
            except CrawlsGone:  # whoever deletes it removes its pages too
                return
            await drop_orphans(self.database, self.blobs, [*removed.orphans, *unneeded])
            await progress.add(removed.pages)
            await rest(began)

    async def _total(self, which: PurgeFilter) -> int:
        """For the progress only."""
        try:
            return (await self.count(which)).pages
        except Busy:
            return 0


def _filter(deletion: Deletion) -> PurgeFilter:
    return msgspec.json.decode(deletion.detail, type=PurgeFilter)
