"""Quotas: how much a tenant may have at once, by the tier of the caller. Admins and wallets have none.

Rate limits count requests; quotas bound what requests leave behind: crawls, pages, bytes, jobs. A request
that would exceed one is refused. Crawls go on for long after their requests, so `hold_crawls` pauses those
of a tenant that has used up its pages of the day or its bytes, and lets them go on when there is room.

What a tenant has is counted at most every few seconds, so requests at the same moment may exceed a quota by
a few; only the numbers of crawls, schedules, monitors, sites and webhooks are exact.
"""

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from gossamer import problems
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.settings.settings import Settings
from gossamer.settings.values import PerTier
from gossamer.state.crawl import crawls as crawl_rows
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.memory import stores
from gossamer.state.memory.stores import StoreFull
from gossamer.state.monitors import monitors
from gossamer.state.schedules import schedules
from gossamer.state.sites import sites
from gossamer.state.tenants import quota_rows, usage_rows
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.quota_rows import BoundCrawl
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.tenants.usage import DAY
from gossamer.state.webhooks import endpoints
from gossamer.web.crawl.progress import WaitReason
from gossamer.web.pages.timestamps import iso

COUNTED_SECONDS: Final = 2.0  # for which counts are used again
STORAGE_SECONDS: Final = 60.0  # the same for the size of the page cache, which takes longer to sum
MAX_COUNTED: Final = 10_000  # tenants
RENDER_KIND: Final = "render"  # of jobs: renders have limits of their own
BATCH_KIND: Final = "batch"


class Quota(StrEnum):
    CRAWLS = "crawls"
    CRAWL_PAGES = "crawl_pages"
    PAGES = "pages"
    BYTES = "bytes"
    JOBS = "jobs"
    BATCHES = "batches"
    WEBHOOKS = "webhooks"
    SCHEDULES = "schedules"
    MEMORY_ENTRIES = "memory_entries"
    MEMORY_BYTES = "memory_bytes"
    MONITORS = "monitors"
    SITES = "sites"

    @property
    def setting(self) -> str:
        return f"GOSSAMER_QUOTA_{self.upper()}"


# What each bounds, and what a caller can do who has reached it.
_TEXTS: Final[Mapping[Quota, tuple[str, str]]] = {
    Quota.CRAWLS: ("crawls at a time", "Wait for one to end, or stop one."),
    Quota.CRAWL_PAGES: ("pages in one crawl", "Ask for fewer with `maxPages`."),
    Quota.PAGES: ("crawled pages a day", "Crawls go on by themselves at midnight (UTC)."),
    Quota.BYTES: ("bytes of stored pages", "Delete crawls that you do not need, or cached pages."),
    Quota.JOBS: ("jobs that are queued or running", "Wait for some to end, or cancel them."),
    Quota.WEBHOOKS: ("webhooks", "Remove one that you do not need."),
    Quota.BATCHES: ("batches that are queued or running", "Wait for one to end, or cancel it."),
    Quota.SCHEDULES: ("schedules", "Delete one that you do not need."),
    Quota.MEMORY_ENTRIES: ("entries of memory", "Delete some, or let entries expire with `ttl`."),
    Quota.MEMORY_BYTES: ("bytes of values in memory", "Delete entries that you do not need."),
    Quota.MONITORS: ("monitors", "Delete one that you do not need."),
    Quota.SITES: ("sites", "Remove one that you do not need."),
}
# Those that pause crawls, and what such a crawl says it waits for.
HOLDING: Final[Mapping[Quota, WaitReason]] = {Quota.PAGES: "page_quota", Quota.BYTES: "byte_quota"}


class QuotaLeft(msgspec.Struct, frozen=True, rename="camel"):
    """A quota that applies to you, and how much of it is used."""

    quota: Quota
    about: Annotated[str, Meta(description="What it bounds.")]
    limit: Annotated[int | None, Meta(description="`null`: there is no bound.")]
    used: Annotated[int | None, Meta(description="`null` for what is counted by itself, such as one crawl.")]
    reset_at: Annotated[str | None, Meta(description="When it is free again, if time alone does it.")] = None


class _Counted(Struct):
    """What a tenant has, as it was a moment ago."""

    at: float
    used: Mapping[Quota, int]
    cached_bytes: int
    cached_at: float


