"""Endpoint for the usage of a tenant, or of one of its keys."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, QuotaLeft, Quotas
from gossamer.problems import Problem
from gossamer.state.db.database import Database
from gossamer.state.tenants import tenants
from gossamer.state.tenants.limits import Limits, LimitStatus
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.usage import Usage, UsageReport
from gossamer.state.tenants.usage_rows import MAX_KEYS, KeyUsage, UsageTotals, UsedUrl
from gossamer.web.pages.timestamps import iso

Id = Annotated[str, Meta(min_length=1, max_length=26)]
_NOTHING_YET: Final = "Nothing yet. POST /api/render with a URL renders your first page."
_GIGABYTE: Final = 1_000_000_000


class UsageQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which tenant or key."""

    key: Annotated[Id | None, Meta(description="The id of a key: only requests with this key.")] = None
    tenant: Annotated[Id | None, Meta(description="The id of a tenant; only for admins.")] = None


class Renders(msgspec.Struct, rename="camel"):
    """Visits of a browser, by UTC days. Each retry is another visit."""

    today: int
    this_month: int
    all_time: int
    failed: Annotated[int, Meta(description="Visits without a page, of all time.")]


class CacheUse(msgspec.Struct, rename="camel"):
    """Requests for rendered pages."""

    hits: int
    hot: Annotated[int, Meta(description="Hits of the hot tier, which is in memory.")]
    cold: Annotated[int, Meta(description="Hits of the cold tier, which keeps every page.")]
    misses: int
    hit_rate: Annotated[float, Meta(description="Percent of the requests that the cache answered.")]


class Storage(msgspec.Struct, rename="camel"):
    """Pages in the cache, of the whole tenant."""

    pages: int
    bytes: Annotated[int, Meta(description="Bytes of HTML.")]
    gigabytes: float


class LimitLeft(msgspec.Struct, rename="camel"):
    """A rate limit that applies to you, and how much of it is left."""

    policy: str
    subject: Annotated[str, Meta(description="The unit that it counts by, such as `API key`.")]
    limit: int
    remaining: int
    window: Annotated[int, Meta(description="The length of the sliding window, in seconds.")]
    reset_at: Annotated[str, Meta(description="When the oldest counted request leaves the window.")]


class KeyUse(msgspec.Struct, rename="camel"):
    """The usage of one key."""

    key_id: str
    prefix: Annotated[str, Meta(description="Empty if it is a user, or a key that is not there any more.")]
    label: str
    renders: Renders
    cache: CacheUse


class UsageAnswer(msgspec.Struct, rename="camel"):
    """The usage of a tenant or a key."""

    tenant_id: str
    renders: Renders
    cache: CacheUse
    storage: Storage
    top_urls: Annotated[list[UsedUrl], Meta(description="The ten pages that were rendered most.")]
    generated_at: str
    limits: Annotated[
        list[LimitLeft] | UnsetType,
        Meta(description="Your own limits; left out if you ask for another tenant or key."),
    ] = UNSET
    quotas: Annotated[
        list[QuotaLeft] | UnsetType,
        Meta(description="Your tenant's quotas, by your tier; empty if none apply, as for admins."),
    ] = UNSET
    keys: Annotated[
        list[KeyUse] | UnsetType,
        Meta(description=f"The {MAX_KEYS} keys that were used most; left out if you ask for one key."),
    ] = UNSET
    key_id: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class UsageEndpoints(Struct, frozen=True):
    usage: Usage
    database: Database
    limits: Limits
    quotas: Quotas

    async def get_usage(self, exchange: Exchange, query: UsageQuery) -> UsageAnswer:
        caller = exchange.caller
        tenant = await self._tenant(exchange, query)
        usage = _to_api(tenant, query.key, await self.usage.report(tenant, query.key))
        is_own = tenant == caller.tenant_id and query.key in (None, caller.key_id)
        if is_own and caller.role.may(Role.USER):  # somebody who only looks on has no limits
            usage.limits = await self._left(caller)
            usage.quotas = await self.quotas.left(caller)
        return usage

    async def _left(self, caller: Caller) -> list[LimitLeft]:
        asks = [caller.hits, caller.control, caller.work, caller.renders]
        return [_limit_left(status) for status in await self.limits.take(asks, cost=0)]

    async def _tenant(self, exchange: Exchange, query: UsageQuery) -> str:
        """The caller's own tenant; admins may ask for any."""
        caller = exchange.caller
        is_admin = caller.role is Role.ADMIN
        if query.tenant is not None and query.tenant != caller.tenant_id and not is_admin:
            raise Problem(problems.FORBIDDEN, "Only admins may see the usage of another tenant.")
        if query.key is None:
            return query.tenant or caller.tenant_id
        async with self.database.read() as connection:
            key = await tenants.get_key(connection, query.key)
        allowed = query.tenant or (None if is_admin else caller.tenant_id)
        if key is None or (allowed is not None and key.tenant_id != allowed):
            raise Problem(problems.NOT_FOUND, "There is no API key with this id.")
        return key.tenant_id

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/usage",
                handler=self.get_usage,
                needs=Role.VIEWER,
                tag="Usage",
                summary="Get your usage",
                description="Counts of other processes appear within seconds.",
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
            )
        ]


