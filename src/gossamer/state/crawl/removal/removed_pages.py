"""Removes pages of a crawl, a batch at a time: their rows, what the search index has of them, their bodies
and their share of every count.

A transaction locks in the order of `frontier.py`: hosts, the crawl, its counts; then the tenant's index, the
pages, and the blobs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, delete, false, func, or_, select, tuple_, update

from gossamer.state.crawl import crawl_counts, new_urls
from gossamer.state.crawl.crawl_counts import CountChange, CrawlsGone
from gossamer.state.crawl.crawl_tables import crawl_hosts, crawled_pages, crawls, frontier, unindexed
from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME, Position
from gossamer.state.crawl.refresh import fresh_pages, page_versions
from gossamer.state.crawl.removal import crawl_blobs
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import search_pages
from gossamer.state.search import search_drops, search_rows
from gossamer.state.search.search_drops import Extent

PAGES_AT_ONCE: Final = search_rows.MAX_DELETED_PAGES
OVER: Final = ("done", "canceled")
_ENDED: Final = ("completed", "failed", "blocked")

_crawls: Final = crawls.c
_pages: Final = crawled_pages.c
_hosts: Final = crawl_hosts.c
_urls: Final = frontier.c


class RemovedPage(Struct, frozen=True):
    """A page that is to be removed."""

    url_hash: str
    final_url: str
    host: str
    crawled_at: int
    blob: str | None
    screenshot: str | None = None


class OwnedCrawl(NamedTuple):
    """A crawl, and whose it is."""

    id: str
    tenant_id: str


class IndexName(NamedTuple):
    """A page as the search index knows it: by the hash of tenant and URL, and the URL in its cache form."""

    page: RemovedPage
    form: str


class RemovedBatch(NamedTuple):
    """How many pages were removed, and the blobs that nobody needs any more."""

    pages: int
    orphans: Sequence[str] = ()


async def next_pages(
    connection: AsyncConnection,
    which: Sequence[ColumnElement[bool]],
    after: Position | None = None,
    limit: int = 0,
) -> list[RemovedPage]:
    """A batch of the pages of a crawl that match, in the order in which they were stored."""
    columns = [_pages[name] for name in RemovedPage.__struct_fields__]
    query = select(*columns).where(*which).order_by(_pages.crawled_at, _pages.url_hash)
    if after is not None:
        query = query.where(tuple_(_pages.crawled_at, _pages.url_hash) > after[:2])
    return [RemovedPage(*row) for row in await connection.execute(query.limit(limit or PAGES_AT_ONCE))]


async def siblings(connection: AsyncConnection, crawl: OwnedCrawl) -> list[str]:
    """The other crawls of the tenant that have a host in common with it."""
    mine = select(_hosts.host).where(_hosts.crawl_id == crawl.id)
    others = (
        select(_hosts.crawl_id)
        .join(crawls, _crawls.id == _hosts.crawl_id)
        .where(_hosts.tenant_id == crawl.tenant_id, _hosts.host.in_(mine), _crawls.deleting == false())
        .where(_hosts.crawl_id != crawl.id)
    )
    return list((await connection.scalars(others.distinct())).all())


async def drop_with_crawl(
    connection: AsyncConnection,
    crawl: OwnedCrawl,
    pages: Sequence[RemovedPage],
    names: Mapping[str, IndexName],
    others: Sequence[str],
) -> int:
    """Remove pages of a crawl that goes as a whole, with its counts and blobs. `names` are their names in the
    search index. It keeps a page that was read again since, and one that the `others` have stored too: from
    now on that one is theirs."""
    await new_urls.lock_hosts(connection, {page.host for page in pages}, None)
    await _drop_words(connection, crawl.tenant_id, names, others)
    removed = await _delete(connection, crawl.id, [page.url_hash for page in pages])
    await _uncount_hosts(connection, removed)
    return len(removed)


async def drop(
    connection: AsyncConnection,
    crawl: OwnedCrawl,
    pages: Sequence[RemovedPage],
    names: Mapping[str, IndexName],
    others: Sequence[str],
    *,
    now: int | None = None,
) -> RemovedBatch:
    """Remove pages of a crawl that stays. Its URLs stay known, unless it is over. Raises `CrawlsGone` if the
    crawl is being deleted."""
    await new_urls.lock_hosts(connection, {page.host for page in pages}, now)
    rows = await crawl_counts.lock(connection, [crawl.id])
    if not rows or rows[0].deleting:
        raise CrawlsGone({crawl.id})
    await search_rows.lock(connection, crawl.tenant_id)
    await _drop_words(connection, crawl.tenant_id, names, others)
    await _keep_out(connection, crawl, names.values())
    # A page that was stored again meanwhile has another time, and stays.
    moments = {page.crawled_at for page in pages}
    removed = await _delete(connection, crawl.id, [page.url_hash for page in pages], moments)
    if rows[0].state in OVER:
        await _forget_urls(connection, crawl.id, [row.url_hash for row in removed], now)
    await uncount(connection, removed)
    versions = await _forget_visits(connection, crawl.id, [row.url_hash for row in removed])
    return RemovedBatch(len(removed), await release_emptied(connection, crawl.id, [*removed, *versions]))


async def drop_bodies(
    connection: AsyncConnection, crawl: OwnedCrawl, pages: Sequence[RemovedPage]
) -> RemovedBatch:
    """Forget where the content of these pages is. The pages stay, and can be found by search."""
    chosen = and_(_pages.crawl_id == crawl.id, _pages.url_hash.in_([page.url_hash for page in pages]))
    bare = update(crawled_pages).where(chosen, _pages.blob.is_not(None))
    changed = await connection.execute(bare.values(blob=None, blob_offset=0, blob_size=0, screenshot=None))
    return RemovedBatch(changed.rowcount, await release_emptied(connection, crawl.id, pages))


async def make_room(connection: AsyncConnection, keys: Collection[tuple[str, str]]) -> None:
    """Remove the pages that a crawl stored before under these keys (crawl and URL), because they are stored
    again. The hosts and crawls are locked."""
    for crawl_id in sorted({crawl_id for crawl_id, _ in keys}):
        removed = await _delete(connection, crawl_id, [url for owner, url in keys if owner == crawl_id])
        await uncount(connection, removed)
        await release_emptied(connection, crawl_id, removed)


async def drop_surplus(connection: AsyncConnection, keys: Collection[tuple[str, str]]) -> None:
    """Remove the versions of these pages that are too many. The crawls are locked."""
    removed = await page_versions.drop_surplus(connection, keys)
    for crawl_id in sorted({row.crawl_id for row in removed}):
        own = [row for row in removed if row.crawl_id == crawl_id]
        await release_emptied(connection, crawl_id, own)


async def drop_old_versions(connection: AsyncConnection, crawl_id: str, before: int) -> RemovedBatch:
    """Remove a batch of versions that were stored before, with their bodies."""
    removed = await page_versions.drop_old(connection, crawl_id, before)
    return RemovedBatch(len(removed), await release_emptied(connection, crawl_id, removed))


async def _forget_visits(
    connection: AsyncConnection, crawl_id: str, hashes: Collection[str]
) -> Sequence[Any]:
    """Forget the visits and versions of pages that are removed; returns what the versions named."""
    await fresh_pages.forget(connection, crawl_id, hashes)
    return await page_versions.forget(connection, crawl_id, hashes)


async def _delete(
    connection: AsyncConnection, crawl_id: str, hashes: Collection[str], moments: Collection[int] = ()
) -> Sequence[Any]:
    """Only what was really there counts, because another process may remove the same pages."""
    columns = (_pages.crawl_id, _pages.url_hash, _pages.host, _pages.content_length, _pages.crawled_at)
    gone = delete(crawled_pages).where(_pages.crawl_id == crawl_id, _pages.url_hash.in_(hashes))
    if moments:
        gone = gone.where(_pages.crawled_at.in_(moments))
    return (await connection.execute(gone.returning(*columns, _pages.blob, _pages.screenshot))).all()


# Counts.

_UNCOUNT: Final = bulk(
    """
