"""The cache of rendered pages over HTTP: what is in it, what is to leave it, what is to be in it soon."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.render import Bot, Seconds
from gossamer.doors.http.routing import Other, Route
from gossamer.flows import warm
from gossamer.flows.forget import Forgetting, Forgotten
from gossamer.flows.render import LONGEST, Look, page_key, page_part
from gossamer.flows.serve import Serving
from gossamer.problems import validation_error
from gossamer.reach.dial import Dialer
from gossamer.state import job_table, renders
from gossamer.state.jobs import Job, Jobs, NewJob
from gossamer.state.page_cache import Location, PageCache, PagePrefix
from gossamer.state.tenants import Role
from gossamer.web.url import Url, cache_form, digest

_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_EXAMPLE_URL: Final = "https://example.com/product/123"


class CacheStatusQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which page."""

    url: Annotated[str, Meta(description="Its address.")]
    bot: Annotated[Bot, Meta(description="As it was rendered for.")] = "default"
    keep_scripts: Annotated[bool, Meta(description="As it was rendered with its scripts.")] = False


class CacheStatus(msgspec.Struct, rename="camel"):
    """Whether a page is cached, and where."""

    cached: bool
    location: Location
    normalized_url: Annotated[str, Meta(description="What all spellings of this address share.")]
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
        Meta(description="A page and what is below it; with `*` at its end all that begin like this."),
    ] = None
    all: Annotated[bool, Meta(description="Every page of yours.")] = False


class CacheCleared(msgspec.Struct, rename="camel"):
    """What has left the cache."""

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
        Meta(description="Where it is not cleared yet; that is tried again."),
    ] = UNSET


class WarmRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which pages to render before anybody asks for them: a list, or a sitemap."""

    urls: Annotated[
        list[Annotated[str, Meta(max_length=2_048)]], Meta(max_length=warm.MOST_LISTED, description="Pages.")
    ] = []
    sitemap: Annotated[str, Meta(max_length=2_048, description="The address of a sitemap or an index.")] = ""
    limit: Annotated[int, Meta(ge=1, le=warm.MOST, description="Take no more pages than this.")] = 1_000
    max_age: Annotated[
        Seconds | None, Meta(description="Render also what is cached, if it is older than this.")
    ] = None
    timeout: Annotated[
        int, Meta(ge=1, le=int(LONGEST * 1000), description="Milliseconds for each page to load.")
    ] = 30_000
    bot: Annotated[Bot, Meta(description="For whom.")] = "default"
    keep_scripts: Annotated[bool, Meta(description="Leave the scripts in the pages.")] = False


class WarmAccepted(msgspec.Struct, rename="camel"):
    """The renders are being queued."""

    job_id: str
    status_url: Annotated[str, Meta(description="Ask here until the job is done: how many were queued.")]
    events_url: str


class PageCacheFace:
    """Everybody's own pages only, admins' too."""

    def __init__(
        self, cache: PageCache, serving: Serving, forgetting: Forgetting, jobs: Jobs, dialer: Dialer
    ) -> None:
        self._cache = cache
        self._serving = serving
        self._forgetting = forgetting
        self._jobs = jobs
        self._dialer = dialer

    async def get_cache_status(self, exchange: Exchange, query: CacheStatusQuery) -> CacheStatus:
        url = Url.parse(query.url)
        self._dialer.admit(url.host, url.port)
        look = Look(bot=query.bot, keep_scripts=query.keep_scripts)
        key = page_key(exchange.caller.tenant_id, url, look)
        known = await self._cache.status(key)
        async with self._jobs.database.read() as connection:
            active = await renders.of_pages(connection, key.tenant, [page_part(key)])
        shown = CacheStatus(False, Location.NONE, key.url, bool(active))
        if known is not None:
            shown.cached, shown.location = True, known.location
            shown.last_rendered = moments.stored(known.rendered_at)
            shown.age = int(self._serving.age(known.rendered_at))
            shown.size, shown.access_count = known.size, known.access_count
        for job in active[:1]:
            shown.job_id, shown.status_url = job.job_id, f"/api/status/{job.job_id}"
        if known is None:
            shown.message = "Render job in progress" if active else "URL has not been rendered yet"
        return shown

    async def clear_cache(self, exchange: Exchange, query: CacheClearQuery) -> Response:
        tenant = exchange.caller.tenant_id
        if sum((query.url is not None, query.prefix is not None, query.all)) != 1:
            raise validation_error("Give one of url, prefix and all=true.")
        if query.url is not None:
            url = Url.parse(query.url)
            shown = _cleared(await self._forgetting.url(tenant, url))
            shown.normalized_url = cache_form(url)
            shown.message = _told_of_one(shown)
        elif query.prefix is not None:
            prefix = PagePrefix.parse(query.prefix)
            shown = _cleared(await self._forgetting.prefix(tenant, prefix))
            shown.prefix = query.prefix
        else:
            shown = _cleared(await self._forgetting.everything(tenant))
        return answer(shown, 200 if shown.success else 207)

    async def warm_cache(self, exchange: Exchange, body: WarmRequest) -> Response:
        if bool(body.urls) == bool(body.sitemap):
            raise validation_error("Give either urls or a sitemap.")
        if body.sitemap:
            url = Url.parse(body.sitemap)
            self._dialer.admit(url.host, url.port)
        caller = exchange.caller
        wanted = warm.Payload(
            urls=tuple(body.urls),
            sitemap=body.sitemap,
            limit=body.limit,
            bot=body.bot,
            keep_scripts=body.keep_scripts,
            max_age=body.max_age,
            timeout=body.timeout / 1000,
            key_id=caller.key_id,
            tier=caller.tier,
        )
        new = NewJob(
            kind=warm.KIND,
            tenant_id=caller.tenant_id,
            payload=wanted,
            idempotency_key=digest(f"{warm.KIND}\n{msgspec.json.encode(wanted).decode()}"),
            request_id=exchange.request_id,
        )
        async with self._jobs.database.write() as connection:
            job = await job_table.put(connection, new)
            accepted = answer(_accepted(job), 202, {"Location": f"/api/jobs/{job.job_id}"})
            await exchange.remember(connection, accepted)
        self._jobs.wake(job.kind)
        return accepted

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
                description="One page, all below a prefix, or all of yours; what is not there is no error. A "
                "render that has not begun is canceled; one that runs is not.",
                answers=CacheCleared,
                problems=(problems.INVALID_URL,),
                example=_EXAMPLE_CLEARED,
                others=(
                    Other(
                        status=207,
                        about="Not served any more, but one of the stores has not confirmed it yet: it is "
                        "asked again",
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
                summary="Render pages before anybody asks for them",
                description="A job that queues the renders of a list or a sitemap, behind what somebody "
                "waits for. Each counts under the daily limit; what is beyond it is not queued, and the "
                "job's result says how many.",
                status=202,
                answers=WarmAccepted,
                problems=(problems.INVALID_URL,),
                example_body=WarmRequest(sitemap="https://example.com/sitemap.xml"),
                example=_accepted_as(_EXAMPLE_ID),
                **common,
            ),
        ]


def _cleared(forgotten: Forgotten) -> CacheCleared:
    dropped = forgotten.dropped
    partly = bool(dropped.failed)
    return CacheCleared(
        success=not partly,
        cleared_from=list(dropped.cleared_from),
        freed_space=dropped.freed_bytes,
        pages=dropped.pages,
        canceled_renders=forgotten.canceled,
        message=_told_of_many(dropped.pages),
        failed=list(dropped.failed) if partly else UNSET,
    )


def _told_of_many(pages: int) -> str:
    if not pages:
        return "Nothing was cached."
    return "1 page cleared." if pages == 1 else f"{pages:,} pages cleared."


def _told_of_one(shown: CacheCleared) -> str:
    if not shown.success:
        return "The page is not served any more; what could not be cleared yet is tried again."
    if shown.pages:
        return "Cache cleared for URL. Next render request will re-render the page."
    return "URL was not cached"


def _accepted(job: Job) -> WarmAccepted:
    return _accepted_as(job.job_id)


def _accepted_as(job_id: str) -> WarmAccepted:
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
