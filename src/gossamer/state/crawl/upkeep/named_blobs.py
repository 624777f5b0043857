"""Which blobs are named by rows: by crawled and cached pages, results of batches, and archives."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, select, tuple_, update

from gossamer.state.crawl.crawl_tables import archives, crawl_blobs, crawled_pages, crawls
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.refresh.refresh_tables import page_versions
from gossamer.state.crawl.removal import crawl_blobs as owners
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import batch_results, cached_pages, stray_blobs

# What the names of our blobs begin with; others are somebody else's.
OURS: Final = ("archives", "batches", "crawls", "pages", "screenshots", "uploads")

_pages: Final = crawled_pages.c
_owned: Final = crawl_blobs.c
# Each with the kind of what names it. Orphans come first: a blob leaves them in the transaction that writes
# its row, so whoever looks in this order misses none.
_NAMING: Final[dict[str, Column[Any]]] = {
    "orphans": stray_blobs.c.name,
    "crawled": _owned.blob,
    "cached": cached_pages.c.blob,
    "batches": batch_results.c.blob,
    "archives": archives.c.rows_blob,
    "archived content": archives.c.warc_blob,
}


class NamedBlob(NamedTuple):
    """A blob that a row names."""

    kind: str
    name: str


def kinds() -> Iterator[str]:
    """Of rows that need their blobs."""
    return (kind for kind in _NAMING if kind != "orphans")


async def named(connection: AsyncConnection, names: Collection[str]) -> set[str]:
    """Those that somebody names."""
    found: set[str] = set()
    for column in _NAMING.values():
        found |= set((await connection.scalars(select(column).where(column.in_(names)))).all())
    return found


async def next_names(connection: AsyncConnection, kind: str, after: str, limit: int) -> list[NamedBlob]:
    """Blobs that rows of this kind name, in the order of their names."""
    column = _NAMING[kind]
    query = select(column).where(column > after).distinct().order_by(column).limit(limit)
    return [NamedBlob(kind, name) for name in await connection.scalars(query)]


async def forget_content(connection: AsyncConnection, blob: str) -> int:
    """The blob is gone: the pages in it have no content any more. Returns how many they are."""
    its = select(_owned.crawl_id).where(_owned.blob == blob)
    here = update(crawled_pages).where(_pages.crawl_id.in_(its), _pages.blob == blob)
    changed = await connection.execute(here.values(blob=None, blob_offset=0, blob_size=0))
    past = update(page_versions).where(page_versions.c.crawl_id.in_(its), page_versions.c.blob == blob)
    await connection.execute(past.values(blob=None, blob_offset=0, blob_size=0))
    shown = update(crawled_pages).where(_pages.crawl_id.in_(its), _pages.screenshot == blob)
    await connection.execute(shown.values(screenshot=None))
    for crawl_id in (await connection.scalars(its)).all():
        await owners.give_up(connection, crawl_id, [blob])
    return changed.rowcount


class BlobPages(NamedTuple):
    """Pages of a crawl that are in one blob."""

    tenant_id: str
    pages: Sequence[StoredPage]


async def next_blobs(
    connection: AsyncConnection, after: tuple[str, str], limit: int, crawl_id: str = ""
) -> Sequence[tuple[str, str]]:
    """Crawls and their blobs, in this order."""
    query = select(_owned.crawl_id, _owned.blob).where(tuple_(_owned.crawl_id, _owned.blob) > after)
    if crawl_id:
        query = query.where(_owned.crawl_id == crawl_id)
    rows = await connection.execute(query.order_by(_owned.crawl_id, _owned.blob).limit(limit))
    return [(row.crawl_id, row.blob) for row in rows]


async def pages_in(connection: AsyncConnection, crawl_id: str, blobs: Collection[str]) -> BlobPages | None:
    """None: the crawl is gone."""
    tenant = await connection.scalar(select(crawls.c.tenant_id).where(crawls.c.id == crawl_id))
    if tenant is None:
        return None
    columns = [_pages[name] for name in StoredPage.__struct_fields__]
    query = select(*columns).where(_pages.crawl_id == crawl_id, _pages.blob.in_(blobs))
    return BlobPages(tenant, [StoredPage(**row._mapping) for row in await connection.execute(query)])
