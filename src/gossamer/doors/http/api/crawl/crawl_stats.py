"""Crawl statistics over HTTP: totals for everyone, a time series for callers with a key."""

from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_COUNTS, CrawlId, same_fields
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.admit import unauthorized
from gossamer.problems import validation_error
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.reading.crawl_stats import CrawlStats, TimeBucket
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.progress import CrawlCounts
from gossamer.web.outcome.outcome_counts import OutcomeCounts
from gossamer.web.pages.timestamps import iso

HOUR: Final = 60  # minutes
DAY: Final = 24 * HOUR
MAX_MINUTES: Final = 7 * DAY  # by the minute; older counts may be kept by day
MAX_DAYS: Final = 400
MAX_POINTS: Final = 1_500


class StatsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawl."""

    crawl: Annotated[
        CrawlId | None, Meta(description="One crawl of yours; by default all crawls together.")
    ] = None


class SeriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawl, and which time."""

    crawl: Annotated[
        CrawlId | None, Meta(description="One crawl; by default all of yours together, for admins all.")
    ] = None
    minutes: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_DAYS * DAY,
            description="How far back. More than seven days need a `step` of whole days.",
        ),
    ] = HOUR
    step: Annotated[int, Meta(ge=1, le=MAX_DAYS * DAY, description="Minutes that a point stands for.")] = 1


class StatusCodes(msgspec.Struct, rename=lambda name: name.removeprefix("status_")):
    """How many answers had a status of each class."""

    status_2xx: int = 0
    status_3xx: int = 0
    status_4xx: int = 0
    status_5xx: int = 0


class LastHour(msgspec.Struct, rename="camel"):
    """What happened in the last sixty minutes."""

    fetched: Annotated[int, Meta(description="URLs that were answered.")]
    failed: Annotated[int, Meta(description="URLs that failed for good.")]
    blocked: Annotated[int, Meta(description="URLs that robots.txt forbids.")]
    retried: Annotated[int, Meta(description="Attempts after which a URL is tried again.")]
    bytes: int
    status_codes: StatusCodes
    outcomes: Annotated[OutcomeCounts, Meta(description="Of the pages that were stored.")]
    success_rate: Annotated[
        float | None, Meta(description="Share of fetched URLs among those fetched or failed, 0 to 1.")
    ]
    average_ms: Annotated[int | None, Meta(description="Average milliseconds for a page.")]


class ShownStats(msgspec.Struct, rename="camel"):
    """Crawl statistics."""

    pages: Annotated[int, Meta(description="Pages that are stored.")]
    bytes: int
    frontier: Annotated[
        CrawlCounts, Meta(description="URLs left in crawls that are over do not count as pending.")
    ]
    crawls: int
    running_crawls: int
    domains: Annotated[int, Meta(description="Hosts that are known.")]
    workers: Annotated[int, Meta(description="Workers that crawl now, for any crawl.")]
    pages_per_second: Annotated[float, Meta(description="In the last whole minute and the current one.")]
    last_hour: LastHour
    generated_at: str
    crawl_id: str | UnsetType = UNSET


class StatsPoint(msgspec.Struct, rename="camel"):
    """What happened in a span of time."""

    at: Annotated[str, Meta(description="When it began.")]
    fetched: Annotated[int, Meta(description="URLs that were answered.")]
    failed: Annotated[int, Meta(description="URLs that failed for good.")]
    blocked: Annotated[int, Meta(description="URLs that robots.txt forbids.")]
    retried: Annotated[int, Meta(description="Attempts after which a URL is tried again.")]
    added: Annotated[int, Meta(description="URLs that were found.")]
    bytes: int
    average_ms: Annotated[int | None, Meta(description="Average milliseconds for a page.")]
    status_codes: StatusCodes
    outcomes: Annotated[OutcomeCounts, Meta(description="Of the pages that were stored.")]


class StatsSeries(msgspec.Struct, rename="camel"):
    """What happened, earliest first, with empty spans."""

    step: Annotated[int, Meta(description="Minutes that a point stands for.")]
    points: list[StatsPoint]


