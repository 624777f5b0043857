"""Tenants for a list, each with its counts. Only the tenants of a page are counted."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import api_keys, tenants, usage_days, users
from gossamer.state.jobs.deletions import DeletionKind, is_kept
from gossamer.state.tenants.tenants import PUBLIC, Tenant, Tier


class TenantCounts(Struct, frozen=True):
    """What a tenant has, and when it was last here."""

    keys: int  # that are accepted
    users: int  # who may sign in
    crawls: int
    renders_today: int
    last_used_at: int | None  # a key of it
    tiers: Mapping[str, int] = field(default_factory=dict)  # accepted keys of each, in the order of tiers


class CountedTenant(Struct, frozen=True):
    tenant: Tenant
    counts: TenantCounts


async def list_tenants(
    connection: AsyncConnection, *, prefix: str | None = None, before: str | None = None, limit: int = 50
) -> list[Tenant]:
    """The newest first, without the tenant of callers who have no account; `prefix` begins their email,
    `before` is the id of the last one already seen."""
    query = select(tenants).where(_is_listed()).order_by(tenants.c.id.desc()).limit(limit)
    if prefix is not None:
        query = query.where(tenants.c.email.startswith(prefix, autoescape=True))
    if before is not None:
        query = query.where(tenants.c.id < before)
    return [Tenant(*row) for row in await connection.execute(query)]


async def find_tenants(connection: AsyncConnection, ids: Collection[str]) -> list[Tenant]:
    """Those with one of these ids, without the tenant of callers who have no account."""
    query = select(tenants).where(tenants.c.id.in_(ids), _is_listed()).order_by(tenants.c.id.desc())
    return [Tenant(*row) for row in await connection.execute(query)]


async def count(
    connection: AsyncConnection, found: Sequence[Tenant], day: int, *, now: int | None = None
) -> list[CountedTenant]:
    """The same tenants with their counts; `day` is today."""
    ids = [tenant.id for tenant in found]
    lasting = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > clock(now))
    tiers = await _tiers(connection, ids, lasting)
    people = await _by_tenant(
        connection, _counting(users.c.tenant_id, ids).where(users.c.disabled_at.is_(None))
    )
    crawling = await _by_tenant(connection, _counting(crawls.c.tenant_id, ids))
    renders = await _by_tenant(
        connection,
        _grouped(usage_days.c.tenant_id, func.sum(usage_days.c.renders), ids).where(usage_days.c.day == day),
    )
    used = await _by_tenant(
        connection, _grouped(api_keys.c.tenant_id, func.max(api_keys.c.last_used_at), ids)
    )
    return [
        CountedTenant(
            tenant,
            TenantCounts(
                keys=sum(tiers.get(tenant.id, {}).values()),
                users=people.get(tenant.id, 0),
                crawls=crawling.get(tenant.id, 0),
                renders_today=int(renders.get(tenant.id, 0)),
                last_used_at=used.get(tenant.id),
                tiers=tiers.get(tenant.id, {}),
            ),
        )
        for tenant in found
    ]


async def _tiers(
    connection: AsyncConnection, ids: Sequence[str], lasting: ColumnElement[bool]
) -> dict[str, dict[str, int]]:
    """How many accepted keys of each tier a tenant has."""
    keys = api_keys.c
    query = select(keys.tenant_id, keys.tier, func.count()).group_by(keys.tenant_id, keys.tier)
    query = query.where(keys.tenant_id.in_(ids), keys.disabled_at.is_(None), lasting)
    found: dict[str, dict[str, int]] = {}
    for tenant, tier, number in await connection.execute(query):
        found.setdefault(tenant, {})[tier] = number
    order = [tier.value for tier in Tier]
    return {
        tenant: dict(sorted(tiers.items(), key=lambda one: order.index(one[0])))
        for tenant, tiers in found.items()
    }


def _is_listed() -> ColumnElement[bool]:
    return and_(tenants.c.id != PUBLIC, is_kept(DeletionKind.TENANT, tenants.c.id))


def _counting(column: ColumnElement[str], ids: Sequence[str]) -> Select[Any]:
    return _grouped(column, func.count(), ids)


def _grouped(column: ColumnElement[str], value: ColumnElement[Any], ids: Sequence[str]) -> Select[Any]:
    return select(column, value).where(column.in_(ids)).group_by(column)


async def _by_tenant(connection: AsyncConnection, query: Select[Any]) -> dict[str, Any]:
    return {row[0]: row[1] for row in await connection.execute(query)}
