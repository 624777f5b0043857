"""Restores archives: puts the rows and the content of their pages back into the crawl.

A page that the crawl has again stays as it is. So restoring twice changes nothing, and after a kill it goes
on where it was. The archive stays until its pages are archived again.
"""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from gossamer import problems
from gossamer.flows.crawl.content import PackedPages, pack
from gossamer.flows.data.archive.archive_rows import ArchivedPage, damage, read_rows
from gossamer.flows.data.archive.warc import read_body
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.data.removal.pacing import RemovalProgress
from gossamer.problems import Problem, Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.upkeep import archives, whole_pages
from gossamer.state.crawl.upkeep.archives import Archive
from gossamer.state.crawl.upkeep.whole_pages import RestoredRows
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.search import index_queue
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.url.url import digest

KIND: Final = "restore"
PAGES_AT_ONCE: Final = 500  # in one transaction


class RestorePayload(msgspec.Struct, frozen=True):
    """What a job carries."""

    subject: str  # the id of the archive


class RestoreResult(msgspec.Struct, frozen=True, rename="camel"):
    """What came back."""

    archive: str
    crawl: str
    pages: int = 0
    bodies: int = 0
    skipped: int = 0  # pages that the crawl has


class ArchiveRestorer(Struct, frozen=True):
    jobs: Jobs
    blobs: Blobs

    @property
    def database(self) -> Database:
        return self.jobs.database

    async def get(self, archive_id: str) -> Archive:
        """Raises `Problem` if there is none."""
        async with self.database.read() as connection:
            archive = await archives.get(connection, archive_id)
        if archive is None:
            raise Problem(problems.NOT_FOUND, "There is no such archive.", hint="List the archives first.")
        return archive

    async def listing(
        self, *, crawl_id: str = "", tenant: str = "", before: str = "", limit: int
    ) -> list[Archive]:
        async with self.database.read() as connection:
            return await archives.listing(
                connection, crawl_id=crawl_id, tenant=tenant, before=before, limit=limit
            )

    async def queue(self, archive_id: str, by: Actor, tenant: str) -> Job:
        """Restore it as a job of this tenant."""
        archive = await self.get(archive_id)
        new = NewJob(
            kind=KIND,
            tenant_id=tenant,
            payload=RestorePayload(archive.id),
            idempotency_key=digest(f"{KIND}\n{archive.id}"),
            request_id=by.request_id,
        )
        async with self.database.write() as connection:
            job = await job_table.put(connection, new)
            await _note(connection, archive, by, Action.ARCHIVE_RESTORED)
        self.jobs.wake(job.kind)
        return job

    async def restore_here(self, archive_id: str, by: Actor, step: Step) -> RestoreResult:
        """In this process, without a job."""
        archive = await self.get(archive_id)
        async with self.database.write() as connection:
            await _note(connection, archive, by, Action.ARCHIVE_RESTORED)
        return await self.restore(archive_id, step)

    async def restore(self, archive_id: str, step: Step, *, now: int | None = None) -> RestoreResult:
        archive = await self.get(archive_id)
        pages = await asyncio.to_thread(read_rows, await self.read_file(archive.rows_blob))
        warc = await self.read_file(archive.warc_blob) if archive.warc_blob is not None else b""
        progress = RemovalProgress(step, "putting pages back", 5, 99, len(pages))
        result, there = RestoreResult(archive.id, archive.crawl_id), 0
        for part in _parts(pages):
            restored = await self._put_back(archive, part, warc, now)
            there += len(restored.rows) + restored.unchanged
            result = replace_fields(
                result,
                pages=result.pages + len(restored.rows),
                bodies=result.bodies + len(restored.with_content),
                skipped=result.skipped + len(part) - len(restored.rows),
            )
            await progress.add(len(part))
        if there == len(pages):
            async with self.database.write() as connection:
                await archives.set_restored(connection, archive.id, wholly=True, now=now)
        return result

    async def drop(self, archive_id: str, by: Actor) -> bool:
        """Delete an archive for good. False: there is none."""
        async with self.database.write() as connection:
            archive = await archives.get(connection, archive_id)
            dropped = await archives.drop_one(connection, archive_id)
            if archive is not None:
                await _note(connection, archive, by, Action.ARCHIVE_DELETED)
        await drop_orphans(self.database, self.blobs, dropped.orphans)
        return archive is not None

    async def _put_back(
        self, archive: Archive, pages: Sequence[ArchivedPage], warc: bytes, now: int | None
    ) -> RestoredRows:
        """Put pages back that were stored at one moment, and so have a blob of their own."""
        async with self.database.read() as connection:
            there = await whole_pages.known(connection, archive.crawl_id, [one.row.url_hash for one in pages])
        missing = [one for one in pages if one.row.url_hash not in there]
        unchanged = sum(there.get(one.row.url_hash) == one.row.crawled_at for one in pages)
        made = await asyncio.to_thread(_pack, missing, warc)
        if made.places:
            async with self.database.write() as connection:
                await orphan_blobs.register(connection, made.name)
            await self.blobs.put(made.name, made.body)
        try:
            async with self.database.write() as connection:
                restored = await _write(connection, archive, _placed(missing, made), made, now)
        except CrawlsGone:
            raise Problem(problems.NOT_FOUND, "The crawl of this archive was deleted.") from None
        return restored._replace(unchanged=unchanged)

    async def read_file(self, name: str) -> bytes:
        content = await self.blobs.get(name)
        if content is None:
            raise Problem(
                problems.NOT_FOUND,
                "A file of this archive is missing.",
                hint="Put it back into the store of blobs, from a backup.",
                details={"blob": name},
            )
        return content


