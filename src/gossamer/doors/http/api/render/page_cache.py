"""Endpoints of the page cache: whether a page is cached, clearing pages, and rendering pages ahead."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Other, Route
from gossamer.flows.render.clear import CacheClearer, ClearResult
from gossamer.flows.render.serve import RenderService
from gossamer.flows.render.warm import Warmer
from gossamer.problems import validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job
from gossamer.state.pages.cached_page import Location
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.tenants.tenants import Role
from gossamer.web.render.request import ForBot, KeepScripts, WarmRequest, page_variant
from gossamer.web.render.visitor import DeviceOption
from gossamer.web.url.url import Url, cache_form

_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_EXAMPLE_URL: Final = "https://example.com/product/123"


class CacheStatusQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which page."""

    url: Annotated[str, Meta(description="The address of the page.")]
    bot: ForBot = "default"
    keep_scripts: KeepScripts = False
    device: DeviceOption = "desktop"


class CacheStatus(msgspec.Struct, rename="camel"):
    """Whether a page is cached, and where."""

    cached: bool
    location: Location
    normalized_url: Annotated[str, Meta(description="The form that all spellings of this address share.")]
    rendering: bool
    last_rendered: str | UnsetType = UNSET
    age: Annotated[int | UnsetType, Meta(description="Seconds.")] = UNSET
    size: Annotated[int | UnsetType, Meta(description="Bytes of HTML.")] = UNSET
    access_count: int | UnsetType = UNSET
    job_id: str | UnsetType = UNSET
    status_url: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class CacheClearQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which pages: one of the three."""

    url: Annotated[str | None, Meta(description="One page, in all its variants.")] = None
    prefix: Annotated[
        str | None,
        Meta(
            description="A page and everything below it; with `*` at the end, every URL that starts with it."
        ),
    ] = None
    all: Annotated[bool, Meta(description="All your pages.")] = False


class CacheCleared(msgspec.Struct, rename="camel"):
    """What was removed from the cache."""

    success: bool
    cleared_from: list[Location]
    freed_space: Annotated[int, Meta(description="Bytes of HTML.")]
    pages: int
    canceled_renders: int
    message: str
    normalized_url: str | UnsetType = UNSET
    prefix: str | UnsetType = UNSET
    failed: Annotated[
        list[Location] | UnsetType,
        Meta(description="Tiers that have not confirmed it yet; it is retried there."),
    ] = UNSET


class WarmAccepted(msgspec.Struct, rename="camel"):
    """The renders are being queued."""

    job_id: str
    status_url: Annotated[
        str,
        Meta(description="Poll this until the job is done; its result says how many renders were queued."),
    ]
    events_url: str


class PageCacheEndpoints(Struct):
    """Every caller sees only their own pages, admins too."""

    render_service: RenderService
    clearer: CacheClearer
    warmer: Warmer

    async def get_cache_status(self, exchange: Exchange, query: CacheStatusQuery) -> CacheStatus:
        variant = page_variant(query.bot, keep_scripts=query.keep_scripts, device=query.device)
        found = await self.render_service.look_up(exchange.caller.tenant_id, query.url, variant)
        status = CacheStatus(False, Location.NONE, found.key.form, rendering=found.job is not None)
        if found.status is not None:
            status.cached, status.location = True, found.status.location
            status.last_rendered = timestamps.from_ms(found.status.rendered_at)
            status.age = int(found.age)
            status.size, status.access_count = found.status.size, found.status.access_count
        if found.job is not None:
            status.job_id, status.status_url = found.job.job_id, f"/api/status/{found.job.job_id}"
        if found.status is None:
            status.message = "Render job in progress" if found.job else "URL has not been rendered yet"
        return status

    async def clear_cache(self, exchange: Exchange, query: CacheClearQuery) -> Response:
        tenant = exchange.caller.tenant_id
        if sum((query.url is not None, query.prefix is not None, query.all)) != 1:
            raise validation_error("Give one of url, prefix and all=true.")
        if query.url is not None:
            url = Url.parse(query.url)
            cleared = _to_cleared(await self.clearer.clear_url(tenant, url, exchange.actor))
            cleared.normalized_url = cache_form(url)
            cleared.message = _describe_url(cleared)
        elif query.prefix is not None:
            prefix = PagePrefix.parse(query.prefix)
            cleared = _to_cleared(await self.clearer.clear_prefix(tenant, prefix, exchange.actor))
            cleared.prefix = query.prefix
        else:
            cleared = _to_cleared(await self.clearer.clear_all(tenant, exchange.actor))
        return answer(cleared, 200 if cleared.success else 207)

    async def warm_cache(self, exchange: Exchange, body: WarmRequest) -> Response:
        if bool(body.urls) == bool(body.sitemap):
            raise validation_error("Give either urls or a sitemap.")

        async def remember(connection: AsyncConnection, job: Job) -> None:
            await exchange.remember(connection, _to_accepted(job))

        job = await self.warmer.queue(exchange.caller, body, exchange.actor, remember)
        return _to_accepted(job)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Render"}
        return [
            Route(
                method="GET",
                path="/api/cache/status",
                handler=self.get_cache_status,
                summary="Whether a page is cached",
                problems=(problems.INVALID_URL,),
                example=_EXAMPLE_STATUS,
                **common,
            ),
            Route(
                method="DELETE",
                path="/api/cache",
                handler=self.clear_cache,
                summary="Clear pages from the cache",
                description="Clears one page, everything below a prefix, or all your pages. It is no error "
                "if a page is not cached. Queued renders are canceled; running ones are not.",
                answers=CacheCleared,
                problems=(problems.INVALID_URL,),
                example=_EXAMPLE_CLEARED,
                others=(
                    Other(
                        status=207,
                        about="No longer served, but one of the stores has not confirmed it yet; it is "
                        "retried",
                        answers=CacheCleared,
                        example=_EXAMPLE_PARTLY,
                    ),
                ),
                **common,
            ),
            Route(
                method="POST",
                path="/api/cache/warm",
                handler=self.warm_cache,
                summary="Render pages before they are requested",
                description="Starts a job that queues a render for each page of a list or a sitemap, at low "
                "priority. Each render counts under the daily limit; pages beyond it are not queued, and "
                "the job's result says how many.",
                status=202,
                answers=WarmAccepted,
                problems=(problems.INVALID_URL, problems.QUOTA_EXCEEDED),
                example_body=WarmRequest(sitemap="https://example.com/sitemap.xml"),
                example=_warm_accepted(_EXAMPLE_ID),
                **common,
            ),
        ]


def _to_cleared(result: ClearResult) -> CacheCleared:
    dropped = result.dropped
    partly = bool(dropped.failed)
    return CacheCleared(
        success=not partly,
        cleared_from=list(dropped.cleared_from),
        freed_space=dropped.freed_bytes,
        pages=dropped.pages,
        canceled_renders=result.canceled,
        message=_describe_pages(dropped.pages),
        failed=list(dropped.failed) if partly else UNSET,
    )


def _describe_pages(pages: int) -> str:
    if not pages:
        return "Nothing was cached."
    return "1 page cleared." if pages == 1 else f"{pages:,} pages cleared."


def _describe_url(cleared: CacheCleared) -> str:
    if not cleared.success:
        return "The page is not served any more; what could not be cleared yet is tried again."
    if cleared.pages:
        return "Cache cleared for URL. Next render request will re-render the page."
    return "URL was not cached"


def _to_accepted(job: Job) -> Response:
    return answer(_warm_accepted(job.job_id), 202, {"Location": f"/api/jobs/{job.job_id}"})


def _warm_accepted(job_id: str) -> WarmAccepted:
    return WarmAccepted(job_id, f"/api/jobs/{job_id}", f"/api/jobs/{job_id}/events")


_EXAMPLE_STATUS: Final = CacheStatus(
    True,
    Location.HOT,
    _EXAMPLE_URL,
    rendering=False,
    last_rendered="2026-01-01T12:00:00.000Z",
    age=5_400,
    size=245_678,
    access_count=42,
)
_EXAMPLE_CLEARED: Final = CacheCleared(
    success=True,
    cleared_from=[Location.HOT, Location.COLD],
    freed_space=245_678,
    pages=1,
    canceled_renders=0,
    message="Cache cleared for URL. Next render request will re-render the page.",
    normalized_url=_EXAMPLE_URL,
)
_EXAMPLE_PARTLY: Final = msgspec.structs.replace(
    _EXAMPLE_CLEARED,
    success=False,
    cleared_from=[Location.HOT],
    failed=[Location.COLD],
    message="The page is not served any more; what could not be cleared yet is tried again.",
)
