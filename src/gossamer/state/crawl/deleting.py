# ruff: noqa: S608 - only constants of this module are put into these statements
"""Deleting a crawl: first it is marked, then everything that belongs to it is removed, a batch at a time.

Whoever writes for a crawl locks its row, and finds it marked (`crawl_counts.lock_all`). So after the mark
nothing is added, and what was removed stays removed. Its URLs go first: as long as one is there, a host that
is given back may change the counts. A batch never waits for a row that somebody else has locked, so nobody
waits for a deletion longer than one batch takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Table, delete, false, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl import crawls as crawl_rows
from gossamer.state.crawl.crawl_tables import (
    crawl_hosts,
    crawl_minutes,
    crawled_pages,
    crawls,
    frontier,
    unindexed,
)
from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME
from gossamer.state.db.bulk import bulk
from gossamer.state.db.tables import search_pages
from gossamer.state.search import search_rows

ROWS_AT_ONCE: Final = 1_000  # in one transaction
PAGES_AT_ONCE: Final = search_rows.MAX_DELETED_PAGES

_crawls: Final = crawls.c
_pages: Final = crawled_pages.c
_hosts: Final = crawl_hosts.c


@dataclass(frozen=True, slots=True)
class MarkedCrawl:
    """A crawl that is being deleted."""

    id: str
    tenant_id: str
    pages: int
    urls: int
    is_new: bool = False  # it was marked just now


@dataclass(frozen=True, slots=True)
class RemovedPage:
    """A page that is to be removed."""

    url_hash: str
    final_url: str
    crawled_at: int


async def mark(
    connection: AsyncConnection, crawl_id: str, tenant: str | None, *, now: int | None = None
) -> MarkedCrawl | None:
    """Mark a crawl of this tenant, or of any; from then on nobody finds it. None: there is none."""
    which = [_crawls.id == crawl_id, *([] if tenant is None else [_crawls.tenant_id == tenant])]
    marked = update(crawls).where(*which, _crawls.deleting == false())
    changed = await connection.execute(marked.values(deleting=True, is_default=False))
    is_new = changed.rowcount == 1
    if is_new:
        await crawl_rows.cancel(connection, crawl_id, now=now)
    return await _find(connection, which, is_new=is_new)


async def find(connection: AsyncConnection, crawl_id: str) -> MarkedCrawl | None:
    """A crawl that was marked; None if it is not there any more."""
    return await _find(connection, [_crawls.id == crawl_id])


async def list_marked(connection: AsyncConnection, limit: int) -> list[MarkedCrawl]:
    rows = await connection.execute(_marked().order_by(_crawls.id).limit(limit))
    return [_marked_crawl(row) for row in rows]


async def drop_row(connection: AsyncConnection, crawl_id: str) -> None:
    """The last step: nothing else of the crawl is left."""
    await connection.execute(delete(crawls).where(_crawls.id == crawl_id, _crawls.deleting != false()))


# Each of these removes one batch, and returns how many rows that were.


async def drop_urls(connection: AsyncConnection, crawl_id: str) -> int:
    return len(await _DROP_URLS(connection, None, crawl_id=crawl_id))


async def drop_unindexed(connection: AsyncConnection, crawl_id: str) -> int:
    return len(await _DROP_UNINDEXED(connection, None, crawl_id=crawl_id))


async def drop_hosts(connection: AsyncConnection, crawl_id: str) -> int:
    return len(await _DROP_HOSTS(connection, None, crawl_id=crawl_id))


async def drop_minutes(connection: AsyncConnection, crawl_id: str) -> int:
    return len(await _DROP_MINUTES(connection, None, crawl_id=crawl_id))


async def are_left(connection: AsyncConnection, table: Table, crawl_id: str) -> bool:
    """Whether the table has a row of the crawl, such as one that somebody had locked."""
    row = select(table.c.crawl_id).where(table.c.crawl_id == crawl_id).limit(1)
    return await connection.scalar(row) is not None


def _dropping(table: Table, key: str, most: int = ROWS_AT_ONCE) -> Any:
    return bulk(
        f"""