class StatsEndpoints(Struct, frozen=True):
    crawls: Crawls
    statistics: CrawlStats
    clock: Callable[[], float]

    async def get_stats(self, exchange: Exchange, query: StatsQuery) -> ShownStats:
        """Totals of everything, which reveal no hosts or pages; or of one crawl that the caller may see."""
        if query.crawl is not None:
            if exchange.caller.role is Role.NOBODY:
                raise unauthorized("The statistics of one crawl are only for callers who may see it.")
            await crawl_of(self.crawls, exchange, query.crawl)
        stats = await self.statistics.stats(crawl_id=query.crawl)
        now = self.clock()
        minute = int(now // 60)
        (hour,) = await self.statistics.timeseries(minute - HOUR + 1, minute + 1, HOUR, crawl_id=query.crawl)
        return ShownStats(
            pages=stats.counts.pages,
            bytes=stats.counts.bytes,
            frontier=stats.counts,
            crawls=stats.crawls,
            running_crawls=stats.running,
            domains=stats.hosts,
            workers=stats.workers,
            pages_per_second=round(stats.recent.fetched / (60 + now % 60), 3),
            last_hour=_to_hour(hour),
            generated_at=iso(now),
            crawl_id=UNSET if query.crawl is None else query.crawl,
        )

    async def get_timeseries(self, exchange: Exchange, query: SeriesQuery) -> StatsSeries:
        points = -(-query.minutes // query.step)
        if points > MAX_POINTS:
            raise validation_error(
                f"These are {points:,} points; {MAX_POINTS:,} are the maximum.", hint="Give a larger `step`."
            )
        if query.minutes > MAX_MINUTES and query.step % DAY:
            raise validation_error(
                "What happened more than seven days ago is kept by day.",
                hint=f"Give a `step` of whole days, such as {DAY}, or fewer `minutes`.",
            )
        if query.crawl is not None:
            await crawl_of(self.crawls, exchange, query.crawl)
        # Spans begin at the same minutes for every caller, whenever they are asked for.
        end = (int(self.clock() // 60) // query.step + 1) * query.step
        found = await self.statistics.timeseries(
            end - points * query.step,
            end,
            query.step,
            crawl_id=query.crawl,
            tenant=tenant_seen_by(exchange.caller),
        )
        return StatsSeries(query.step, [_to_point(bucket) for bucket in found])

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/stats",
                handler=self.get_stats,
                needs=Role.NOBODY,
                tag="Crawls",
                summary="Show crawl statistics",
                description="Open to all: totals over everything that is crawled here. With a key, also of "
                "one crawl.",
                problems=(problems.UNAUTHORIZED, problems.NOT_FOUND),
                example=_EXAMPLE,
            ),
            Route(
                method="GET",
                path="/api/stats/timeseries",
                handler=self.get_timeseries,
                needs=Role.USER,
                tag="Crawls",
                summary="Show crawl statistics minute by minute",
                problems=(problems.NOT_FOUND,),
                example=StatsSeries(1, [_EXAMPLE_POINT]),
            ),
        ]


def _to_hour(bucket: TimeBucket) -> LastHour:
    tried = bucket.fetched + bucket.failed
    return LastHour(
        **same_fields(LastHour, bucket),
        status_codes=_codes(bucket),
        success_rate=round(bucket.fetched / tried, 4) if tried else None,
        average_ms=_average(bucket),
    )


def _to_point(bucket: TimeBucket) -> StatsPoint:
    known = same_fields(StatsPoint, bucket) | {"at": timestamps.from_ms(bucket.at)}
    return StatsPoint(**known, average_ms=_average(bucket), status_codes=_codes(bucket))


def _codes(bucket: TimeBucket) -> StatusCodes:
    return StatusCodes(**same_fields(StatusCodes, bucket))


def _average(bucket: TimeBucket) -> int | None:
    return round(bucket.duration_ms / bucket.fetched) if bucket.fetched else None


_EXAMPLE_CODES: Final = StatusCodes(1_830, 42, 61, 3)
_EXAMPLE_OUTCOMES: Final = OutcomeCounts(ok=1_880, blocked=14, soft_404=3, error=51)
_EXAMPLE: Final = ShownStats(
    pages=204_311,
    bytes=8_126_400_120,
    frontier=EXAMPLE_COUNTS,
    crawls=19,
    running_crawls=2,
    domains=3_210,
    workers=1,
    pages_per_second=0.537,
    last_hour=LastHour(1_936, 12, 40, 18, 48_126_400, _EXAMPLE_CODES, _EXAMPLE_OUTCOMES, 0.9938, 212),
    generated_at="2026-01-01T12:00:00.000Z",
)
_EXAMPLE_POINT: Final = StatsPoint(
    "2026-01-01T12:00:00.000Z", 31, 0, 1, 0, 12, 802_106, 212, StatusCodes(30, 1), OutcomeCounts(ok=31)
)
