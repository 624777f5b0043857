# ruff: noqa: S608 - only constants of this module are put into these statements
"""Versions: what a page was before it changed, and what it is.

The first change of a page writes two versions: what it was, and what it is now. So a page that never changes
has none, and its only version is the page itself. The bodies stay in the blobs where they were stored, for as
long as a version names them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, delete, func, literal, null, select, tuple_

from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.crawl.refresh.refresh_tables import page_versions
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.crawl.refresh.page_change import PageChange

MAX_VERSIONS: Final = 20  # of one page
DROPPED_AT_ONCE: Final = 1_000

_rows: Final = page_versions.c
_pages: Final = crawled_pages.c
_COPIED: Final = (
    "crawled_at", "final_url", "status_code", "content_type", "content_length", "content_hash", "title",
    "blob", "blob_offset", "blob_size",
)  # fmt: skip


class PageVersion(Struct, frozen=True, kw_only=True):
    """A version of a page."""

    crawl_id: str
    url_hash: str
    number: int
    change: str
    crawled_at: int
    final_url: str
    status_code: int | None
    content_type: str
    content_length: int
    content_hash: str
    title: str
    blob: str | None
    blob_offset: int
    blob_size: int


_ADD: Final = bulk(
    f"""
INSERT INTO page_versions (crawl_id, url_hash, number, change, {", ".join(_COPIED)})
SELECT page.crawl_id, page.url_hash, 1 + COALESCE((SELECT max(number) FROM page_versions AS before
        WHERE before.crawl_id = given.crawl_id AND before.url_hash = given.url_hash), 0), given.change,
    {", ".join(f"page.{name}" for name in _COPIED)}
FROM {{given}} JOIN crawled_pages AS page ON page.crawl_id = given.crawl_id AND page.url_hash = given.url_hash
WHERE true""",
    rows={"crawl_id": "text", "url_hash": "text", "change": "text"},
)


async def keep_first(connection: AsyncConnection, keys: Collection[tuple[str, str]]) -> None:
    """Before these pages are replaced: what they are, if they never changed before."""
    if not keys:
        return
    known = select(_rows.crawl_id, _rows.url_hash).where(tuple_(_rows.crawl_id, _rows.url_hash).in_(keys))
    versioned = {tuple(row) for row in await connection.execute(known.distinct())}
    first = sorted(key for key in keys if key not in versioned)
    await _ADD(connection, None, [(*key, PageChange.NEW.value) for key in first])


async def add(connection: AsyncConnection, changes: Mapping[tuple[str, str], PageChange]) -> None:
    """These pages, by crawl and URL hash, were replaced."""
    await _ADD(connection, None, [(*key, change.told) for key, change in sorted(changes.items())])


async def drop_surplus(connection: AsyncConnection, keys: Collection[tuple[str, str]]) -> Sequence[Any]:
    """Remove the oldest versions of these pages; returns what they named."""
    if not keys:
        return ()
    newest = (
        select(_rows.crawl_id, _rows.url_hash, (func.max(_rows.number) - MAX_VERSIONS).label("last"))
        .where(tuple_(_rows.crawl_id, _rows.url_hash).in_(keys))
        .group_by(_rows.crawl_id, _rows.url_hash)
        .having(func.count() > MAX_VERSIONS)
    )
    removed: list[Any] = []
    for row in (await connection.execute(newest)).all():
        of_page = and_(_rows.crawl_id == row.crawl_id, _rows.url_hash == row.url_hash)
        removed += await _delete(connection, of_page, _rows.number <= row.last)
    return removed


async def drop_old(connection: AsyncConnection, crawl_id: str, before: int) -> Sequence[Any]:
    """Remove a batch of versions that were stored before; returns what they named."""
    old = select(_rows.url_hash, _rows.number).where(_rows.crawl_id == crawl_id, _rows.crawled_at < before)
    some = (await connection.execute(old.limit(DROPPED_AT_ONCE))).all()
    if not some:
        return ()
    chosen = tuple_(_rows.url_hash, _rows.number).in_([tuple(row) for row in some])
    return await _delete(connection, _rows.crawl_id == crawl_id, chosen)


async def forget(connection: AsyncConnection, crawl_id: str, hashes: Collection[str]) -> Sequence[Any]:
    """These pages are no pages of the crawl any more; returns what their versions named."""
    return await _delete(connection, _rows.crawl_id == crawl_id, _rows.url_hash.in_(hashes))


async def _delete(connection: AsyncConnection, *which: ColumnElement[bool]) -> Sequence[Any]:
    gone = delete(page_versions).where(*which)
    columns = (_rows.crawl_id, _rows.url_hash, _rows.blob, _rows.crawled_at, null().label("screenshot"))
    return (await connection.execute(gone.returning(*columns))).all()


async def named(connection: AsyncConnection, crawl_id: str, blobs: Collection[str]) -> set[str]:
    """The blobs that versions of this crawl name."""
    query = select(_rows.blob).where(_rows.crawl_id == crawl_id, _rows.blob.in_(blobs))
    return {str(blob) for blob in await connection.scalars(query.distinct())}


async def listing(connection: AsyncConnection, crawl_id: str, url_hash: str) -> list[PageVersion]:
    """Newest first; a page that never changed has one."""
    query = select(page_versions).where(_rows.crawl_id == crawl_id, _rows.url_hash == url_hash)
    rows = (await connection.execute(query.order_by(_rows.number.desc()))).all()
    if not rows:
        copied = [_pages[name] for name in ("crawl_id", "url_hash", *_COPIED)]
        only = select(literal(1).label("number"), literal(PageChange.NEW.value).label("change"), *copied)
        only = only.where(_pages.crawl_id == crawl_id, _pages.url_hash == url_hash)
        rows = (await connection.execute(only)).all()
    return [PageVersion(**row._mapping) for row in rows]


async def get(connection: AsyncConnection, crawl_id: str, url_hash: str, number: int) -> PageVersion | None:
    found = await listing(connection, crawl_id, url_hash)
    return next((one for one in found if one.number == number), None)