def _limit_left(status: LimitStatus) -> LimitLeft:
    policy, tally = status.policy, status.tally
    return LimitLeft(
        policy=policy.name,
        subject=policy.subject,
        limit=tally.limit,
        remaining=tally.remaining,
        window=policy.rate.seconds,
        reset_at=iso(tally.reset_at),
    )


def _to_api(tenant: str, key: str | None, report: UsageReport) -> UsageAnswer:
    totals = report.totals
    used = totals.renders or totals.hits or totals.misses
    return UsageAnswer(
        tenant_id=tenant,
        key_id=key or UNSET,
        keys=[_to_key(one) for one in report.by_key] if key is None else UNSET,
        renders=_to_renders(totals),
        cache=_to_cache(totals),
        storage=Storage(report.pages, report.storage_bytes, round(report.storage_bytes / _GIGABYTE, 6)),
        top_urls=list(report.top_urls),
        generated_at=timestamps.now(),
        message=UNSET if used else _NOTHING_YET,
    )


def _to_key(usage: KeyUsage) -> KeyUse:
    return KeyUse(usage.key_id, usage.prefix, usage.label, _to_renders(usage.totals), _to_cache(usage.totals))


def _to_renders(totals: UsageTotals) -> Renders:
    return Renders(totals.renders_today, totals.renders_month, totals.renders, totals.failures)


def _to_cache(totals: UsageTotals) -> CacheUse:
    hit_rate = round(totals.hit_rate * 100, 2)
    return CacheUse(totals.hits, totals.hot, totals.cold, totals.misses, hit_rate)


_EXAMPLE: Final = UsageAnswer(
    tenant_id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    renders=Renders(12, 340, 2_105, 14),
    cache=CacheUse(9_120, 8_300, 820, 2_105, 81.25),
    storage=Storage(1_980, 486_000_000, 0.486),
    top_urls=[UsedUrl("https://example.com/", 31, 2_204)],
    generated_at="2026-01-01T12:00:00.000Z",
    keys=[
        KeyUse(
            "01JGGR2Z3W0000000000000000",
            "sk_live_Zk3Vq9x...",
            "production",
            Renders(12, 340, 2_105, 14),
            CacheUse(9_120, 8_300, 820, 2_105, 81.25),
        )
    ],
    quotas=[QuotaLeft(Quota.CRAWLS, "crawls at a time", 20, 3)],
    limits=[LimitLeft("hits-pro", "API key", 6_000, 5_213, 60, "2026-01-01T12:00:01.500Z")],
)
