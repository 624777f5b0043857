"""How crawling goes, over HTTP: sums for everybody, courses of minutes for who has a key."""

from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.crawl_shapes import EXAMPLE_COUNTS, CrawlId, ShownCounts, counts
from gossamer.doors.http.crawls import crawl_of
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.jobs import tenant_seen_by
from gossamer.doors.http.routing import Route
from gossamer.flows.admit import unauthorized
from gossamer.problems import validation_error
from gossamer.state.crawl_stats import CrawlStats, Stretch
from gossamer.state.crawls import Crawls
from gossamer.state.tenants import Role

HOUR: Final = 60  # minutes
LONGEST: Final = 7 * 24 * HOUR
MOST_POINTS: Final = 1_500


class StatsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="One crawl of yours; without it all together.")] = None


class SeriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of which crawl, and of which time."""

    crawl: Annotated[
        CrawlId | None, Meta(description="One crawl; without it all of yours together, for admins all.")
    ] = None
    minutes: Annotated[int, Meta(ge=1, le=LONGEST, description="How far back.")] = HOUR
    step: Annotated[int, Meta(ge=1, le=LONGEST, description="Minutes that a point stands for.")] = 1


class StatusCodes(msgspec.Struct, rename=lambda name: name.removeprefix("status_")):
    """How many answers had a status of each class."""

    status_2xx: int = 0
    status_3xx: int = 0
    status_4xx: int = 0
    status_5xx: int = 0


class LastHour(msgspec.Struct, rename="camel"):
    """What happened in the last sixty minutes."""

    fetched: Annotated[int, Meta(description="URLs that were answered.")]
    failed: Annotated[int, Meta(description="URLs that were given up.")]
    blocked: Annotated[int, Meta(description="URLs that robots.txt forbids.")]
    retried: Annotated[int, Meta(description="Attempts after which a URL is tried again.")]
    bytes: int
    status_codes: StatusCodes
    success_rate: Annotated[float | None, Meta(description="Of what was fetched or failed, 0 to 1.")]
    average_ms: Annotated[int | None, Meta(description="Milliseconds that a page took.")]


class ShownStats(msgspec.Struct, rename="camel"):
    """How crawling goes."""

    pages: Annotated[int, Meta(description="Pages that are stored.")]
    bytes: int
    frontier: Annotated[ShownCounts, Meta(description="What is left of crawls that are over is not pending.")]
    crawls: int
    running_crawls: int
    domains: Annotated[int, Meta(description="Hosts that are known.")]
    workers: Annotated[int, Meta(description="Those that fetch something now, for whatever crawl.")]
    pages_per_second: Annotated[float, Meta(description="In the last minute, and the one that has begun.")]
    last_hour: LastHour
    generated_at: str
    crawl_id: str | UnsetType = UNSET


class StatsPoint(msgspec.Struct, rename="camel"):
    """What happened in a stretch of time."""

    at: Annotated[str, Meta(description="When it began.")]
    fetched: Annotated[int, Meta(description="URLs that were answered.")]
    failed: Annotated[int, Meta(description="URLs that were given up.")]
    blocked: Annotated[int, Meta(description="URLs that robots.txt forbids.")]
    retried: Annotated[int, Meta(description="Attempts after which a URL is tried again.")]
    added: Annotated[int, Meta(description="URLs that were found.")]
    bytes: int
    average_ms: Annotated[int | None, Meta(description="Milliseconds that a page took.")]
    status_codes: StatusCodes


class StatsSeries(msgspec.Struct, rename="camel"):
    """What happened, the earliest first; stretches without anything are there too."""

    step: Annotated[int, Meta(description="Minutes that a point stands for.")]
    points: list[StatsPoint]


class StatsFace:
    def __init__(self, crawls: Crawls, statistics: CrawlStats, clock: Callable[[], float]) -> None:
        self._crawls = crawls
        self._statistics = statistics
        self._clock = clock

    async def get_stats(self, exchange: Exchange, query: StatsQuery) -> ShownStats:
        """Of everything, which tells nobody's hosts or pages, or of a crawl, for who may see it."""
        if query.crawl is not None:
            if exchange.caller.role is Role.NOBODY:
                raise unauthorized("The statistics of one crawl are for who may see it.")
            await crawl_of(self._crawls, exchange, query.crawl)
        stats = await self._statistics.stats(crawl_id=query.crawl)
        now = self._clock()
        minute = int(now // 60)
        (hour,) = await self._statistics.timeseries(minute - HOUR + 1, minute + 1, HOUR, crawl_id=query.crawl)
        return ShownStats(
            pages=stats.counts.pages,
            bytes=stats.counts.bytes,
            frontier=counts(stats.counts),
            crawls=stats.crawls,
            running_crawls=stats.running,
            domains=stats.hosts,
            workers=stats.workers,
            pages_per_second=round(stats.recent.fetched / (60 + now % 60), 3),
            last_hour=_hour(hour),
            generated_at=moments.iso(now),
            crawl_id=UNSET if query.crawl is None else query.crawl,
        )

    async def get_timeseries(self, exchange: Exchange, query: SeriesQuery) -> StatsSeries:
        points = -(-query.minutes // query.step)
        if points > MOST_POINTS:
            raise validation_error(
                f"These are {points:,} points; {MOST_POINTS:,} are the most.", hint="Give a larger `step`."
            )
        if query.crawl is not None:
            await crawl_of(self._crawls, exchange, query.crawl)
        # Stretches begin where they do for everybody, whenever they are asked for.
        end = (int(self._clock() // 60) // query.step + 1) * query.step
        found = await self._statistics.timeseries(
            end - points * query.step,
            end,
            query.step,
            crawl_id=query.crawl,
            tenant=tenant_seen_by(exchange.caller),
        )
        return StatsSeries(query.step, [_point(stretch) for stretch in found])

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/stats",
                handler=self.get_stats,
                needs=Role.NOBODY,
                tag="Crawls",
                summary="How crawling goes",
                description="Open to all: sums over everything that is crawled here. With a key also of one "
                "crawl.",
                problems=(problems.UNAUTHORIZED, problems.NOT_FOUND),
                example=_EXAMPLE,
            ),
            Route(
                method="GET",
                path="/api/stats/timeseries",
                handler=self.get_timeseries,
                needs=Role.USER,
                tag="Crawls",
                summary="How crawling went, minute by minute",
                problems=(problems.NOT_FOUND,),
                example=StatsSeries(1, [_EXAMPLE_POINT]),
            ),
        ]


def _hour(stretch: Stretch) -> LastHour:
    tried = stretch.fetched + stretch.failed
    return LastHour(
        fetched=stretch.fetched,
        failed=stretch.failed,
        blocked=stretch.blocked,
        retried=stretch.retried,
        bytes=stretch.bytes,
        status_codes=_codes(stretch),
        success_rate=round(stretch.fetched / tried, 4) if tried else None,
        average_ms=_average(stretch),
    )


def _point(stretch: Stretch) -> StatsPoint:
    return StatsPoint(
        at=moments.stored(stretch.at),
        fetched=stretch.fetched,
        failed=stretch.failed,
        blocked=stretch.blocked,
        retried=stretch.retried,
        added=stretch.added,
        bytes=stretch.bytes,
        average_ms=_average(stretch),
        status_codes=_codes(stretch),
    )


def _codes(stretch: Stretch) -> StatusCodes:
    return StatusCodes(stretch.status_2xx, stretch.status_3xx, stretch.status_4xx, stretch.status_5xx)


def _average(stretch: Stretch) -> int | None:
    return round(stretch.duration_ms / stretch.fetched) if stretch.fetched else None


_EXAMPLE_CODES: Final = StatusCodes(1_830, 42, 61, 3)
_EXAMPLE: Final = ShownStats(
    pages=204_311,
    bytes=8_126_400_120,
    frontier=EXAMPLE_COUNTS,
    crawls=19,
    running_crawls=2,
    domains=3_210,
    workers=1,
    pages_per_second=0.537,
    last_hour=LastHour(1_936, 12, 40, 18, 48_126_400, _EXAMPLE_CODES, 0.9938, 212),
    generated_at="2026-01-01T12:00:00.000Z",
)
_EXAMPLE_POINT: Final = StatsPoint(
    "2026-01-01T12:00:00.000Z", 31, 0, 1, 0, 12, 802_106, 212, StatusCodes(30, 1)
)
