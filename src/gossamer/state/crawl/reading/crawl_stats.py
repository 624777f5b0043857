"""Statistics of crawls, read from stored counts, without going through pages or URLs.

Only hosts are counted row by row; if there are many, the number is cached for a minute.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct, field
from sqlalchemy import ColumnElement, Select, Subquery, Table, case, false, func, select, union_all

from gossamer.state.crawl.crawl_counts import MINUTE_COUNTS, MINUTE_MS
from gossamer.state.crawl.crawl_tables import crawl_days, crawl_hosts, crawl_minutes, crawls, hosts
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.web.crawl.progress import CrawlCounts
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.outcome.outcome_counts import OutcomeCounts

MANY_HOSTS: Final = 10_000  # from here on the number is cached
CACHED_SECONDS: Final = 60.0
DAY_MINUTES: Final = 1_440

_COUNTED: Final = ("pending", "in_progress", "completed", "failed", "blocked", "pages", "bytes")


class TimeBucket(Struct, frozen=True, kw_only=True):
    """The events of one step of a time series, which begins at `at` (milliseconds)."""

    at: int
    fetched: int = 0
    failed: int = 0
    blocked: int = 0
    retried: int = 0
    added: int = 0
    bytes: int = 0
    duration_ms: int = 0
    status_2xx: int = 0
    status_3xx: int = 0
    status_4xx: int = 0
    status_5xx: int = 0
    outcomes: OutcomeCounts = field(default_factory=OutcomeCounts)


class Stats(Struct, frozen=True, kw_only=True):
    """The statistics of all crawls, or of some of them."""

    counts: CrawlCounts  # URLs that a crawl left when it ended do not count as pending
    crawls: int
    running: int
    hosts: int
    workers: int  # that hold a host
    recent: TimeBucket  # the last whole minute and the current one


class CrawlStats:
    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        # The number of hosts, and until when it is cached, by crawl and tenant.
        self._cached: dict[tuple[str | None, str | None], tuple[float, int]] = {}

    async def stats(
        self, *, crawl_id: str | None = None, tenant: str | None = None, now: int | None = None
    ) -> Stats:
        """The statistics of one crawl, of a tenant's crawls, or of all."""
        columns = {name: crawls.c[name] for name in _COUNTED} | {"pending": _pending()}
        summed: list[ColumnElement[Any]] = [_total(column) for column in columns.values()]
        totals = _narrow(select(*summed, func.count(), _running()), crawl_id, tenant)
        leased = select(func.count(hosts.c.locked_by.distinct())).where(hosts.c.locked_until > clock(now))
        async with self._database.scan() as connection:
            found: Sequence[Any] = (await connection.execute(totals)).one()
            number = await self._count_hosts(connection, crawl_id, tenant)
            workers = int(await connection.scalar(leased.where(hosts.c.lease_token.is_not(None))) or 0)
            minute = int(await connection.scalar(select(clock(now) // MINUTE_MS)) or 0)
        recent = await self.timeseries(minute - 1, minute + 1, 2, crawl_id=crawl_id, tenant=tenant)
        return Stats(
            counts=CrawlCounts(
                **{name: int(value) for name, value in zip(_COUNTED, found[:-2], strict=True)}
            ),
            crawls=found[-2],
            running=found[-1],
            hosts=number,
            workers=workers,
            recent=recent[0],
        )

    async def _count_hosts(
        self, connection: AsyncConnection, crawl_id: str | None, tenant: str | None
    ) -> int:
        """The number of hosts."""
        now, key = self._monotonic(), (crawl_id, tenant)
        until, number = self._cached.get(key, (now, 0))
        if now < until:
            return number
        self._cached = {each: one for each, one in self._cached.items() if now < one[0]}
        number = int(await connection.scalar(_host_count(crawl_id, tenant)) or 0)
        if number >= MANY_HOSTS:
            self._cached[key] = (now + CACHED_SECONDS, number)
        return number

    async def timeseries(
        self, first: int, end: int, step: int, *, crawl_id: str | None = None, tenant: str | None = None
    ) -> list[TimeBucket]:
        """Buckets of `step` minutes from the minute `first` until before `end`, including empty ones. What is
        kept by day only counts for the first minute of its day."""
        spans = _spans(first, end, crawl_id, tenant)
        place = (spans.c.minute - first) // step
        query = select(place, *(_total(spans.c[name]) for name in MINUTE_COUNTS)).group_by(place)
        async with self._database.scan() as connection:
            found = {int(row[0]): row[1:] for row in await connection.execute(query)}
        none = (0,) * len(MINUTE_COUNTS)
        return [
            _bucket(first + place * step, found.get(place, none)) for place in range(-((first - end) // step))
        ]


def _spans(first: int, end: int, crawl_id: str | None, tenant: str | None) -> Subquery:
    """What happened, by the minute and by day. A day begins at its first minute."""
    minutes, days = crawl_minutes.c, crawl_days.c
    first_day, end_day = -(-first // DAY_MINUTES), -(-end // DAY_MINUTES)
    by_minute = _counts(crawl_minutes, minutes.minute, crawl_id, tenant)
    by_day = _counts(crawl_days, days.day * DAY_MINUTES, crawl_id, tenant)
    return union_all(
        by_minute.where(minutes.minute >= first, minutes.minute < end),
        by_day.where(days.day >= first_day, days.day < end_day),
    ).subquery()


def _counts(
    table: Table, minute: ColumnElement[int], crawl_id: str | None, tenant: str | None
) -> Select[Any]:
    query = select(minute.label("minute"), *(table.c[name] for name in MINUTE_COUNTS))
    if crawl_id is not None:
        return query.where(table.c.crawl_id == crawl_id)
    return query if tenant is None else query.where(table.c.crawl_id.in_(_ids(tenant)))


def _bucket(minute: int, counts: Any) -> TimeBucket:
    named = dict(zip(MINUTE_COUNTS, map(int, counts), strict=True))
    outcomes = OutcomeCounts(**{each.value: named.pop(f"outcome_{each}") for each in Outcome})
    return TimeBucket(at=minute * MINUTE_MS, outcomes=outcomes, **named)


def _host_count(crawl_id: str | None, tenant: str | None) -> Select[Any]:
    if crawl_id is not None:
        return select(func.count()).select_from(crawl_hosts).where(crawl_hosts.c.crawl_id == crawl_id)
    if tenant is not None:
        own = crawl_hosts.c.crawl_id.in_(_ids(tenant))
        return select(func.count(crawl_hosts.c.host.distinct())).where(own)
    return select(func.count()).select_from(hosts)


def _ids(tenant: str) -> Select[Any]:
    return select(crawls.c.id).where(crawls.c.tenant_id == tenant, crawls.c.deleting == false())


def _narrow(query: Select[Any], crawl_id: str | None, tenant: str | None) -> Select[Any]:
    wanted = {crawls.c.id: crawl_id, crawls.c.tenant_id: tenant}
    query = query.where(crawls.c.deleting == false())
    return query.where(*(column == value for column, value in wanted.items() if value is not None))


def _running() -> ColumnElement[int]:
    return func.count().filter(crawls.c.state == "running")


def _pending() -> ColumnElement[int]:
    """Pending URLs, without those that a crawl left when it ended."""
    return case((crawls.c.state.in_(("running", "paused")), crawls.c.pending), else_=0)


def _total(value: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(value), 0)
