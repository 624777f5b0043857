"""Visits of robots, as counts: by site, hour, robot, outcome and status; and the pages they ask for most."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy import delete, func, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.sites.site_tables import site_asked_pages, site_bot_hours, site_warm_days, sites
from gossamer.web.sites.bot_visits import BotRow
from gossamer.web.sites.site_words import VisitOutcome
from gossamer.web.url.url import digest

MAX_ASKED_PAGES: Final = 2_000  # of one site
FORGET_BATCH: Final = 5_000
HOUR_MS: Final = 3_600_000

_hours: Final = site_bot_hours.c
_pages: Final = site_asked_pages.c
_days: Final = site_warm_days.c


class VisitScope(NamedTuple):
    """Each scope has its own counters."""

    site: str
    hour: int
    bot: str
    outcome: str
    status: int
    tenant: str


class AskedScope(NamedTuple):
    site: str
    url: str
    tenant: str


class AskedCount(NamedTuple):
    visits: int
    misses: int
    last_at: int


class AskedRow(NamedTuple):
    url: str
    visits: int
    misses: int
    last_at: int


async def add_visits(connection: AsyncConnection, counts: Mapping[VisitScope, Sequence[int]]) -> None:
    """Add visits and milliseconds. In order, so that two transactions cannot deadlock."""
    names = await _known(connection, {scope.site for scope in counts})
    rows = [
        {
            "site_id": scope.site,
            "hour": scope.hour,
            "bot": scope.bot,
            "outcome": scope.outcome,
            "status": scope.status,
            "tenant_id": scope.tenant,
            "visits": counts[scope][0],
            "milliseconds": counts[scope][1],
        }
        for scope in sorted(counts)
        if scope.site in names
    ]
    if rows:
        new = insert_into(connection, site_bot_hours)
        added = new.on_conflict_do_update(
            index_elements=["site_id", "hour", "bot", "outcome", "status"],
            set_={
                "visits": _hours.visits + new.excluded.visits,
                "milliseconds": _hours.milliseconds + new.excluded.milliseconds,
            },
        )
        await connection.execute(added, rows)


async def add_asked(connection: AsyncConnection, counts: Mapping[AskedScope, AskedCount]) -> None:
    """Add visits of pages, and forget the pages of these sites that are asked for least."""
    names = await _known(connection, {scope.site for scope in counts})
    rows = [
        {
            "site_id": scope.site,
            "url_hash": digest(scope.url),
            "url": scope.url,
            "tenant_id": scope.tenant,
            "visits": counts[scope].visits,
            "misses": counts[scope].misses,
            "last_at": counts[scope].last_at,
        }
        for scope in sorted(counts)
        if scope.site in names
    ]
    if not rows:
        return
    rows.sort(key=lambda row: (row["site_id"], row["url_hash"]))
    new = insert_into(connection, site_asked_pages)
    added = new.on_conflict_do_update(
        index_elements=["site_id", "url_hash"],
        set_={
            "visits": _pages.visits + new.excluded.visits,
            "misses": _pages.misses + new.excluded.misses,
            "last_at": new.excluded.last_at,
        },
    )
    await connection.execute(added, rows)
    for site in sorted(names):
        await _trim(connection, site)


async def _trim(connection: AsyncConnection, site: str) -> None:
    """The newest of those that were asked for equally often stay."""
    order = (_pages.visits.desc(), _pages.last_at.desc(), _pages.url_hash)
    extra = select(_pages.url_hash).where(_pages.site_id == site).order_by(*order).offset(MAX_ASKED_PAGES)
    await connection.execute(
        delete(site_asked_pages).where(_pages.site_id == site, _pages.url_hash.in_(extra.limit(FORGET_BATCH)))
    )


async def _known(connection: AsyncConnection, names: set[str]) -> set[str]:
    """Those of these sites that are still registered."""
    return set(await connection.scalars(select(sites.c.id).where(sites.c.id.in_(names))))


async def list_hours(connection: AsyncConnection, site: str, first: int, last: int) -> list[BotRow]:
    """The counts of these hours, both included, the oldest first."""
    columns = (_hours.hour, _hours.bot, _hours.outcome, _hours.status, _hours.visits, _hours.milliseconds)
    query = select(*columns).where(_hours.site_id == site, _hours.hour.between(first, last))
    found = await connection.execute(query.order_by(*columns[:4]))
    return [BotRow(row[0], row[1], VisitOutcome(row[2]), row[3], row[4], row[5]) for row in found]


async def most_missed(connection: AsyncConnection, site: str, limit: int) -> list[AskedRow]:
    query = select(_pages.url, _pages.visits, _pages.misses, _pages.last_at).where(_pages.site_id == site)
    query = query.where(_pages.misses > 0).order_by(_pages.misses.desc(), _pages.url).limit(limit)
    return [AskedRow(*row) for row in await connection.execute(query)]


async def list_asked(connection: AsyncConnection, site: str) -> list[AskedRow]:
    """The pages that are remembered, those that robots ask for most first."""
    query = select(_pages.url, _pages.visits, _pages.misses, _pages.last_at).where(_pages.site_id == site)
    return [
        AskedRow(*row) for row in await connection.execute(query.order_by(_pages.visits.desc(), _pages.url))
    ]


async def most_asked(connection: AsyncConnection, site: str) -> dict[str, int]:
    """How often each page was asked for, of those that are remembered."""
    query = select(_pages.url, _pages.visits).where(_pages.site_id == site)
    return {row.url: row.visits for row in await connection.execute(query)}


async def spend(connection: AsyncConnection, site: str, tenant: str, day: int, wanted: int, most: int) -> int:
    """Take pages from the budget of a day; returns how many there were left of them."""
    row = select(_days.pages).where(_days.site_id == site, _days.day == day).with_for_update()
    used = await connection.scalar(row) or 0
    granted = max(0, min(wanted, most - used))
    if granted:
        values = {"site_id": site, "day": day, "tenant_id": tenant, "pages": granted}
        new = insert_into(connection, site_warm_days)
        kept = new.on_conflict_do_update(
            index_elements=["site_id", "day"], set_={"pages": _days.pages + new.excluded.pages}
        )
        await connection.execute(kept, [values])
        await connection.execute(delete(site_warm_days).where(_days.site_id == site, _days.day < day - 31))
    return granted


async def count_old(connection: AsyncConnection, before: int) -> int:
    query = select(func.count()).select_from(site_bot_hours).where(_hours.hour < before // HOUR_MS)
    return await connection.scalar(query) or 0


async def forget_old(connection: AsyncConnection, before: int) -> int:
    """Delete the counts of old hours, and pages that nobody asked for since, a site's hour at a time."""
    old = select(_hours.site_id, _hours.hour).where(_hours.hour < before // HOUR_MS).limit(1)
    row = (await connection.execute(old)).first()
    removed = 0
    if row is not None:
        mine = delete(site_bot_hours).where(_hours.site_id == row.site_id, _hours.hour <= row.hour)
        removed = (await connection.execute(mine)).rowcount
    pages = delete(site_asked_pages).where(_pages.last_at < before)
    return removed + (await connection.execute(pages)).rowcount
