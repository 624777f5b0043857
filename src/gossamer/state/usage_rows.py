"""The rows of usage: counters for each tenant, key and day. Every function works on an open connection."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.database import insert_into
from gossamer.state.tables import api_keys, cached_pages, usage_days

COUNTERS: Final = ("renders", "hot", "cold", "misses", "failures")
TOP: Final = 10

_days: Final = usage_days.c
_pages: Final = cached_pages.c


class Place(NamedTuple):
    """What is counted apart."""

    tenant: str
    key: str
    day: int


class TopUrl(NamedTuple):
    url: str
    renders: int
    accesses: int


class Sums(NamedTuple):
    """Counters over a day, a month and all time, as far as anybody asks for them."""

    renders_today: int
    renders_month: int
    renders: int
    hot: int
    cold: int
    misses: int
    failures: int


async def add(connection: AsyncConnection, counts: Mapping[Place, list[int]]) -> None:
    """In the order of their places, so that two who do this at once never wait for each other both ways."""
    new = insert_into(connection, usage_days)
    added = new.on_conflict_do_update(
        index_elements=["tenant_id", "key_id", "day"],
        set_={name: _days[name] + new.excluded[name] for name in COUNTERS},
    )
    await connection.execute(added, [_row(place, counts[place]) for place in sorted(counts)])


async def sums(connection: AsyncConnection, tenant: str, key: str | None, day: int, month: int) -> Sums:
    """`day` is today, `month` the day on which this month began."""
    asked = [_days.tenant_id == tenant] if key is None else [_days.tenant_id == tenant, _days.key_id == key]
    columns = [
        _total(case((_days.day == day, _days.renders), else_=0)),
        _total(case((_days.day >= month, _days.renders), else_=0)),
        *(_total(_days[name]) for name in COUNTERS),
    ]
    row = (await connection.execute(select(*columns).where(*asked))).one()
    return Sums(*(int(value) for value in row))


async def by_tier(connection: AsyncConnection, day: int) -> list[tuple[str, str, int]]:
    """Tenants, tiers of their keys, and how much was rendered for these on that day."""
    keys = api_keys.c
    query = select(_days.tenant_id, keys.tier, _total(_days.renders)).join(api_keys, keys.id == _days.key_id)
    query = query.where(_days.day == day, _days.renders > 0).group_by(_days.tenant_id, keys.tier)
    return [(tenant, tier, int(renders)) for tenant, tier, renders in await connection.execute(query)]


async def storage(connection: AsyncConnection, tenant: str) -> tuple[int, int]:
    """How many pages a tenant has in the cache, and their bytes of HTML before compression."""
    totals = select(func.count(), _total(_pages.size))
    row = (await connection.execute(totals.where(_pages.tenant_id == tenant, _live()))).one()
    return row[0], int(row[1])


async def top_urls(connection: AsyncConnection, tenant: str) -> list[TopUrl]:
    """The URLs that were rendered most, all variants together."""
    renders, accesses = _total(_pages.render_count), _total(_pages.access_count)
    query = select(_pages.url, renders, accesses).where(_pages.tenant_id == tenant, _live())
    query = query.group_by(_pages.url).order_by(renders.desc(), accesses.desc(), _pages.url).limit(TOP)
    return [TopUrl(url, int(most), int(seen)) for url, most, seen in await connection.execute(query)]


def _live() -> ColumnElement[bool]:
    return _pages.deleted_at.is_(None)


def _total(value: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(value), 0)


def _row(place: Place, counts: list[int]) -> dict[str, Any]:
    return {
        "tenant_id": place.tenant,
        "key_id": place.key,
        "day": place.day,
        **dict(zip(COUNTERS, counts, strict=True)),
    }
