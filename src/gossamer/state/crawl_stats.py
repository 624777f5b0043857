"""Statistics of crawls, read from what is counted along: no rows of pages or URLs are gone through.

Only hosts are counted where they stand. Where there are many, that is done once a minute.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl_counts import MINUTE_COUNTS, MINUTE_MS
from gossamer.state.crawl_tables import crawl_hosts, crawl_minutes, crawls, hosts
from gossamer.state.crawls import Counts
from gossamer.state.database import Database, clock

MANY: Final = 10_000  # hosts
BELIEVED_SECONDS: Final = 60.0

_minutes: Final = crawl_minutes.c
_COUNTED: Final = ("pending", "in_progress", "completed", "failed", "blocked", "pages", "bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What happened from `at` (milliseconds) on, for as long as a step lasts."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How it stands with all crawls, or with some of them."""

    counts: Counts  # what is left of a crawl that is over does not count as pending
    crawls: int
    running: int
    hosts: int
    workers: int  # that hold a host now
    recent: Stretch  # the last whole minute and the one that has begun


class CrawlStats:
    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._many: dict[tuple[str | None, str | None], tuple[float, int]] = {}  # hosts, and until when

    async def stats(
        self, *, crawl_id: str | None = None, tenant: str | None = None, now: int | None = None
    ) -> Stats:
        """Of one crawl, of a tenant's or of all."""
        columns = {name: crawls.c[name] for name in _COUNTED} | {"pending": _waiting()}
        summed: list[ColumnElement[Any]] = [_total(column) for column in columns.values()]
        totals = _narrowed(select(*summed, func.count(), _running()), crawl_id, tenant)
        leased = select(func.count(hosts.c.locked_by.distinct())).where(hosts.c.locked_until > clock(now))
        async with self._database.read() as connection:
            found: Sequence[Any] = (await connection.execute(totals)).one()
            known = await self._known(connection, crawl_id, tenant)
            workers = int(await connection.scalar(leased.where(hosts.c.lease_token.is_not(None))) or 0)
            minute = int(await connection.scalar(select(clock(now) // MINUTE_MS)) or 0)
        recent = await self.timeseries(minute - 1, minute + 1, 2, crawl_id=crawl_id, tenant=tenant)
        return Stats(
            counts=Counts(**{name: int(value) for name, value in zip(_COUNTED, found[:-2], strict=True)}),
            crawls=found[-2],
            running=found[-1],
            hosts=known,
            workers=workers,
            recent=recent[0],
        )

    async def _known(self, connection: AsyncConnection, crawl_id: str | None, tenant: str | None) -> int:
        """How many hosts there are."""
        now, key = self._monotonic(), (crawl_id, tenant)
        until, known = self._many.get(key, (now, 0))
        if now < until:
            return known
        self._many = {each: one for each, one in self._many.items() if now < one[0]}
        known = int(await connection.scalar(_hosts(crawl_id, tenant)) or 0)
        if known >= MANY:
            self._many[key] = (now + BELIEVED_SECONDS, known)
        return known

    async def timeseries(
        self, first: int, end: int, step: int, *, crawl_id: str | None = None, tenant: str | None = None
    ) -> list[Stretch]:
        """From the minute `first` until before `end`, `step` minutes together, empty ones too."""
        place = (_minutes.minute - first) // step
        query = select(place, *(_total(_minutes[name]) for name in MINUTE_COUNTS))
        query = query.where(_minutes.minute >= first, _minutes.minute < end).group_by(place)
        if crawl_id is not None:
            query = query.where(_minutes.crawl_id == crawl_id)
        elif tenant is not None:
            query = query.where(_minutes.crawl_id.in_(_ids(tenant)))
        async with self._database.read() as connection:
            found = {int(row[0]): row[1:] for row in await connection.execute(query)}
        none = (0,) * len(MINUTE_COUNTS)
        return [
            _stretch(first + number * step, found.get(number, none))
            for number in range(-((first - end) // step))
        ]


def _stretch(minute: int, counts: Any) -> Stretch:
    named = dict(zip(MINUTE_COUNTS, map(int, counts), strict=True))
    return Stretch(at=minute * MINUTE_MS, **named)


def _hosts(crawl_id: str | None, tenant: str | None) -> Select[Any]:
    if crawl_id is not None:
        return select(func.count()).select_from(crawl_hosts).where(crawl_hosts.c.crawl_id == crawl_id)
    if tenant is not None:
        own = crawl_hosts.c.crawl_id.in_(_ids(tenant))
        return select(func.count(crawl_hosts.c.host.distinct())).where(own)
    return select(func.count()).select_from(hosts)


def _ids(tenant: str) -> Select[Any]:
    return select(crawls.c.id).where(crawls.c.tenant_id == tenant)


def _narrowed(query: Select[Any], crawl_id: str | None, tenant: str | None) -> Select[Any]:
    wanted = {crawls.c.id: crawl_id, crawls.c.tenant_id: tenant}
    return query.where(*(column == value for column, value in wanted.items() if value is not None))


def _running() -> ColumnElement[int]:
    return func.count().filter(crawls.c.state == "running")


def _waiting() -> ColumnElement[int]:
    """What is left of a crawl that is over is not waited for."""
    return case((crawls.c.state.in_(("running", "paused")), crawls.c.pending), else_=0)


def _total(value: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(value), 0)
