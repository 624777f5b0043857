"""The stored pages of all crawls of a tenant: the newest crawl first, and each in the order of storing.

The crawls are read one after the other by the indexes that each of them has. So the tables need no further
index, and an answer costs as much as its rows. If a filter finds little, crawls are read by the dozen.
A page that is stored when a reader begins is shown once; crawls that begin later are not shown.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Select, exists, false, select, union_all

from gossamer.state.crawl.crawl_tables import crawl_hosts, crawled_pages, crawls
from gossamer.state.crawl.crawled_pages import COLUMNS, PageFilter, Position, StoredPage, is_after
from gossamer.state.db.connection import AsyncConnection

MAX_CRAWLS_AT_ONCE: Final = 32
MAX_CRAWLS_OF_HISTORY: Final = 500  # the newest; each is one look into the index

_pages: Final = crawled_pages.c
_crawls: Final = crawls.c


async def listing(
    connection: AsyncConnection, which: PageFilter, *, after: Position | None = None, limit: int
) -> list[StoredPage]:
    """Pages of `which.tenant`; `after` is the position of the last one already seen."""
    found: list[StoredPage] = []
    most = 1
    left = _crawls_of(which)
    if after is not None:
        left = left.where(_crawls.id <= after.crawl_id)
    while len(found) < limit:
        ids: Sequence[str] = (await connection.scalars(left.limit(most))).all()
        if not ids:
            break
        found += await _of_crawls(connection, ids, which, after, limit - len(found))
        left = _crawls_of(which).where(_crawls.id < ids[-1])
        most = min(2 * most, MAX_CRAWLS_AT_ONCE)
    return found


async def history(connection: AsyncConnection, tenant: str, url_hash: str, *, limit: int) -> list[StoredPage]:
    """The pages that crawls of the tenant have stored for one URL, the newest first."""
    ids = (await connection.scalars(_crawls_of(PageFilter(tenant=tenant)).limit(MAX_CRAWLS_OF_HISTORY))).all()
    query = select(*COLUMNS).where(_pages.crawl_id.in_(ids), _pages.url_hash == url_hash)
    ordered = query.order_by(_pages.crawled_at.desc()).limit(limit)
    return [StoredPage(**row._mapping) for row in await connection.execute(ordered)]


def _crawls_of(which: PageFilter) -> Select[Any]:
    """The crawls of the tenant that may have such pages, newest first."""
    query = select(_crawls.id).where(_crawls.tenant_id == which.tenant, _crawls.deleting == false())
    query = query.where(_crawls.pages > 0).order_by(_crawls.id.desc())
    if which.hosts is not None:
        here = crawl_hosts.c
        query = query.where(exists().where(here.crawl_id == _crawls.id, here.host.in_(which.hosts)))
    return query


async def _of_crawls(
    connection: AsyncConnection, ids: Sequence[str], which: PageFilter, after: Position | None, limit: int
) -> list[StoredPage]:
    parts = []
    for crawl_id in ids:
        part = select(*COLUMNS).where(*replace(which, crawl_id=crawl_id).conditions())
        if after is not None and crawl_id == after.crawl_id:
            part = part.where(is_after(after))
        ordered = part.order_by(_pages.crawled_at, _pages.url_hash).limit(limit)
        parts.append(ordered.subquery().select())
    rows = await connection.execute(union_all(*parts))
    found = [StoredPage(**row._mapping) for row in rows]
    place = {crawl_id: number for number, crawl_id in enumerate(ids)}
    found.sort(key=lambda page: (place[page.crawl_id], page.crawled_at, page.url_hash))
    return found[:limit]
