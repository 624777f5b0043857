"""Quotas: what is counted, and the crawls that they pause."""

import asyncio
import io
from dataclasses import dataclass

import pytest
from tests.contract.crawl.crawl_ground import NOW, Ground, done, urls

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import COUNTED_SECONDS, Quota, Quotas
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.settings.values import PerTier
from gossamer.state.crawl import crawls as crawl_rows
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.database import Database
from gossamer.state.tenants import quota_rows
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.crawl.spec import CrawlSpec

DAY_MS = 86_400_000
TODAY = NOW // DAY_MS
UNBOUND = PerTier(None, None, None)


@dataclass
class Clock:
    now: float = NOW / 1000

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float = COUNTED_SECONDS) -> None:
        self.now += seconds


@dataclass
class QuotaGround:
    ground: Ground
    clock: Clock
    log: Log

    def quotas(self, **bounds: PerTier) -> Quotas:
        table = {quota: bounds.get(quota.value, UNBOUND) for quota in Quota}
        return Quotas(self.ground.database, self.ground.crawls, table, self.log, clock=self.clock)

    async def crawl(self, pages: int, tier: str | None = "free") -> Crawl:
        """A running crawl that has stored some pages today, and has one URL left."""
        spec = CrawlSpec(seeds=("http://a:80/",))
        async with self.ground.database.write() as connection:
            new = urls("a:80", pages + 1)
            crawl = await crawl_rows.add(
                connection, self.ground.tenant, spec, quota_tier=tier, urls=new, now=NOW
            )
        await self.store(pages)
        return crawl

    async def store(self, pages: int, now: int = NOW) -> None:
        (lease,) = await self.ground.lease(now=now)
        tasks = await self.ground.frontier.take(lease, pages, now=now)
        assert await self.ground.frontier.settle(lease, done(tasks), now=now)
        assert await self.ground.hosts.release(lease, now=now)

    async def state(self, crawl: Crawl) -> tuple[str, str | None]:
        found = await self.ground.crawls.get(crawl.id)
        assert found is not None
        return found.state, found.held_by

    @property
    def caller(self) -> Caller:
        return Caller(Role.USER, "key", self.ground.tenant, Tier.FREE)


@pytest.fixture
async def stage(database: Database) -> QuotaGround:
    return QuotaGround(await Ground.on(database), Clock(), Log(io.StringIO()))


async def test_pages_are_counted_by_tenant_and_day_and_outlast_their_crawl(stage: QuotaGround) -> None:
    ground = stage.ground
    crawl = await stage.crawl(3)
    async with ground.database.write() as connection:
        assert await quota_rows.count_pages(connection, ground.tenant, TODAY) == 3
        assert await quota_rows.count_pages(connection, ground.tenant, TODAY + 1) == 0
        assert await quota_rows.count_pages(connection, "another", TODAY) == 0
        assert await quota_rows.sum_bytes(connection, ground.tenant) == 300
        assert await crawl_rows.cancel(connection, crawl.id)
        assert await quota_rows.count_pages(connection, ground.tenant, TODAY) == 3


