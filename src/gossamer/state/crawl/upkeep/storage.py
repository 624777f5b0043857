"""How much each tenant stores, by kind: pages or files, and bytes."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Select, func, select

from gossamer.state.crawl.crawl_tables import archives, crawled_pages, crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import batch_results, batches, cached_pages, search_pages, tenants


class StorageKind(StrEnum):
    """What takes up space."""

    CRAWLED = "crawled"  # the content of crawled pages, compressed
    CACHED = "cached"  # rendered pages in the cold tier, compressed
    BATCHES = "batches"  # results, not compressed
    ARCHIVES = "archives"
    SEARCH = "search"  # the texts in the index, in characters


class StorageUse(Struct, frozen=True, rename="camel"):
    """What a tenant stores of one kind."""

    tenant: str
    email: str
    kind: StorageKind
    items: int
    bytes: int


def _crawled() -> Select[Any]:
    kept, of = crawled_pages.c, crawls.c
    query = select(of.tenant_id, func.count(), func.sum(kept.blob_size)).where(kept.blob.is_not(None))
    return query.join_from(crawled_pages, crawls, of.id == kept.crawl_id).group_by(of.tenant_id)


def _cached() -> Select[Any]:
    kept = cached_pages.c
    query = select(kept.tenant_id, func.count(), func.sum(kept.stored_size))
    return query.where(kept.blob.is_not(None)).group_by(kept.tenant_id)


def _batches() -> Select[Any]:
    kept, of = batch_results.c, batches.c
    query = select(of.tenant_id, func.count(), func.sum(kept.size))
    return query.join_from(batch_results, batches, of.job_id == kept.job_id).group_by(of.tenant_id)


def _archives() -> Select[Any]:
    kept = archives.c
    return select(kept.tenant_id, func.count(), func.sum(kept.bytes)).group_by(kept.tenant_id)


def _search() -> Select[Any]:
    kept = search_pages.c
    size = func.length(kept.text) + func.length(kept.title) + func.length(kept.description)
    return select(kept.tenant_id, func.count(), func.sum(size)).group_by(kept.tenant_id)


_QUERIES: Final[dict[StorageKind, Callable[[], Select[Any]]]] = {
    StorageKind.CRAWLED: _crawled,
    StorageKind.CACHED: _cached,
    StorageKind.BATCHES: _batches,
    StorageKind.ARCHIVES: _archives,
    StorageKind.SEARCH: _search,
}


async def measure(connection: AsyncConnection) -> list[StorageUse]:
    """The most first. It goes through every row."""
    emails = {row.id: row.email for row in await connection.execute(select(tenants.c.id, tenants.c.email))}
    found = [
        StorageUse(tenant, emails.get(tenant, ""), kind, number, int(size or 0))
        for kind, query in _QUERIES.items()
        for tenant, number, size in await connection.execute(query())
    ]
    return sorted(found, key=lambda use: (-use.bytes, use.tenant, use.kind))
