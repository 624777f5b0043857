"""The overview: the numbers of an operator's start page.

They come from counters and from small parts of indexes, never from counting pages or URLs, so an overview
costs the same however much there is.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from gossamer.flows.alerts.alerts import Alerts
from gossamer.flows.upkeep.health import Checkup, Health, Status
from gossamer.problems import Unavailable
from gossamer.settings.values import Money
from gossamer.state.crawl.reading.crawl_stats import CrawlStats, TimeBucket
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats, job_table, work_now
from gossamer.state.jobs.job import JobState, QueueDepth
from gossamer.state.jobs.work_now import RunningCrawls
from gossamer.state.pay import payment_list
from gossamer.state.tenants import usage_rows
from gossamer.state.tenants.usage import DAY
from gossamer.state.tenants.usage_rows import UsageDay
from gossamer.web.outcome.outcome_counts import OutcomeCounts
from gossamer.web.pages.timestamps import iso

MINUTES: Final = 60  # of the series
REVENUE_SECONDS: Final = 30.0  # for which the sums of the ledger are kept
BROWSERS: Final = "browserRendering"  # the service whose details tell of the fence


class OverviewMinute(msgspec.Struct, frozen=True, rename="camel"):
    """What crawls did in a minute."""

    at: Annotated[str, Meta(description="When it began.")]
    fetched: int
    failed: int


class StatusClasses(msgspec.Struct, frozen=True, rename=lambda name: name.removeprefix("status_")):
    """How many answers to crawls had a status of each class."""

    status_2xx: int = 0
    status_3xx: int = 0
    status_4xx: int = 0
    status_5xx: int = 0


class CrawlOverview(msgspec.Struct, frozen=True, rename="camel"):
    """What crawls do now, and did in the last hour."""

    running: Annotated[int, Meta(description="Crawls.")]
    pending: Annotated[int, Meta(description="URLs that running crawls will fetch.")]
    in_progress: Annotated[int, Meta(description="URLs that are being fetched.")]
    pages_per_second: Annotated[float, Meta(description="In the last whole minute and the current one.")]
    success_rate: Annotated[
        float | None, Meta(description="Share of fetched URLs among those fetched or failed, 0 to 1.")
    ]
    status_codes: StatusClasses
    outcomes: Annotated[OutcomeCounts, Meta(description="Of the pages that were stored.")]
    minutes: Annotated[list[OverviewMinute], Meta(description="The last hour, earliest first.")]


class JobCount(msgspec.Struct, frozen=True, rename="camel"):
    """How many jobs of a kind are queued and running."""

    kind: str
    queued: Annotated[int, Meta(description="Jobs that could begin now.")]
    running: int


class TodayOverview(msgspec.Struct, frozen=True, rename="camel"):
    """Renders and requests for rendered pages since midnight (UTC)."""

    renders: Annotated[int, Meta(description="Visits of a browser.")]
    failed: Annotated[int, Meta(description="Visits without a page.")]
    hot: Annotated[int, Meta(description="Answers from the hot tier.")]
    cold: Annotated[int, Meta(description="Answers from the cold tier.")]
    misses: int


class HealthOverview(msgspec.Struct, frozen=True, rename="camel"):
    """The health of the system."""

    status: Status
    services: dict[str, Status]


class FenceOverview(msgspec.Struct, frozen=True, rename="camel"):
    """The layers around the browsers of this process."""

    policy: Annotated[str | None, Meta(description="Whether missing layers are accepted.")]
    layers: Annotated[list[str], Meta(description="Those in force.")]
    missing: list[str]


class RevenueOverview(msgspec.Struct, frozen=True, rename="camel"):
    """Payments that were settled, in dollars."""

    total: Annotated[str, Meta(description="With a proof.")]
    unproven: Annotated[str, Meta(description="Without one.")]
    by_endpoint: Annotated[dict[str, str], Meta(description="Those with a proof.")]


class Overview(msgspec.Struct, frozen=True, rename="camel"):
    """The numbers of a tenant, or for admins those of all tenants."""

    generated_at: str
    crawls: CrawlOverview
    jobs: list[JobCount]
    today: TodayOverview
    workers: Annotated[int, Meta(description="Workers that are alive.")]
    health: HealthOverview
    fence: Annotated[FenceOverview | None, Meta(description="`null` if this process has no browser.")]
    revenue: Annotated[RevenueOverview | None, Meta(description="Only for admins.")]
    alerts: Annotated[int, Meta(description="See `GET /api/alerts`.")]


class _Revenue(Struct):
    """The sums of the ledger, which has no counters, as they were a moment ago."""

    sums: RevenueOverview | None = None
    until: float = 0.0


class Overviews(Struct, frozen=True):
    database: Database
    statistics: CrawlStats
    checkup: Checkup
    alerts: Alerts
    clock: Callable[[], float]
    _revenue: _Revenue = field(default_factory=_Revenue)

    async def look(self, tenant: str | None) -> Overview:
        """The numbers of a tenant; None is those of all, for admins."""
        health = await self.checkup.health()
        now = self.clock()
        minute = int(now // 60)
        series = await self.statistics.timeseries(minute - MINUTES + 1, minute + 1, 1, tenant=tenant)
        async with self.database.read() as connection:
            running = await work_now.running_crawls(connection, tenant)
            depths = await job_table.depths(connection, tenant_id=tenant)
            today = await usage_rows.of_day(connection, int(now // DAY), tenant)
            alive = await heartbeats.alive(connection)
        return Overview(
            generated_at=iso(now),
            crawls=_crawls(running, series, now),
            jobs=_jobs(depths),
            today=_today(today),
            workers=len(alive),
            health=HealthOverview(
                health.status, {name: service.status for name, service in health.services.items()}
            ),
            fence=_fence(health),
            revenue=await self._sum_revenue(now) if tenant is None else None,
            alerts=len(await self.alerts.current(internal=tenant is None)),
        )

    async def _sum_revenue(self, now: float) -> RevenueOverview | None:
        known = self._revenue
        if known.sums is None or now >= known.until:
            try:
                async with self.database.scan() as connection:
                    proven = await payment_list.revenue(connection)
                    unproven = await payment_list.revenue(connection, proven=False)
            except Unavailable:  # too busy for a long sum: the last one is good enough
                return known.sums
            known.sums = RevenueOverview(
                total=str(Money(sum(proven.values()))),
                unproven=str(Money(sum(unproven.values()))),
                by_endpoint={endpoint: str(Money(total)) for endpoint, total in proven.items()},
            )
            known.until = now + REVENUE_SECONDS
        return known.sums


def _crawls(running: RunningCrawls, series: Sequence[TimeBucket], now: float) -> CrawlOverview:
    fetched, failed = (sum(getattr(bucket, name) for bucket in series) for name in ("fetched", "failed"))
    recent = series[-1].fetched + series[-2].fetched
    classes = {name: sum(getattr(one, name) for one in series) for name in StatusClasses.__struct_fields__}
    return CrawlOverview(
        running=running.count,
        pending=running.pending,
        in_progress=running.in_progress,
        pages_per_second=round(recent / (60 + now % 60), 3),
        success_rate=round(fetched / (fetched + failed), 4) if fetched + failed else None,
        status_codes=StatusClasses(**classes),
        outcomes=OutcomeCounts.total(one.outcomes for one in series),
        minutes=[OverviewMinute(iso(one.at / 1000), one.fetched, one.failed) for one in series],
    )


def _jobs(depths: Sequence[QueueDepth]) -> list[JobCount]:
    counts: dict[str, dict[JobState, int]] = {}
    for depth in depths:
        counts.setdefault(depth.kind, {})[depth.status] = depth.count
    return [
        JobCount(kind, counts[kind].get(JobState.QUEUED, 0), counts[kind].get(JobState.RUNNING, 0))
        for kind in sorted(counts)
    ]


def _today(day: UsageDay) -> TodayOverview:
    return TodayOverview(
        renders=day.renders, failed=day.failures, hot=day.hot, cold=day.cold, misses=day.misses
    )


def _fence(health: Health) -> FenceOverview | None:
    browsers = health.services.get(BROWSERS)
    details: dict[str, Any] = dict(browsers.details or {}) if browsers is not None else {}
    if "layers" not in details:
        return None
    return FenceOverview(
        details.get("fence"), list(details["layers"]), sorted(details.get("missingLayers", {}))
    )
