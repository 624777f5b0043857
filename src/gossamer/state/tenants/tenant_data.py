"""Everything that a tenant has, and how it is removed, a batch at a time.

The log of activity stays, and so does the ledger, whose rows name a wallet and no tenant.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Table, delete, select, tuple_, update

from gossamer.state.crawl.crawl_tables import archives, crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import (
    api_keys,
    audits,
    batches,
    cached_pages,
    job_events,
    jobs,
    past_usage,
    search_drops,
    search_lexicon,
    search_pages,
    search_tenants,
    sessions,
    sign_in_links,
    tenant_days,
    tenants,
    usage_days,
    users,
)
from gossamer.state.memory.memory_tables import memory_stores
from gossamer.state.monitors.monitor_tables import (
    monitor_changes,
    monitor_checks,
    monitor_snapshots,
    monitors,
)
from gossamer.state.schedules.schedule_tables import schedule_runs, schedules
from gossamer.state.sites.site_tables import (
    site_asked_pages,
    site_bot_hours,
    site_comparisons,
    site_hooks,
    site_warm_days,
    sites,
)
from gossamer.state.tenants.tenants import Key, list_all_keys
from gossamer.state.webhooks.webhook_tables import (
    webhook_deliveries,
    webhook_endpoints,
    webhook_subscriptions,
)

ROWS_AT_ONCE: Final = 500

PEOPLE: Final = (sessions, sign_in_links, users, api_keys)  # in an order that foreign keys allow
# Nothing else hangs on them.
RECORDS: Final = (
    audits,
    past_usage,
    tenant_days,
    usage_days,
    webhook_subscriptions,
    monitor_changes,
    monitor_checks,
    monitors,
    webhook_endpoints,
    schedule_runs,
    schedules,
    site_asked_pages,
    site_bot_hours,
    site_comparisons,
    site_hooks,
    site_warm_days,
    sites,
)
_INDEX: Final = (search_drops, search_lexicon, search_tenants)
_EVERYTHING: Final = (
    jobs,
    crawls,
    archives,
    batches,
    cached_pages,
    search_pages,
    memory_stores,
    monitor_snapshots,
    *RECORDS,
    *PEOPLE,
)


async def lock(connection: AsyncConnection, tenant: str) -> bool:
    """False: there is none. While it is locked, nothing that names it can be added."""
    row = select(tenants.c.id).where(tenants.c.id == tenant).with_for_update()
    return await connection.scalar(row) is not None


async def close(connection: AsyncConnection, tenant: str, *, now: int | None = None) -> list[Key]:
    """Let nobody in any more; returns the keys that were refused just now. The address is free for a new
    tenant."""
    keys = await list_all_keys(connection, tenant)
    await connection.execute(delete(schedules).where(schedules.c.tenant_id == tenant))  # nothing starts
    time = await connection.scalar(select(clock(now))) or 0
    for table in PEOPLE:
        await connection.execute(delete(table).where(table.c.tenant_id == tenant))
    renamed = update(tenants).where(tenants.c.id == tenant)
    await connection.execute(renamed.values(email=f"deleted:{tenant.lower()}", name=""))
    return [replace(key, disabled_at=time, disabled_reason="The tenant was deleted.") for key in keys]


async def drop_jobs(connection: AsyncConnection, tenant: str) -> int:
    """Remove jobs and their events. Whoever works on one has lost its lease, and can write nothing."""
    some = select(jobs.c.job_id).where(jobs.c.tenant_id == tenant).order_by(jobs.c.job_id)
    ids = (await connection.scalars(some.limit(ROWS_AT_ONCE).with_for_update())).all()
    await drop_job(connection, ids)
    return len(ids)


async def drop_job(connection: AsyncConnection, ids: Sequence[str]) -> None:
    """The jobs first: an event is written under the lease of its job."""
    if ids:
        await connection.execute(delete(jobs).where(jobs.c.job_id.in_(ids)))
        await connection.execute(delete(job_events).where(job_events.c.job_id.in_(ids)))


async def drop_rows(connection: AsyncConnection, table: Table, tenant: str) -> int:
    key: Any = tuple_(*table.primary_key.columns)
    some = select(*table.primary_key.columns).where(table.c.tenant_id == tenant).limit(ROWS_AT_ONCE)
    return (await connection.execute(delete(table).where(key.in_(some)))).rowcount


async def drop_deliveries(connection: AsyncConnection, tenant: str) -> int:
    """Remove what its webhooks told, or were about to."""
    rows = webhook_deliveries.c
    some = select(rows.id).where(rows.owner == tenant).limit(ROWS_AT_ONCE)
    return (await connection.execute(delete(webhook_deliveries).where(rows.id.in_(some)))).rowcount


async def drop_tombstones(connection: AsyncConnection, tenant: str) -> int:
    """Remove cached pages that were deleted in every tier. Nobody is left who could put them again."""
    pages = cached_pages.c
    some = select(pages.name).where(pages.tenant_id == tenant, pages.deleted_at.is_not(None))
    some = some.where(pages.hot_behind.is_(False)).limit(ROWS_AT_ONCE)
    return (await connection.execute(delete(cached_pages).where(pages.name.in_(some)))).rowcount


async def list_batches(connection: AsyncConnection, tenant: str) -> Sequence[str]:
    query = select(batches.c.job_id).where(batches.c.tenant_id == tenant).limit(ROWS_AT_ONCE)
    return (await connection.scalars(query)).all()


async def what_is_left(connection: AsyncConnection, tenant: str) -> str:
    """The name of a table that still has something of the tenant; empty if none has."""
    for table in _EVERYTHING:
        row = select(table.c.tenant_id).where(table.c.tenant_id == tenant).limit(1)
        if await connection.scalar(row) is not None:
            return table.name
    return ""


async def drop_tenant(connection: AsyncConnection, tenant: str) -> None:
    """The last step: nothing else of the tenant is left."""
    for table in _INDEX:
        await connection.execute(delete(table).where(table.c.tenant_id == tenant))
    await connection.execute(delete(tenants).where(tenants.c.id == tenant))