async def _write(
    connection: AsyncConnection,
    archive: Archive,
    rows: Sequence[StoredPage],
    made: PackedPages,
    now: int | None,
) -> RestoredRows:
    restored = await whole_pages.put_back(connection, archive.crawl_id, rows, now=now)
    if restored.rows:  # with them, so that they are not due at once
        await archives.set_restored(connection, archive.id, now=now)
    if restored.with_content:
        if not await orphan_blobs.claim(connection, made.name):
            raise Unavailable("blobs", "an upload took too long")
        await index_queue.add_again(connection, restored.rows)
    return restored


async def _note(connection: AsyncConnection, archive: Archive, by: Actor, what: Action) -> None:
    about = f"{archive.pages:,} pages of crawl {archive.crawl_id}"
    entry = ActivityEntry(archive.tenant_id, what, archive.id, by, about)
    await activity.record(connection, entry)


def _parts(pages: Sequence[ArchivedPage]) -> list[list[ArchivedPage]]:
    """Pages of one moment belong together, because a blob has the pages of one moment."""
    ordered = sorted(pages, key=lambda page: (page.row.crawled_at, page.row.url_hash))
    parts = []
    for _, same in groupby(ordered, key=lambda page: page.row.crawled_at):
        stored = list(same)
        parts += [stored[first : first + PAGES_AT_ONCE] for first in range(0, len(stored), PAGES_AT_ONCE)]
    return parts


def _pack(pages: Sequence[ArchivedPage], warc: bytes) -> PackedPages:
    return pack(replace(page.answer, body=_body(page, warc)) for page in pages if page.answer is not None)


def _body(page: ArchivedPage, warc: bytes) -> bytes:
    record = warc[page.offset : page.offset + page.size]
    if len(record) != page.size:
        raise damage("Its content is cut.")
    return read_body(record)


def _placed(pages: Sequence[ArchivedPage], made: PackedPages) -> list[StoredPage]:
    places = iter(made.places)
    rows = []
    for page in pages:
        row = replace_fields(page.row, blob=None, blob_offset=0, blob_size=0, screenshot=None)
        if page.answer is not None:
            place = next(places)
            row = replace_fields(row, blob=place.blob, blob_offset=place.offset, blob_size=place.size)
        rows.append(row)
    return rows
