"""Archives: files of pages that crawls do not keep any more.

A row is written in the transaction that removes its pages. So a page is in its crawl or in an archive, and in
both only after it was restored. An archive of which every page was restored goes when these pages have left
the crawl again: newer archives have them then.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import fields
from sqlalchemy import ColumnElement, delete, exists, func, not_, select, update

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl.crawl_tables import archives, crawled_pages
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into

DROPPED_AT_ONCE: Final = 100

_archives: Final = archives.c
_pages: Final = crawled_pages.c


class Archive(Struct, frozen=True, kw_only=True):
    id: str
    tenant_id: str
    crawl_id: str
    first_at: int
    last_at: int
    pages: int
    bodies: int
    bytes: int
    rows_blob: str
    warc_blob: str | None
    created_at: int = 0  # the database's own time
    restored_at: int | None = None
    is_restored: bool = False

    @property
    def blobs(self) -> list[str]:
        return [self.rows_blob, *([self.warc_blob] if self.warc_blob else [])]


class DroppedArchives(NamedTuple):
    """How many archives were dropped, and their blobs."""

    number: int
    orphans: Sequence[str] = ()


_COLUMNS: Final = [_archives[each.name] for each in fields(Archive)]


async def add(connection: AsyncConnection, archive: Archive, *, now: int | None = None) -> None:
    """Its files are uploaded and registered as orphans; from now on they are not."""
    for blob in archive.blobs:
        if not await orphan_blobs.claim(connection, blob):
            raise Unavailable("blobs", "an upload took too long")
    row = {each.name: getattr(archive, each.name) for each in fields(Archive)}
    await connection.execute(insert_into(connection, archives).values(row | {"created_at": clock(now)}))


async def get(connection: AsyncConnection, archive_id: str) -> Archive | None:
    row = (await connection.execute(select(*_COLUMNS).where(_archives.id == archive_id))).first()
    return None if row is None else Archive(**row._mapping)


async def listing(
    connection: AsyncConnection, *, crawl_id: str = "", tenant: str = "", before: str = "", limit: int
) -> list[Archive]:
    """The newest first; `before` is the id of the last one already seen."""
    query = select(*_COLUMNS).order_by(_archives.id.desc()).limit(limit)
    if crawl_id:
        query = query.where(_archives.crawl_id == crawl_id)
    if tenant:
        query = query.where(_archives.tenant_id == tenant)
    if before:
        query = query.where(_archives.id < before)
    return [Archive(**row._mapping) for row in await connection.execute(query)]


async def set_restored(
    connection: AsyncConnection, archive_id: str, *, wholly: bool = False, now: int | None = None
) -> None:
    """Pages of it are in their crawl again; `wholly`: all of them are."""
    change = update(archives).where(_archives.id == archive_id)
    changed = change.values(restored_at=clock(now))
    await connection.execute(changed.values(is_restored=True) if wholly else changed)


def is_not_restored_since(moment: int) -> ColumnElement[bool]:
    """Of a crawled page: whether no archive that it may be from was restored since then."""
    here = _pages.crawled_at.between(_archives.first_at, _archives.last_at)
    return not_(exists().where(_archives.crawl_id == _pages.crawl_id, _archives.restored_at >= moment, here))


# Dropping. The blobs are marked as orphans.


async def drop_emptied(connection: AsyncConnection, crawl_id: str) -> Sequence[str]:
    """Drop the restored archives whose pages have left the crawl again; returns their blobs."""
    here = _pages.crawled_at.between(_archives.first_at, _archives.last_at)
    left = exists().where(_pages.crawl_id == crawl_id, here)
    emptied = [_archives.crawl_id == crawl_id, _archives.is_restored, not_(left)]
    return (await _drop(connection, emptied)).orphans


async def drop_of_crawl(connection: AsyncConnection, crawl_id: str) -> DroppedArchives:
    return await _drop(connection, [_archives.crawl_id == crawl_id])


async def drop_old(connection: AsyncConnection, before: int) -> DroppedArchives:
    return await _drop(connection, [_archives.created_at < before])


async def drop_one(connection: AsyncConnection, archive_id: str) -> DroppedArchives:
    return await _drop(connection, [_archives.id == archive_id])


async def count_old(connection: AsyncConnection, before: int) -> tuple[int, int]:
    """How many, and how many bytes they take."""
    query = select(func.count(), func.coalesce(func.sum(_archives.bytes), 0))
    number, size = (await connection.execute(query.where(_archives.created_at < before))).one()
    return number, int(size)


async def _drop(connection: AsyncConnection, which: Sequence[Any]) -> DroppedArchives:
    some = select(_archives.id).where(*which).order_by(_archives.id).limit(DROPPED_AT_ONCE)
    gone = delete(archives).where(_archives.id.in_(some.with_for_update(skip_locked=True)))
    rows = (await connection.execute(gone.returning(_archives.rows_blob, _archives.warc_blob))).all()
    orphans = sorted(blob for row in rows for blob in row if blob is not None)
    await orphan_blobs.mark(connection, orphans)
    return DroppedArchives(len(rows), orphans)
