"""Archives old pages: writes their rows and content to files, and reads the files back.

The files count once their row is written, in the transaction that removes the pages. Until then they are
orphans, which upkeep drops. So a kill leaves every page in its crawl or in one archive.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from ulid import ULID

from gossamer import __version__
from gossamer.flows.crawl.content import keep_headers, unpack
from gossamer.flows.data.archive import archive_rows
from gossamer.flows.data.archive.archive_rows import ArchivedPage, ArchiveHead, write_rows
from gossamer.flows.data.archive.warc import WarcFile
from gossamer.flows.data.removal.page_removal import ArchiveOutdated
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl, RemovedPage
from gossamer.state.crawl.upkeep import archives, whole_pages
from gossamer.state.crawl.upkeep.archives import Archive
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.web.documents.warc import warc_stream
from gossamer.web.pages.page import Page

MAX_BYTES: Final = 32_000_000  # of content in one archive, unless one page has more
DAY_MS: Final = 86_400_000


class ArchiveFiles(Struct, frozen=True):
    """The files of an archive, and what they have."""

    archive: Archive
    rows: bytes
    warc: bytes


class WrittenArchives(Struct, frozen=True):
    """Archives whose files are safe."""

    crawl_id: str
    pages: int
    archives: Sequence[Archive]

    async def record(self, connection: AsyncConnection, removed: int) -> Sequence[str]:
        if removed != self.pages:
            raise ArchiveOutdated
        for archive in self.archives:
            await archives.add(connection, archive)
        return await archives.drop_emptied(connection, self.crawl_id)


class Archiver(Struct, frozen=True):
    database: Database
    blobs: Blobs

    @property
    def span_ms(self) -> int:
        return DAY_MS

    async def keep(self, crawl: OwnedCrawl, pages: Sequence[RemovedPage]) -> WrittenArchives:
        async with self.database.read() as connection:
            rows = await whole_pages.read(connection, crawl.id, [page.url_hash for page in pages])
        expected = {(page.url_hash, page.crawled_at) for page in pages}
        if {(row.url_hash, row.crawled_at) for row in rows} != expected:
            raise ArchiveOutdated
        written = [await self._write(crawl, part) for part in _parts(rows)]
        return WrittenArchives(crawl.id, len(rows), written)

    async def _write(self, crawl: OwnedCrawl, rows: Sequence[StoredPage]) -> Archive:
        answers = [page async for page in read_answers(self.blobs, rows)]
        files = await asyncio.to_thread(_pack, crawl, rows, answers)
        archive = files.archive
        async with self.database.write() as connection:
            for blob in archive.blobs:
                await orphan_blobs.register(connection, blob)
        await self._put(archive.rows_blob, files.rows, archive_rows.MEDIA_TYPE)
        if archive.warc_blob is not None:
            await self._put(archive.warc_blob, files.warc, warc_stream.MEDIA_TYPE)
        return archive

    async def _put(self, name: str, body: bytes, media_type: str) -> None:
        await self.blobs.put(name, body, media_type=media_type)
        if await self.blobs.get(name) != body:
            raise Unavailable("blobs", "an archive was not stored as it was written")


async def read_answers(blobs: Blobs, rows: Sequence[StoredPage]) -> AsyncGenerator[Page | None]:
    """The content of each page; None if it is not kept or not readable."""
    name, whole = None, None
    for row in rows:
        if row.blob is not None and row.blob != name:  # pages that were stored together share a blob
            name, whole = row.blob, await blobs.get(row.blob)
        yield _unpack(row, whole) if row.blob is not None and whole is not None else None


def _unpack(row: StoredPage, whole: bytes) -> Page | None:
    try:
        return unpack(whole[row.blob_offset : row.blob_offset + row.blob_size])
    except Problem:  # nobody will ever read it
        return None


def _parts(rows: Sequence[StoredPage]) -> Iterator[list[StoredPage]]:
    part: list[StoredPage] = []
    size = 0
    for row in rows:
        size += row.content_length if row.blob is not None else 0
        if part and size > MAX_BYTES:
            yield part
            part, size = [], row.content_length
        part.append(row)
    if part:
        yield part


def _pack(crawl: OwnedCrawl, rows: Sequence[StoredPage], answers: Sequence[Page | None]) -> ArchiveFiles:
    """It takes a while, so call it in a thread."""
    made = str(ULID())
    rows_name, warc_name = f"archives/{made.lower()}.ndjson.gz", f"archives/{made.lower()}.warc.gz"
    file = WarcFile(warc_name.rpartition("/")[2], _about(crawl))
    pages = [_archived(row, page, file) for row, page in zip(rows, answers, strict=True)]
    bodies = sum(page.answer is not None for page in pages)
    content = file.content() if bodies else b""
    name = warc_name.rpartition("/")[2] if bodies else ""
    head = ArchiveHead(archive=made, tenant=crawl.tenant_id, crawl=crawl.id, pages=len(rows), warc=name)
    lines = write_rows(head, pages)
    archive = Archive(
        id=made,
        tenant_id=crawl.tenant_id,
        crawl_id=crawl.id,
        first_at=rows[0].crawled_at,
        last_at=rows[-1].crawled_at,
        pages=len(rows),
        bodies=bodies,
        bytes=len(lines) + len(content),
        rows_blob=rows_name,
        warc_blob=warc_name if bodies else None,
    )
    return ArchiveFiles(archive, lines, content)


def _archived(row: StoredPage, page: Page | None, file: WarcFile) -> ArchivedPage:
    if page is None:
        return ArchivedPage(row)
    kept = replace(page, headers=keep_headers(page.headers))  # older content may have cookies
    offset, size = file.add(kept, row.crawled_at)
    return ArchivedPage(row, replace(kept, body=b""), offset, size)


def _about(crawl: OwnedCrawl) -> dict[str, str]:
    return {
        "software": f"Gossamer/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": warc_stream.CONFORMS_TO,
        "description": "Pages of a crawl. Bodies are decoded; the values of cookies are left out.",
        "isPartOf": f"crawl {crawl.id}",
    }