DELETE FROM {table.name} WHERE crawl_id = {{crawl_id}} AND {key} IN (
    SELECT {key} FROM {table.name} WHERE crawl_id = {{crawl_id}} LIMIT {most} {{for_update}} {{skip_locked}}
) RETURNING {key}""",
        values={"crawl_id": "text"},
    )


_DROP_URLS: Final = _dropping(frontier, "url_hash")
_DROP_UNINDEXED: Final = _dropping(unindexed, "blob")
_DROP_HOSTS: Final = _dropping(crawl_hosts, "host")
_DROP_MINUTES: Final = _dropping(crawl_minutes, "minute")


# Its pages, and what the search index has of them.


async def next_pages(connection: AsyncConnection, crawl_id: str) -> list[RemovedPage]:
    columns = [_pages[name] for name in RemovedPage.__slots__]
    query = select(*columns).where(_pages.crawl_id == crawl_id).order_by(_pages.crawled_at, _pages.url_hash)
    return [RemovedPage(*row) for row in await connection.execute(query.limit(PAGES_AT_ONCE))]


async def siblings(connection: AsyncConnection, crawl: MarkedCrawl) -> list[str]:
    """The other crawls of the tenant that have a host in common with it."""
    mine = select(_hosts.host).where(_hosts.crawl_id == crawl.id)
    others = (
        select(_hosts.crawl_id)
        .join(crawls, _crawls.id == _hosts.crawl_id)
        .where(_hosts.tenant_id == crawl.tenant_id, _hosts.host.in_(mine), _crawls.deleting == false())
    )
    return list((await connection.scalars(others.distinct())).all())


async def drop_pages(
    connection: AsyncConnection,
    crawl: MarkedCrawl,
    pages: Sequence[RemovedPage],
    names: dict[str, RemovedPage],
    others: Sequence[str],
) -> int:
    """Remove these pages. `names` are their names in the search index. It keeps a page that was read again
    since, and one that the `others` have stored too: from now on that one is theirs."""
    found = search_pages.c
    query = select(found.name, found.seen_at).where(found.name.in_(names))
    own = {row.name for row in await connection.execute(query) if row.seen_at == names[row.name].crawled_at}
    theirs = await _stored_elsewhere(connection, others, {names[name].url_hash for name in own})
    moments = {name: theirs[names[name].url_hash] for name in own if names[name].url_hash in theirs}
    await search_rows.set_seen(connection, crawl.tenant_id, moments)
    if gone := own - moments.keys():
        await search_rows.drop(connection, crawl.tenant_id, found.name.in_(gone))
    hashes = [page.url_hash for page in pages]
    removed = delete(crawled_pages).where(_pages.crawl_id == crawl.id, _pages.url_hash.in_(hashes))
    return (await connection.execute(removed)).rowcount


async def _stored_elsewhere(
    connection: AsyncConnection, others: Sequence[str], hashes: set[str]
) -> dict[str, int]:
    """When one of the other crawls has stored these pages last, by their hashes."""
    if not others or not hashes:
        return {}
    query = select(_pages.url_hash, func.max(_pages.crawled_at)).group_by(_pages.url_hash)
    query = query.where(_pages.crawl_id.in_(others), _pages.url_hash.in_(hashes))
    query = query.where(_pages.outcome == USUAL_OUTCOME, _pages.blob.is_not(None))
    return {url_hash: int(at) for url_hash, at in await connection.execute(query)}


async def _find(
    connection: AsyncConnection, which: Sequence[Any], *, is_new: bool = False
) -> MarkedCrawl | None:
    row = (await connection.execute(_marked().where(*which))).first()
    return None if row is None else _marked_crawl(row, is_new=is_new)


def _marked() -> Any:
    urls = _crawls.pending + _crawls.in_progress + _crawls.completed + _crawls.failed + _crawls.blocked
    columns = (_crawls.id, _crawls.tenant_id, _crawls.pages, urls.label("urls"))
    return select(*columns).where(_crawls.deleting != false())


def _marked_crawl(row: Any, *, is_new: bool = False) -> MarkedCrawl:
    return MarkedCrawl(row.id, row.tenant_id, row.pages, row.urls, is_new)
