"""Whole rows of crawled pages: read to archive or to replay them, and written back."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, case, select, update

from gossamer.state.crawl import crawl_counts, crawled_pages, new_urls
from gossamer.state.crawl.crawl_tables import crawled_pages as table
from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.crawl.crawled_pages import Position, StoredPage, is_after
from gossamer.state.crawl.removal import crawl_blobs
from gossamer.state.crawl.removal.crawl_blobs import NO_LINKS, LinksAt
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search import index_queue

# What a replay may change.
REPLAYED: Final = (
    "title",
    "description",
    "language",
    "canonical",
    "directives",
    "links_count",
    "content_hash",
    "fingerprint",
    "outcome",
)

_pages: Final = table.c
_crawls: Final = crawls.c
_FIELDS: Final = StoredPage.__struct_fields__
_COLUMNS: Final = [_pages[name] for name in _FIELDS]


async def read(connection: AsyncConnection, crawl_id: str, hashes: Collection[str]) -> list[StoredPage]:
    """In the order in which they were stored."""
    chosen = and_(_pages.crawl_id == crawl_id, _pages.url_hash.in_(hashes))
    query = select(*_COLUMNS).where(chosen).order_by(_pages.crawled_at, _pages.url_hash)
    return [StoredPage(**row._mapping) for row in await connection.execute(query)]


async def next_pages(
    connection: AsyncConnection, which: Sequence[ColumnElement[bool]], after: Position, limit: int
) -> list[StoredPage]:
    """A batch of the pages of a crawl, in the order in which they were stored."""
    query = select(*_COLUMNS).where(*which, is_after(after)).order_by(_pages.crawled_at, _pages.url_hash)
    return [StoredPage(**row._mapping) for row in await connection.execute(query.limit(limit))]


async def known(connection: AsyncConnection, crawl_id: str, hashes: Collection[str]) -> dict[str, int]:
    """Those that the crawl has a page of, and when it was stored."""
    chosen = and_(_pages.crawl_id == crawl_id, _pages.url_hash.in_(hashes))
    rows = await connection.execute(select(_pages.url_hash, _pages.crawled_at).where(chosen))
    return {row.url_hash: row.crawled_at for row in rows}


# Restoring.


class RestoredRows(NamedTuple):
    """Rows that are in their crawl again, and how many were there already as they are in the archive."""

    rows: Sequence[StoredPage] = ()
    unchanged: int = 0

    @property
    def with_content(self) -> list[StoredPage]:
        return [row for row in self.rows if row.blob is not None]


_COUNT: Final = bulk(
    """
UPDATE hosts SET pages = hosts.pages + given.pages, bytes = hosts.bytes + given.bytes
FROM {given} WHERE hosts.host = given.host""",
    rows={"host": "text", "pages": "bigint", "bytes": "bigint"},
)


async def put_back(
    connection: AsyncConnection,
    crawl_id: str,
    pages: Sequence[StoredPage],
    *,
    links: Mapping[str, LinksAt] = NO_LINKS,
    now: int | None = None,
) -> RestoredRows:
    """Insert pages that the crawl does not have, with the times at which they were stored, and count them.
    `links` tells where their links are. Raises `CrawlsGone`."""
    await new_urls.lock_hosts(connection, {page.host for page in pages}, now)
    await crawl_counts.lock_all(connection, [crawl_id])
    there = await known(connection, crawl_id, [page.url_hash for page in pages])
    new = [page for page in pages if page.url_hash not in there]
    if not new:
        return RestoredRows()
    rows = [{name: getattr(page, name) for name in _FIELDS} for page in new]
    await connection.execute(table.insert(), rows)
    numbers, sizes = Counter[str](), Counter[str]()
    for page in new:
        numbers[page.host] += 1
        sizes[page.host] += page.content_length
    await _COUNT(connection, now, [(host, numbers[host], sizes[host]) for host in sorted(numbers)])
    await _count_crawl(connection, crawl_id, len(new), sizes.total())
    restored = RestoredRows(new)
    stored = {(page.blob, crawl_id) for page in restored.with_content if page.blob}
    stored |= {(at.blob, crawl_id) for at in links.values()}
    await crawl_blobs.add(connection, stored, links)
    return restored


async def _count_crawl(connection: AsyncConnection, crawl_id: str, pages: int, size: int) -> None:
    """The crawl may have stored others in their place; then it has more pages than it was meant to have."""
    total = _crawls.pages + pages
    bound = total + _crawls.in_progress
    change = update(crawls).where(_crawls.id == crawl_id)
    most = case((_crawls.max_pages < bound, bound), else_=_crawls.max_pages)
    await connection.execute(change.values(pages=total, bytes=_crawls.bytes + size, max_pages=most))


# Replaying.


class ReplayedPage(NamedTuple):
    """A page before and after its content was read again."""

    before: StoredPage
    after: StoredPage

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        pairs = {name: (getattr(self.before, name), getattr(self.after, name)) for name in REPLAYED}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


async def replace_read(connection: AsyncConnection, changed: Sequence[ReplayedPage]) -> None:
    """Write what was read anew, unless a page was stored again meanwhile, and queue it for the index."""
    own = and_(
        _pages.crawl_id == bindparam("of_crawl"),
        _pages.url_hash == bindparam("of_url"),
        _pages.crawled_at == bindparam("of_moment"),
    )
    change = update(table).where(own).values({name: bindparam(f"new_{name}") for name in REPLAYED})
    rows = [
        {
            "of_crawl": page.after.crawl_id,
            "of_url": page.after.url_hash,
            "of_moment": page.after.crawled_at,
            **{f"new_{name}": getattr(page.after, name) for name in REPLAYED},
        }
        for page in sorted(changed, key=lambda page: page.after.url_hash)
    ]
    if rows:
        await connection.execute(change, rows)
        await index_queue.add_again(connection, [page.after for page in changed])


def storable_page(page: StoredPage, read: crawled_pages.CrawledPage) -> StoredPage:
    """The page with what was read anew, as a database keeps it."""
    values = dict(zip(crawled_pages.CrawledPage.__struct_fields__, read.as_row(), strict=True))
    own = {name: getattr(page, name) for name in _FIELDS}
    return StoredPage(**own | {name: values[name] for name in REPLAYED})
