"""The rows of usage: counters for each tenant, key and day. Functions work on an open connection."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta
from sqlalchemy import ColumnElement, case, func, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import api_keys, cached_pages, past_usage, usage_days

COUNTERS: Final = ("renders", "hot", "cold", "misses", "failures")
TOP: Final = 10
MAX_KEYS: Final = 100  # in the list by key

_days: Final = usage_days.c
_pages: Final = cached_pages.c
_past: Final = past_usage.c


class UsageScope(NamedTuple):
    """Each scope has its own counters."""

    tenant: str
    key: str
    day: int


class UsedUrl(msgspec.Struct, frozen=True, rename="camel"):
    """A page of the tenant's."""

    url: str
    renders: int
    accesses: Annotated[int, Meta(description="How often the cache answered with it.")]


class UsageTotals(NamedTuple):
    """Counters over a day, a month and all time."""

    renders_today: int
    renders_month: int
    renders: int
    hot: int
    cold: int
    misses: int
    failures: int

    @property
    def hits(self) -> int:
        return self.hot + self.cold

    @property
    def hit_rate(self) -> float:
        """The part of requests that the cache answered, from 0 to 1."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class KeyUsage(NamedTuple):
    """What was used with one key."""

    key_id: str
    prefix: str  # empty: it is not an API key, or not here any more
    label: str
    totals: UsageTotals


class UsageDay(NamedTuple):
    """Counters of one day, in the order of `COUNTERS`."""

    renders: int
    hot: int
    cold: int
    misses: int
    failures: int


async def add(connection: AsyncConnection, counts: Mapping[UsageScope, list[int]]) -> None:
    """Add counts. Rows are written in order, so that two transactions cannot deadlock."""
    new = insert_into(connection, usage_days)
    added = new.on_conflict_do_update(
        index_elements=["tenant_id", "key_id", "day"],
        set_={name: _days[name] + new.excluded[name] for name in COUNTERS},
    )
    await connection.execute(added, [_row(place, counts[place]) for place in sorted(counts)])


async def totals(
    connection: AsyncConnection, tenant: str, key: str | None, day: int, month: int
) -> UsageTotals:
    """`day` is today, `month` the day on which this month began."""
    asked = [_days.tenant_id == tenant] if key is None else [_days.tenant_id == tenant, _days.key_id == key]
    row = (await connection.execute(select(*_totals(day, month)).where(*asked))).one()
    return UsageTotals(*(int(value) for value in row))


async def by_key(connection: AsyncConnection, tenant: str, day: int, month: int) -> list[KeyUsage]:
    """The totals of each key, those that were used most first."""
    renders, hot = _total(_days.renders), _total(_days.hot)
    query = select(_days.key_id, *_totals(day, month)).where(_days.tenant_id == tenant)
    query = query.group_by(_days.key_id).order_by(renders.desc(), hot.desc(), _days.key_id).limit(MAX_KEYS)
    found = {row[0]: UsageTotals(*map(int, row[1:])) for row in await connection.execute(query)}
    named = select(api_keys.c.id, api_keys.c.prefix, api_keys.c.label).where(api_keys.c.id.in_(found))
    names = {row.id: (row.prefix, row.label) for row in await connection.execute(named)}
    return [KeyUsage(key, *names.get(key, ("", "")), totals) for key, totals in found.items()]


def _totals(day: int, month: int) -> list[ColumnElement[int]]:
    return [
        _total(case((_days.day == day, _days.renders), else_=0)),
        _total(case((_days.day >= month, _days.renders), else_=0)),
        *(_total(_days[name]) for name in COUNTERS),
    ]


async def of_day(connection: AsyncConnection, day: int, tenant: str | None = None) -> UsageDay:
    """What a tenant used on that day; None is all tenants together."""
    query = select(*(_total(_days[name]) for name in COUNTERS)).where(_days.day == day)
    if tenant is not None:
        query = query.where(_days.tenant_id == tenant)
    return UsageDay(*(int(value) for value in (await connection.execute(query)).one()))


async def by_tier(connection: AsyncConnection, day: int) -> list[tuple[str, str, int]]:
    """Tenants, tiers of their keys, and the number of renders for each on that day."""
    keys = api_keys.c
    query = select(_days.tenant_id, keys.tier, _total(_days.renders)).join(api_keys, keys.id == _days.key_id)
    query = query.where(_days.day == day, _days.renders > 0).group_by(_days.tenant_id, keys.tier)
    return [(tenant, tier, int(renders)) for tenant, tier, renders in await connection.execute(query)]


async def storage(connection: AsyncConnection, tenant: str) -> tuple[int, int]:
    """The number of pages that a tenant has in the cache, and their bytes of HTML before compression."""
    totals = select(func.count(), _total(_pages.size))
    row = (await connection.execute(totals.where(_pages.tenant_id == tenant, _live()))).one()
    return row[0], int(row[1])


async def top_urls(connection: AsyncConnection, tenant: str) -> list[UsedUrl]:
    """The URLs that were rendered most, all variants and spellings together, also of deleted pages."""
    here = select(_pages.url, _pages.render_count.label("renders"), _pages.access_count.label("accesses"))
    past = select(_past.url, _past.renders, _past.accesses).where(_past.tenant_id == tenant)
    used = here.where(_pages.tenant_id == tenant, _live()).union_all(past).subquery().c
    renders, accesses = _total(used.renders), _total(used.accesses)
    query = select(used.url, renders, accesses).group_by(used.url)
    query = query.order_by(renders.desc(), accesses.desc(), used.url).limit(TOP)
    return [UsedUrl(url, int(most), int(seen)) for url, most, seen in await connection.execute(query)]


def _live() -> ColumnElement[bool]:
    return _pages.deleted_at.is_(None)


def _total(value: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(value), 0)


def _row(place: UsageScope, counts: list[int]) -> dict[str, Any]:
    return {
        "tenant_id": place.tenant,
        "key_id": place.key,
        "day": place.day,
        **dict(zip(COUNTERS, counts, strict=True)),
    }