UPDATE hosts SET pages = hosts.pages - given.pages, bytes = hosts.bytes - given.bytes
FROM {given} WHERE hosts.host = given.host""",
    rows={"host": "text", "pages": "bigint", "bytes": "bigint"},
)


async def uncount(connection: AsyncConnection, removed: Sequence[Any]) -> None:
    """Take rows that were removed off the counts of their hosts and of their crawl, which are locked."""
    await _uncount_hosts(connection, removed)
    if removed:
        pages, size = len(removed), sum(row.content_length for row in removed)
        change = update(crawls).where(_crawls.id == removed[0].crawl_id)
        await connection.execute(change.values(pages=_crawls.pages - pages, bytes=_crawls.bytes - size))


async def _uncount_hosts(connection: AsyncConnection, removed: Sequence[Any]) -> None:
    numbers, sizes = Counter[str](), Counter[str]()
    for row in removed:
        numbers[row.host] += 1
        sizes[row.host] += row.content_length
    await _UNCOUNT(connection, None, [(host, numbers[host], sizes[host]) for host in sorted(numbers)])


async def _forget_urls(
    connection: AsyncConnection, crawl_id: str, hashes: Collection[str], now: int | None
) -> None:
    chosen = and_(_urls.crawl_id == crawl_id, _urls.url_hash.in_(hashes), _urls.state.in_(_ENDED))
    gone = await connection.execute(delete(frontier).where(chosen).returning(_urls.host, _urls.state))
    await forget_counted(connection, crawl_id, gone.all(), now)


async def forget_counted(
    connection: AsyncConnection, crawl_id: str, gone: Sequence[Any], now: int | None
) -> None:
    """Take URLs that were removed, given as host and state, off the counts of their crawl, which is locked.
    If the crawl goes on one day, they may be new again."""
    if not gone:
        return
    tally = CountChange()
    for host, state in gone:
        tally.move(crawl_id, host, before=state)
    await tally.write(connection, now)
    grown = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(grown.values(revision=_crawls.revision + 1))


# The search index.


async def _drop_words(
    connection: AsyncConnection, tenant: str, names: Mapping[str, IndexName], others: Sequence[str]
) -> None:
    found = search_pages.c
    query = select(found.name, found.seen_at).where(found.name.in_(names))
    rows = await connection.execute(query)
    own = {row.name for row in rows if row.seen_at == names[row.name].page.crawled_at}
    hashes = {name: names[name].page.url_hash for name in own}
    theirs = await _stored_elsewhere(connection, others, set(hashes.values()))
    moments = {name: theirs[hashes[name]] for name in own if hashes[name] in theirs}
    await search_rows.set_seen(connection, tenant, moments)
    if gone := own - moments.keys():
        await search_rows.drop(connection, tenant, found.name.in_(gone))


async def _stored_elsewhere(
    connection: AsyncConnection, others: Sequence[str], hashes: set[str]
) -> dict[str, int]:
    """When one of the other crawls has stored these pages last, by their hashes."""
    if not others or not hashes:
        return {}
    query = select(_pages.url_hash, func.max(_pages.crawled_at)).group_by(_pages.url_hash)
    query = query.where(_pages.crawl_id.in_(others), _pages.url_hash.in_(hashes))
    had_content = or_(_pages.blob.is_not(None), _pages.content_hash != "")
    query = query.where(_pages.outcome == USUAL_OUTCOME, had_content)
    return {url_hash: int(at) for url_hash, at in await connection.execute(query)}


async def _keep_out(connection: AsyncConnection, crawl: OwnedCrawl, names: Iterable[IndexName]) -> None:
    """Pages that are on their way to the index do not arrive. The tenant's index is locked."""
    blobs = {one.page.blob for one in names if one.page.blob is not None}
    waiting = select(unindexed.c.blob).where(unindexed.c.crawl_id == crawl.id, unindexed.c.blob.in_(blobs))
    queued = set((await connection.scalars(waiting)).all()) if blobs else set()
    for one in names:
        if one.page.blob in queued:
            extent = Extent("page", one.form)
            await search_drops.add(connection, crawl.tenant_id, extent, now=one.page.crawled_at)


