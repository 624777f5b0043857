"""What a tenant has of the things that quotas bound, and the crawls that they hold."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, func, select

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import tenant_days, tenants

_crawls: Final = crawls.c


class BoundCrawl(NamedTuple):
    """A crawl that is running, or that a quota has paused."""

    id: str
    tenant_id: str
    quota_tier: str
    held_by: str | None


async def lock_tenant(connection: AsyncConnection, tenant: str) -> None:
    """Let one transaction at a time count what the tenant has and add to it. Rows that refer to the tenant
    can be written meanwhile."""
    await connection.execute(
        select(tenants.c.id).where(tenants.c.id == tenant).with_for_update(key_share=True)
    )


async def count_crawls(connection: AsyncConnection, tenant: str) -> int:
    """Crawls that run or are paused."""
    is_open = _crawls.state.in_(("running", "paused"))
    query = select(func.count()).where(_crawls.tenant_id == tenant, is_open)
    return await connection.scalar(query) or 0


async def count_pages(connection: AsyncConnection, tenant: str, day: int) -> int:
    """Pages that were stored on that day, since 1970."""
    day_of_tenant = (tenant_days.c.tenant_id == tenant, tenant_days.c.day == day)
    return await connection.scalar(select(tenant_days.c.pages).where(*day_of_tenant)) or 0


async def sum_bytes(connection: AsyncConnection, tenant: str) -> int:
    """Bytes of crawled pages that are kept."""
    query = select(func.coalesce(func.sum(_crawls.bytes), 0)).where(_crawls.tenant_id == tenant)
    return int(await connection.scalar(query) or 0)


async def list_bound(connection: AsyncConnection) -> Sequence[BoundCrawl]:
    """The crawls that quotas bind and that run, or would if they had not paused them."""
    running, held = _crawls.state == "running", _crawls.held_by.is_not(None)
    return [*await _list_bound(connection, running), *await _list_bound(connection, held)]


async def count_held(connection: AsyncConnection) -> dict[str, int]:
    """How many crawls each quota has paused."""
    held = select(_crawls.held_by, func.count()).where(_crawls.held_by.is_not(None))
    rows = await connection.execute(held.group_by(_crawls.held_by))
    return {str(row[0]): int(row[1]) for row in rows}


async def _list_bound(connection: AsyncConnection, which: ColumnElement[bool]) -> list[BoundCrawl]:
    columns = [_crawls[name] for name in BoundCrawl._fields]
    rows = await connection.execute(select(*columns).where(which, _crawls.quota_tier.is_not(None)))
    return [BoundCrawl(*row) for row in rows]
