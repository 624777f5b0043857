"""A crawl as it is at this moment: how far it is, how fast, where, and what it stored last.

Everything is read by index, and costs the same for a crawl of any size.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import literal_column, select

from gossamer.state.crawl import crawls, trap_rows
from gossamer.state.crawl.crawl_counts import MINUTE_MS
from gossamer.state.crawl.crawl_tables import crawl_hosts, crawl_minutes, crawled_pages
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.trap_rows import StoredTrap
from gossamer.state.crawl.waiting import Waiting
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock

MAX_HOSTS: Final = 10
MAX_PAGES: Final = 10
HOSTS_READ: Final = 100  # of those that were asked last, and of all, by name
RATE_SECONDS: Final = 60.0

_hosts: Final = crawl_hosts.c
_pages: Final = crawled_pages.c
_minutes: Final = crawl_minutes.c


class BusyHost(Struct, frozen=True):
    """A host of a crawl, and how much of it is done."""

    host: str
    pending: int
    in_progress: int
    done: int  # whatever came of it


class NewestPage(Struct, frozen=True):
    """One of the pages that were stored last."""

    url_hash: str
    url: str
    status_code: int | None
    outcome: str
    title: str
    crawled_at: int


class LiveCrawl(Struct, frozen=True):
    crawl: Crawl
    waiting: Waiting | None
    rate: float  # pages a second, over the last minute
    hosts: tuple[BusyHost, ...]  # the busiest first
    pages: tuple[NewestPage, ...]  # the newest first
    traps: Sequence[StoredTrap] = ()


async def look(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> LiveCrawl | None:
    """None: there is no such crawl."""
    crawl = await crawls.get(connection, crawl_id)
    if crawl is None:
        return None
    return LiveCrawl(
        crawl,
        await crawls.find_waiting(connection, crawl, now=now),
        await _rate(connection, crawl, now),
        await _busiest(connection, crawl_id),
        await _newest(connection, crawl_id),
        await trap_rows.listing(connection, crawl_id),
    )


async def _rate(connection: AsyncConnection, crawl: Crawl, now: int | None) -> float:
    """Counted by the minute: of the minute before, the part is taken that the last sixty seconds have."""
    moment = int(await connection.scalar(select(clock(now))) or 0)
    minute, passed = divmod(moment, MINUTE_MS)
    query = select(_minutes.minute, _minutes.fetched)
    query = query.where(_minutes.crawl_id == crawl.id, _minutes.minute >= minute - 1)
    fetched = {int(row.minute): int(row.fetched) for row in await connection.execute(query)}
    before = fetched.get(minute - 1, 0) * (1 - passed / MINUTE_MS)
    age = (moment - (crawl.started_at or moment)) / 1000
    return round((before + fetched.get(minute, 0)) / min(RATE_SECONDS, max(1.0, age)), 2)


async def _busiest(connection: AsyncConnection, crawl_id: str) -> tuple[BusyHost, ...]:
    """Of a crawl with very many hosts, those that were asked last are looked at."""
    done = (_hosts.completed + _hosts.failed + _hosts.blocked).label("done")
    query = select(_hosts.host, _hosts.pending, _hosts.in_progress, done).where(_hosts.crawl_id == crawl_id)
    # A constant, as in the condition of the index.
    recent = (
        query.where(_hosts.pending > literal_column("0")).order_by(_hosts.taken_at.desc()).limit(HOSTS_READ)
    )
    named = query.order_by(_hosts.host).limit(HOSTS_READ)
    rows: list[Any] = [*await connection.execute(recent), *await connection.execute(named)]
    found = {row.host: BusyHost(row.host, row.pending, row.in_progress, row.done) for row in rows}
    ordered = sorted(found.values(), key=lambda one: (-one.in_progress, -one.pending, -one.done, one.host))
    return tuple(ordered[:MAX_HOSTS])


async def _newest(connection: AsyncConnection, crawl_id: str) -> tuple[NewestPage, ...]:
    columns = [_pages[name] for name in NewestPage.__struct_fields__]
    query = select(*columns).where(_pages.crawl_id == crawl_id)
    ordered = query.order_by(_pages.crawled_at.desc(), _pages.url_hash.desc()).limit(MAX_PAGES)
    return tuple(NewestPage(*row) for row in await connection.execute(ordered))
