"""Usage over HTTP: what a tenant has used, all of it or one of its keys."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.routing import Route
from gossamer.problems import Problem
from gossamer.state import tenants
from gossamer.state.database import Database
from gossamer.state.tenants import Role
from gossamer.state.usage import Usage, UsageReport

Id = Annotated[str, Meta(min_length=1, max_length=26)]
_NOTHING_YET: Final = "Nothing yet. POST /api/render with a URL renders your first page."
_GIGABYTE: Final = 1_000_000_000


class UsageQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whose usage."""

    key: Annotated[Id | None, Meta(description="The id of a key: only what was asked with it.")] = None
    tenant: Annotated[Id | None, Meta(description="The id of a tenant; for admins.")] = None


class Renders(msgspec.Struct, rename="camel"):
    """Pages that a browser was asked for, by UTC days; each once, however often it was tried."""

    today: int
    this_month: int
    all_time: int
    failed: Annotated[int, Meta(description="Of all time, those without a page.")]


class CacheUse(msgspec.Struct, rename="camel"):
    """Requests for pages."""

    hits: int
    misses: int
    hit_rate: Annotated[float, Meta(description="Percent of the requests that the cache answered.")]


class Storage(msgspec.Struct, rename="camel"):
    """What the whole tenant has cached."""

    pages: int
    bytes: Annotated[int, Meta(description="Of HTML.")]
    gigabytes: float


class UsedUrl(msgspec.Struct, rename="camel"):
    """A page of the tenant's."""

    url: str
    renders: int
    accesses: Annotated[int, Meta(description="How often the cache answered with it.")]


class UsageAnswer(msgspec.Struct, rename="camel"):
    """What was used."""

    tenant_id: str
    renders: Renders
    cache: CacheUse
    storage: Storage
    top_urls: Annotated[list[UsedUrl], Meta(description="The ten that were rendered most.")]
    generated_at: str
    key_id: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class UsageFace:
    def __init__(self, usage: Usage, database: Database) -> None:
        self._usage = usage
        self._database = database

    async def get_usage(self, exchange: Exchange, query: UsageQuery) -> UsageAnswer:
        tenant = await self._tenant(exchange, query)
        return _shown(tenant, query.key, await self._usage.report(tenant, query.key))

    async def _tenant(self, exchange: Exchange, query: UsageQuery) -> str:
        """Everybody's own; admins may ask for any."""
        caller = exchange.caller
        is_admin = caller.role is Role.ADMIN
        if query.tenant is not None and query.tenant != caller.tenant_id and not is_admin:
            raise Problem(problems.FORBIDDEN, "Another tenant's usage is for admins.")
        if query.key is None:
            return query.tenant or caller.tenant_id
        async with self._database.read() as connection:
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
                needs=Role.USER,
                tag="Usage",
                summary="What you have used",
                description="What another process has counted shows up within seconds.",
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
            )
        ]


def _shown(tenant: str, key: str | None, report: UsageReport) -> UsageAnswer:
    used = report.renders_total or report.hits or report.misses
    return UsageAnswer(
        tenant_id=tenant,
        key_id=key or UNSET,
        renders=Renders(
            report.renders_today, report.renders_month, report.renders_total, report.failures_total
        ),
        cache=CacheUse(report.hits, report.misses, round(report.hit_rate * 100, 2)),
        storage=Storage(report.pages, report.storage_bytes, round(report.storage_bytes / _GIGABYTE, 6)),
        top_urls=[UsedUrl(*one) for one in report.top_urls],
        generated_at=moments.now(),
        message=UNSET if used else _NOTHING_YET,
    )


_EXAMPLE: Final = UsageAnswer(
    tenant_id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    renders=Renders(12, 340, 2_105, 14),
    cache=CacheUse(9_120, 2_105, 81.25),
    storage=Storage(1_980, 486_000_000, 0.486),
    top_urls=[UsedUrl("https://example.com/", 31, 2_204)],
    generated_at="2026-01-01T12:00:00.000Z",
)