class Quotas(Struct, frozen=True):
    database: Database
    crawls: Crawls
    table: Mapping[Quota, PerTier]
    log: Log
    upgrade_url: str = ""
    clock: Callable[[], float] = time.time
    _counted: dict[str, _Counted] = field(default_factory=dict)

    async def check(self, caller: Caller, *wanted: Quota) -> None:
        """Raises `Problem` if the caller has as much as it may."""
        if is_bound(caller):
            used = await self._count(caller.tenant_id)
            for quota in wanted:
                self._compare(quota, caller.tier, used[quota])

    def check_crawl_pages(self, caller: Caller, pages: int) -> None:
        """Raises `Problem` for a crawl of more pages than the caller may ask for."""
        limit = self.most_crawl_pages(caller)
        if limit is not None and pages > limit:
            raise self._problem(Quota.CRAWL_PAGES, caller.tier, limit, pages)

    def most_crawl_pages(self, caller: Caller) -> int | None:
        """None: as many as it likes."""
        return self._limit(Quota.CRAWL_PAGES, caller.tier) if is_bound(caller) else None

    async def reserve_crawl(self, connection: AsyncConnection, caller: Caller) -> None:
        """In the transaction that adds a crawl. Raises `Problem` if the tenant has as many as it may."""
        if is_bound(caller) and self._limit(Quota.CRAWLS, caller.tier) is not None:
            await quota_rows.lock_tenant(connection, caller.tenant_id)
            self._compare(
                Quota.CRAWLS, caller.tier, await quota_rows.count_crawls(connection, caller.tenant_id)
            )

    async def reserve_webhook(self, connection: AsyncConnection, caller: Caller) -> None:
        """In the transaction that adds a webhook. Raises `Problem` if the tenant has as many as it may."""
        if is_bound(caller) and self._limit(Quota.WEBHOOKS, caller.tier) is not None:
            await quota_rows.lock_tenant(connection, caller.tenant_id)
            used = await endpoints.count_registered(connection, caller.tenant_id)
            self._compare(Quota.WEBHOOKS, caller.tier, used)

    async def reserve_schedule(self, connection: AsyncConnection, caller: Caller) -> None:
        """The same for a schedule."""
        if is_bound(caller) and self._limit(Quota.SCHEDULES, caller.tier) is not None:
            await quota_rows.lock_tenant(connection, caller.tenant_id)
            used = await schedules.count(connection, caller.tenant_id)
            self._compare(Quota.SCHEDULES, caller.tier, used)

    async def reserve_monitor(self, connection: AsyncConnection, caller: Caller) -> None:
        """The same for a monitor."""
        if is_bound(caller) and self._limit(Quota.MONITORS, caller.tier) is not None:
            await quota_rows.lock_tenant(connection, caller.tenant_id)
            used = await monitors.count(connection, caller.tenant_id)
            self._compare(Quota.MONITORS, caller.tier, used)

    async def reserve_site(self, connection: AsyncConnection, caller: Caller) -> None:
        """The same for a site."""
        if is_bound(caller) and self._limit(Quota.SITES, caller.tier) is not None:
            await quota_rows.lock_tenant(connection, caller.tenant_id)
            self._compare(Quota.SITES, caller.tier, await sites.count(connection, caller.tenant_id))

    async def left(self, caller: Caller) -> list[QuotaLeft]:
        """The quotas of a caller, each with what is used of it."""
        return await self.left_in(caller.tenant_id, caller.tier) if is_bound(caller) else []

    async def left_in(self, tenant: str, tier: Tier) -> list[QuotaLeft]:
        """The quotas of callers of this tier, each with what the tenant has used of it."""
        used = await self._count(tenant, fresh=True)
        return [
            QuotaLeft(
                quota,
                _TEXTS[quota][0],
                self._limit(quota, tier),
                used.get(quota),
                iso(self._next_day()) if quota is Quota.PAGES else None,
            )
            for quota in Quota
        ]

    def limit(self, caller: Caller, quota: Quota) -> int | None:
        """How much the caller may have; None: there is no bound."""
        return self._limit(quota, caller.tier) if is_bound(caller) else None

    def full_memory(self, caller: Caller, full: StoreFull) -> Problem:
        """The problem of a caller whose memory has as much as its tier allows."""
        return self._problem(Quota(f"memory_{full.quota}"), caller.tier, full.limit, full.used)

    async def hold_crawls(self) -> None:
        """Pause the crawls of tenants that have used up a quota, and let those go on that have room again."""
        async with self.database.read() as connection:
            bound = await quota_rows.list_bound(connection)
        for crawl in bound:
            full = await self._full(crawl)
            if full is not None and crawl.held_by is None:
                await self._hold(crawl, full)
            elif full is None and crawl.held_by is not None:
                await self._release(crawl)

    async def check_resume(self, tenant: str, tier: str | None) -> None:
        """Raises `Problem` if a crawl would only be paused again."""
        if tier is not None:
            used = await self._count(tenant)
            for quota in HOLDING:
                self._compare(quota, Tier(tier), used[quota])

    async def _full(self, crawl: BoundCrawl) -> Quota | None:
        used = await self._count(crawl.tenant_id)
        for quota in HOLDING:
            limit = self._limit(quota, Tier(crawl.quota_tier))
            if limit is not None and used[quota] >= limit:
                return quota
        return None

    async def _hold(self, crawl: BoundCrawl, quota: Quota) -> None:
        async with self.database.write() as connection:
            held = await crawl_rows.hold(connection, crawl.id, HOLDING[quota])
        if held:
            self.log.info("crawl_held", "a quota has paused a crawl", crawlId=crawl.id, quota=quota.value)

    async def _release(self, crawl: BoundCrawl) -> None:
        async with self.database.write() as connection:
            released = await crawl_rows.release(connection, crawl.id)
        if released:
            await self.crawls.rouse(crawl.id)
            self.log.info("crawl_released", "a crawl goes on: its quota has room", crawlId=crawl.id)

    async def _count(self, tenant: str, *, fresh: bool = False) -> Mapping[Quota, int]:
        now, before = self.clock(), self._counted.get(tenant)
        if before is not None and 0 <= now - before.at < COUNTED_SECONDS and not fresh:
            return before.used
        async with self.database.read() as connection:
            depths = await job_table.depths(connection, tenant_id=tenant)
            crawls = await quota_rows.count_crawls(connection, tenant)
            pages = await quota_rows.count_pages(connection, tenant, int(now // DAY))
            scheduled = await schedules.count(connection, tenant)
            monitored = await monitors.count(connection, tenant)
            owned_sites = await sites.count(connection, tenant)
            crawled_bytes = await quota_rows.sum_bytes(connection, tenant)
            webhooks = await endpoints.count_registered(connection, tenant)
            memory = await stores.sum_of_tenant(connection, tenant)
        cached = before if before is not None and now - before.cached_at < STORAGE_SECONDS else None
        cached_bytes = await self._sum_cached(tenant) if cached is None else cached.cached_bytes
        used = {
            Quota.CRAWLS: crawls,
            Quota.PAGES: pages,
            Quota.BYTES: crawled_bytes + cached_bytes,
            Quota.JOBS: sum(depth.count for depth in depths if depth.kind != RENDER_KIND),
            Quota.WEBHOOKS: webhooks,
            Quota.BATCHES: sum(depth.count for depth in depths if depth.kind == BATCH_KIND),
            Quota.SCHEDULES: scheduled,
            Quota.MEMORY_ENTRIES: memory.entries,
            Quota.MEMORY_BYTES: memory.bytes,
            Quota.MONITORS: monitored,
            Quota.SITES: owned_sites,
        }
        if len(self._counted) >= MAX_COUNTED:
            self._counted.clear()
        self._counted[tenant] = _Counted(now, used, cached_bytes, now if cached is None else cached.cached_at)
        return used

    async def _sum_cached(self, tenant: str) -> int:
        async with self.database.scan() as connection:
            return (await usage_rows.storage(connection, tenant))[1]

    def _limit(self, quota: Quota, tier: Tier) -> int | None:
        limit: int | None = getattr(self.table[quota], tier.value)
        return limit

    def _compare(self, quota: Quota, tier: Tier, used: int) -> None:
        limit = self._limit(quota, tier)
        if limit is not None and used >= limit:
            raise self._problem(quota, tier, limit, used)

    def _problem(self, quota: Quota, tier: Tier, limit: int, used: int) -> Problem:
        about, advice = _TEXTS[quota]
        is_daily = quota is Quota.PAGES
        wait = max(1, round(self._next_day() - self.clock())) if is_daily else None
        higher = "" if tier is Tier.ENTERPRISE else " A higher tier allows more."
        return Problem(
            problems.QUOTA_EXCEEDED,
            f"{limit:,} {about} are allowed in the tier '{tier.value}'.",
            hint=f"{advice}{higher} The operator's setting is {quota.setting}.",
            headers={} if wait is None else {"Retry-After": str(wait)},
            retryAfter=wait,
            limit=limit,
            used=used,
            resetAt=iso(self._next_day()) if is_daily else None,
            upgradeUrl=self.upgrade_url or None,
            details={"quota": quota.value, "reason": "quota_reached", "setting": quota.setting},
        )

    def _next_day(self) -> float:
        return (self.clock() // DAY + 1) * DAY


def is_bound(caller: Caller) -> bool:
    """Whether quotas apply: not to admins, and not to what is paid for by the call."""
    return caller.role is not Role.ADMIN and caller.via is not Via.WALLET


def quota_tier_of(caller: Caller) -> str | None:
    """What a crawl remembers of its caller: the tier whose quotas it is held to, or None."""
    return caller.tier.value if is_bound(caller) else None


def quota_table(settings: Settings) -> dict[Quota, PerTier]:
    """The table; each row's numbers come from the setting of its name."""
    return {quota: getattr(settings, f"quota_{quota.value}") for quota in Quota}