async def test_a_used_up_day_pauses_crawls_until_the_next(stage: QuotaGround) -> None:
    crawl = await stage.crawl(3)
    free = await stage.crawl(0, tier=None)
    quotas = stage.quotas(pages=PerTier(3, 4, None))
    await quotas.hold_crawls()
    assert await stage.state(crawl) == ("paused", "page_quota")
    assert await stage.state(free) == ("running", None)  # no quota binds it
    held = await stage.ground.crawls.get(crawl.id)
    assert held is not None
    waiting = await stage.ground.crawls.waiting(held, now=NOW)
    assert waiting is not None
    assert (waiting.reason, waiting.until) == ("page_quota", (TODAY + 1) * DAY_MS)
    with pytest.raises(Problem, match="3 crawled pages a day") as refused:
        await quotas.check_resume(held.tenant_id, held.quota_tier)
    assert refused.value.members["resetAt"] == "2023-11-15T00:00:00.000Z"
    assert refused.value.headers["Retry-After"] == str((TODAY + 1) * 86_400 - NOW // 1000)
    stage.clock.now = (TODAY + 1) * 86_400.0
    await quotas.hold_crawls()
    assert await stage.state(crawl) == ("running", None)
    assert await stage.ground.lease(now=(TODAY + 1) * DAY_MS)  # its host was woken


async def test_a_higher_tier_of_the_same_tenant_goes_on(stage: QuotaGround) -> None:
    crawl, pro = await stage.crawl(3), await stage.crawl(0, tier="pro")
    await stage.quotas(pages=PerTier(3, 4, None)).hold_crawls()
    assert await stage.state(crawl) == ("paused", "page_quota")
    assert await stage.state(pro) == ("running", None)


async def test_bytes_pause_crawls_until_something_is_deleted(stage: QuotaGround) -> None:
    crawl = await stage.crawl(3)
    quotas = stage.quotas(bytes=PerTier(300, None, None))
    await quotas.hold_crawls()
    assert await stage.state(crawl) == ("paused", "byte_quota")
    stage.clock.pass_by()
    more = stage.quotas(bytes=PerTier(301, None, None))  # as if some were deleted
    await more.hold_crawls()
    assert await stage.state(crawl) == ("running", None)


async def test_a_person_overrules_a_hold_but_not_the_quota(stage: QuotaGround) -> None:
    crawl, other = await stage.crawl(3), await stage.crawl(0)
    quotas = stage.quotas(pages=PerTier(3, None, None))
    await quotas.hold_crawls()
    assert await stage.ground.crawls.pause(crawl.id)  # stays paused when there is room
    assert await stage.ground.crawls.cancel(other.id)
    assert await stage.state(other) == ("canceled", None)
    stage.clock.now = (TODAY + 1) * 86_400.0
    await quotas.hold_crawls()
    assert await stage.state(crawl) == ("paused", None)
    assert await stage.state(other) == ("canceled", None)


async def test_the_number_of_crawls_is_exact_whoever_starts_them_at_once(stage: QuotaGround) -> None:
    quotas = stage.quotas(crawls=PerTier(3, None, None))
    spec = CrawlSpec(seeds=("http://a:80/",))

    async def start(caller: Caller) -> bool:
        try:
            async with stage.ground.database.write() as connection:
                await quotas.reserve_crawl(connection, caller)
                await crawl_rows.add(connection, caller.tenant_id, spec)
        except Problem as problem:
            return bool(problem.details["quota"] != "crawls")
        return True

    assert sum(await asyncio.gather(*(start(stage.caller) for _ in range(8)))) == 3
    assert await start(Caller(Role.ADMIN, "key", stage.ground.tenant, Tier.FREE))


async def test_what_is_counted_is_used_again_for_a_moment(stage: QuotaGround) -> None:
    quotas = stage.quotas(pages=PerTier(2, None, None))
    await quotas.check(stage.caller, Quota.PAGES)
    await stage.crawl(2)
    await quotas.check(stage.caller, Quota.PAGES)
    stage.clock.pass_by()
    with pytest.raises(Problem, match="2 crawled pages a day are allowed in the tier 'free'"):
        await quotas.check(stage.caller, Quota.PAGES)


async def test_left_lists_every_quota(stage: QuotaGround) -> None:
    await stage.crawl(2)
    left = {
        one.quota: (one.limit, one.used)
        for one in await stage.quotas(crawls=PerTier(5, None, None), crawl_pages=PerTier(9, None, None)).left(
            stage.caller
        )
    }
    assert left == {
        Quota.CRAWLS: (5, 1),
        Quota.CRAWL_PAGES: (9, None),
        Quota.PAGES: (None, 2),
        Quota.BYTES: (None, 200),
        Quota.JOBS: (None, 0),
        Quota.BATCHES: (None, 0),
        Quota.SCHEDULES: (None, 0),
        Quota.SITES: (None, 0),
        Quota.MONITORS: (None, 0),
        Quota.WEBHOOKS: (None, 0),
        Quota.MEMORY_ENTRIES: (None, 0),
        Quota.MEMORY_BYTES: (None, 0),
    }