# Bodies.


async def release_emptied(connection: AsyncConnection, crawl_id: str, pages: Sequence[Any]) -> Sequence[str]:
    """Give up the pictures of these pages, and the blobs in which the crawl has no page any more; returns
    those that nobody needs. The pages of a crawl in one blob were stored at one moment."""
    pictures = {page.screenshot for page in pages if page.screenshot is not None}
    blobs = {page.blob for page in pages if page.blob is not None}
    moments = {page.crawled_at for page in pages if page.blob is not None}
    if not blobs:
        return ()
    left = select(_pages.blob).where(_pages.crawl_id == crawl_id, _pages.crawled_at.in_(moments))
    kept = set((await connection.scalars(left.where(_pages.blob.in_(blobs)))).all())
    kept |= await page_versions.named(connection, crawl_id, blobs)
    emptied = sorted(blobs - kept)
    orphans = await crawl_blobs.give_up(connection, crawl_id, sorted({*emptied, *pictures}))
    # A batch that is being indexed at this moment is finished by whoever does that.
    mine = select(unindexed.c.blob).where(unindexed.c.crawl_id == crawl_id, unindexed.c.blob.in_(emptied))
    free = mine.with_for_update(skip_locked=True)
    await connection.execute(
        delete(unindexed).where(unindexed.c.crawl_id == crawl_id, unindexed.c.blob.in_(free))
    )
    return orphans
