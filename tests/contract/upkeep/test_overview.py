"""The overview and its followers, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from sqlalchemy import insert
from tests.contract.crawl.crawl_ground import Ground, url, urls
from ulid import ULID

from gossamer.flows.alerts.alerts import Alerts
from gossamer.flows.upkeep.health import Checkup, Probe, Shortfall, Status
from gossamer.flows.upkeep.overview import (
    REVENUE_SECONDS,
    FenceOverview,
    JobCount,
    Overviews,
    RevenueOverview,
    StatusClasses,
    TodayOverview,
)
from gossamer.flows.upkeep.overview_feed import OverviewFeed
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl.crawl_tables import crawl_minutes
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pay.pay_tables import payments
from gossamer.state.tenants import tenants, usage_rows
from gossamer.state.tenants.usage_rows import UsageScope
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.outcome.outcome_counts import OutcomeCounts

NOW = 1_800_000_030.0  # half a minute after a minute began
MINUTE = int(NOW // 60)
DAY = int(NOW // 86_400)
LONG = 60.0


@dataclass
class Office:
    """Overviews of a database, a clock that counts how often it is looked at, and two services."""

    ground: Ground
    jobs: Jobs
    now: float = NOW
    looks: int = 0
    is_away: bool = False
    overviews: Overviews = field(init=False)

    def __post_init__(self) -> None:
        probes = {"cache": Probe(self._cache), "browserRendering": Probe(self._browsers)}
        checkup = Checkup(probes, Metrics("0"))
        database = self.ground.database
        alerts = Alerts(checkup, database, lambda: NOW)
        self.overviews = Overviews(database, CrawlStats(database), checkup, alerts, self._look)

    def _look(self) -> float:
        self.looks += 1
        return self.now

    async def _cache(self) -> None:
        if self.is_away:
            raise Unavailable("cache", "gone")

    async def _browsers(self) -> Shortfall:
        details = {"fence": "prefer", "layers": ["proxy", "sandbox"], "missingLayers": {"netns": "no"}}
        return Shortfall("not in force: netns", details)


@pytest.fixture
async def office(database: Database, database_url: str) -> AsyncIterator[Office]:
    jobs = Jobs(database, open_wakeups(database))
    yield Office(await Ground.on(database), jobs)
    await jobs.close()


async def minutes(database: Database, crawl_id: str, minute: int, **counts: int) -> None:
    none = {column.name: 0 for column in crawl_minutes.c}
    row = {**none, "crawl_id": crawl_id, "minute": minute, **counts}
    async with database.write() as connection:
        await connection.execute(insert(crawl_minutes).values(row))


async def test_the_numbers_of_all_and_of_one_tenant(office: Office) -> None:
    ground, database = office.ground, office.ground.database
    async with database.write() as connection:
        other = (await tenants.ensure_tenant(connection, "b@example.com")).id
    crawl = await ground.crawl([url("a:80", 0), *urls("b:80", 2)])
    over = await ground.crawl(urls("c:80", 7))
    await ground.crawls.cancel(over.id)
    await minutes(database, crawl.id, MINUTE, fetched=60, status_2xx=50, status_4xx=10, outcome_ok=48)
    await minutes(
        database,
        crawl.id,
        MINUTE - 59,
        fetched=30,
        failed=10,
        status_2xx=30,
        outcome_ok=29,
        outcome_soft_404=1,
    )
    await minutes(database, crawl.id, MINUTE - 60, fetched=999, outcome_ok=999)
    await minutes(
        database, str(ULID()), MINUTE - 1, fetched=30, outcome_blocked=5
    )  # of a crawl of somebody else
    for tenant in (ground.tenant, ground.tenant, other):
        await office.jobs.put(NewJob(kind="audit", tenant_id=tenant))
    await office.jobs.put(NewJob(kind="render", tenant_id=other))
    await office.jobs.lease({"audit": 1}, worker="w")
    await office.jobs.beat("w", ["audit"], 1)
    async with database.write() as connection:
        counts = {
            UsageScope(ground.tenant, "k", DAY): [5, 4, 3, 2, 1],
            UsageScope(ground.tenant, "k", DAY - 1): [9, 9, 9, 9, 9],
            UsageScope(other, "k", DAY): [1, 1, 1, 1, 1],
        }
        await usage_rows.add(connection, counts)
    everything = await office.overviews.look(None)
    assert (everything.crawls.running, everything.crawls.pending, everything.crawls.in_progress) == (1, 3, 0)
    assert everything.crawls.pages_per_second == 1.0  # 90 in a minute and a half
    assert everything.crawls.success_rate == round(120 / 130, 4)
    assert everything.crawls.status_codes == StatusClasses(80, 0, 10, 0)
    assert everything.crawls.outcomes == OutcomeCounts(ok=77, soft_404=1, blocked=5)
    series = [(one.fetched, one.failed) for one in everything.crawls.minutes]
    assert series == [(30, 10), *[(0, 0)] * 57, (30, 0), (60, 0)]
    assert everything.crawls.minutes[-1].at == "2027-01-15T08:00:00.000Z"
    assert everything.jobs == [JobCount("audit", 2, 1), JobCount("render", 1, 0)]
    assert everything.today == TodayOverview(renders=6, failed=2, hot=5, cold=4, misses=3)
    assert everything.workers == 1
    assert everything.health.status is Status.DEGRADED
    assert everything.health.services == {"cache": Status.HEALTHY, "browserRendering": Status.DEGRADED}
    assert everything.fence == FenceOverview("prefer", ["proxy", "sandbox"], ["netns"])
    assert everything.alerts == 1
    mine = await office.overviews.look(ground.tenant)
    assert mine.crawls.outcomes == OutcomeCounts(ok=77, soft_404=1)
    own = await office.overviews.look(other)
    assert (own.crawls.running, own.crawls.pending, own.crawls.success_rate) == (0, 0, None)
    assert sum(one.fetched for one in own.crawls.minutes) == 0
    assert sum(one.queued + one.running for one in own.jobs) == 2
    assert own.today == TodayOverview(renders=1, failed=1, hot=1, cold=1, misses=1)
    assert own.revenue is None


async def test_revenue_is_summed_for_admins_and_kept_for_a_while(office: Office) -> None:
    assert (await office.overviews.look(None)).revenue == RevenueOverview("$0", "$0", {})
    row = {column.name: "" for column in payments.c if not column.nullable}
    times = dict.fromkeys(("held_until", "lasts_until", "created_at", "settled_at", "ended_at"), 1)
    paid = {**row, **times, "state": "settled", "version": 2, "credit": 0, "request_hash": "0" * 64}
    async with office.ground.database.write() as connection:
        for number, proof in enumerate(("chain", "facilitator", "")):
            amount = 5_000 * (number + 1)
            each = {
                "id": str(ULID()),
                "nonce": str(number),
                "amount": amount,
                "endpoint": "/x",
                "proof": proof,
            }
            await connection.execute(insert(payments).values({**paid, **each}))
    assert (await office.overviews.look(None)).revenue == RevenueOverview("$0", "$0", {})
    office.now += REVENUE_SECONDS
    summed = RevenueOverview("$0.015", "$0.015", {"/x": "$0.015"})
    assert (await office.overviews.look(None)).revenue == summed


async def test_fifty_followers_share_one_look_and_hear_of_changes_only(office: Office) -> None:
    feed = OverviewFeed(office.overviews, seconds=0.01)

    async def follow() -> list[int]:
        async with feed.following(None) as follower:
            first = await follower.next(LONG)
            assert first is not None
            reading.release()
            second = await follower.next(LONG)
            assert second is not None
            return [sum(one.queued for one in seen.jobs) for seen in (first, second)]

    reading = asyncio.Semaphore(0)
    async with asyncio.timeout(LONG):
        following = [asyncio.create_task(follow()) for _ in range(50)]
        for _ in following:
            await reading.acquire()
        seen = office.looks
        while office.looks < seen + 3:  # the same numbers are no news
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in following)
        await office.jobs.put(NewJob(kind="audit", tenant_id=office.ground.tenant))
        assert await asyncio.gather(*following) == [[0, 1]] * 50
    assert office.looks < seen + 50  # each would have looked once, at least
    last = office.looks
    await asyncio.sleep(0.05)  # nobody follows any more
    assert office.looks == last


async def test_a_follower_that_comes_later_is_told_at_once_and_silence_is_told_too(office: Office) -> None:
    feed = OverviewFeed(office.overviews, seconds=LONG)
    async with asyncio.timeout(LONG), feed.following(None) as first:
        seen = await first.next(LONG)
        async with feed.following(None) as second:
            assert await second.next(LONG) == seen
            assert await second.next(0.01) is None
        assert office.looks == 1
        async with feed.following(office.ground.tenant) as other:
            assert (await other.next(LONG)) != seen
        assert office.looks == 2  # another scope
        assert await first.next(0.01) is None
