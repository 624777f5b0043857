"""Render: a URL in, the page as a browser sees it out."""

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.jobs import tenant_seen_by
from gossamer.doors.http.limiting import count_also, within_limits
from gossamer.doors.http.routing import Other, Route
from gossamer.doors.http.served_page import HEADERS, page_answer
from gossamer.flows.pace import Pace
from gossamer.flows.render import KIND, LONGEST, Look, page_key
from gossamer.flows.render_failure import Code, Failure
from gossamer.flows.serve import REFUSED_SECONDS, Hit, HotPage, Queued, Serving, Wish
from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.state.job_events import EventType
from gossamer.state.jobs import Job, Jobs, State
from gossamer.state.tenants import Role
from gossamer.web.selector import refuse_broken
from gossamer.web.url import Url

LONGEST_WAIT: Final = 60
LONGEST_RETRY: Final = 60  # seconds that a client is told to wait at most
_RECENT: Final = 5  # events that are read to know what is being done
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"

Bot = Literal["default", "chatgpt", "claude", "perplexity", "gemini"]
Seconds = Annotated[int, Meta(ge=0, le=315_360_000)]


class RenderRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which page, and how old it may be."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
    wait_for_selector: Annotated[
        Annotated[str, Meta(min_length=1, max_length=500)] | None,
        Meta(description="A CSS selector: the page is done when something matches."),
    ] = None
    timeout: Annotated[
        int, Meta(ge=1, le=int(LONGEST * 1000), description="Milliseconds for the page to load.")
    ] = 30_000
    wait: Annotated[
        Annotated[float, Meta(ge=0, le=LONGEST_WAIT)],
        Meta(description="Seconds to hold the request while the page is rendered; 0 answers at once."),
    ] = 0
    max_age: Annotated[
        Seconds | None, Meta(description="Take nothing older than this many seconds from the cache.")
    ] = None
    stale_while_revalidate: Annotated[
        Seconds, Meta(description="So many seconds beyond `maxAge` it is served while it is rendered anew.")
    ] = 0
    stale_if_error: Annotated[
        Seconds, Meta(description="So many seconds beyond `maxAge` it is served when that fails.")
    ] = 0
    bot: Annotated[Bot, Meta(description="For whom, where the site treats bots differently.")] = "default"
    keep_scripts: Annotated[bool, Meta(description="Leave the scripts in the page.")] = False


class RenderAccepted(msgspec.Struct, rename="camel"):
    """The page is being rendered; or it could not be, a moment ago."""

    status: Annotated[
        Literal["queued", "failed"],
        Meta(description="`failed`: the render of before, which is not repeated yet. `statusUrl` says why."),
    ]
    job_id: str
    status_url: Annotated[str, Meta(description="Ask here until it is completed or failed.")]
    estimated_time: Annotated[int, Meta(description="Milliseconds, from measured renders and the queue.")]
    message: str


class RenderStatus(msgspec.Struct, rename="camel"):
    """How far a render is, what came of it, or why it failed."""

    status: Literal["queued", "processing", "completed", "failed"]
    job_id: str
    message: str | UnsetType = UNSET
    progress: Annotated[int | UnsetType, Meta(description="Percent.")] = UNSET
    started_at: str | UnsetType = UNSET
    estimated_completion: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    cached_url: Annotated[str | UnsetType, Meta(description="Send the same request there again.")] = UNSET
    size: Annotated[int | UnsetType, Meta(description="Bytes of HTML.")] = UNSET
    render_time: Annotated[int | UnsetType, Meta(description="Milliseconds.")] = UNSET
    completed_at: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    error_code: Code | UnsetType = UNSET
    retries_left: Annotated[int | UnsetType, Meta(description="Attempts that are still made.")] = UNSET
    failed_at: str | UnsetType = UNSET
    suggestion: str | UnsetType = UNSET


class Render:
    def __init__(
        self,
        serving: Serving,
        jobs: Jobs,
        pace: Pace,
        dialer: Dialer,
        upgrade_url: str | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._serving = serving
        self._jobs = jobs
        self._pace = pace
        self._dialer = dialer
        self._upgrade_url = upgrade_url or None
        self._clock = clock

    async def render_page(self, exchange: Exchange, body: RenderRequest) -> Response:
        wish = _wish(body)
        if wish.wait_for is not None:
            refuse_broken(wish.wait_for)
        self._dialer.admit(wish.url.host, wish.url.port)
        also = None if wish.wait else partial(self._remember, exchange)
        asking = self._serving.ask(exchange.caller, wish, exchange.request_id, also)
        work = exchange.unless_gone(asking) if wish.wait else asking
        outcome = await within_limits(exchange, self._upgrade_url, work)
        if isinstance(outcome, Hit):
            if outcome.is_ordinary:
                key = page_key(exchange.caller.tenant_id, wish.url, wish.look)
                found = outcome.found
                exchange.hot_page = HotPage(key.name, found.edition, found.page.rendered_at), wish
            return await page_answer(exchange, outcome)
        return await self._accepted(exchange, outcome)

    async def _is_kept(self, exchange: Exchange, body: RenderRequest) -> bool:
        return await self._serving.has(exchange.caller, _wish(body))

    async def get_status(self, exchange: Exchange, id: str) -> RenderStatus:
        job = await self._jobs.get(id)
        tenant = tenant_seen_by(exchange.caller)
        if job is None or job.kind != KIND or (tenant is not None and job.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no render with this id.")
        if job.status is State.DONE:
            return _completed(job)
        if job.status.is_over:
            return _failed(job)
        return await self._under_way(job)

    async def _accepted(self, exchange: Exchange, queued: Queued) -> Response:
        exchange.cache_hit = False
        if queued.standing is not None:
            count_also(exchange, queued.standing)
        if queued.job.status is State.FAILED:
            return self._failed_before(queued.job)
        return self._acceptance(queued.job, await self._pace.estimate())

    async def _remember(self, exchange: Exchange, connection: AsyncConnection, job: Job) -> None:
        await exchange.remember(connection, self._acceptance(job, await self._pace.estimate()))

    def _acceptance(self, job: Job, estimate: int) -> Response:
        message = "Page is being rendered. Poll statusUrl for completion."
        return _told_where("queued", job, estimate, message, _whole_seconds(estimate))

    def _failed_before(self, job: Job) -> Response:
        since = max(0, round(self._clock() - (job.finished_at or job.queued_at) / 1000))
        left = max(1, round(REFUSED_SECONDS) - since)
        message = (
            f"The page could not be rendered {since} s ago: see statusUrl. It is tried again when it is "
            f"asked for in {left} s, or at once with maxAge 0."
        )
        return _told_where("failed", job, left * 1000, message, left)

    async def _under_way(self, job: Job) -> RenderStatus:
        now = self._clock()
        if job.status is State.QUEUED:
            again = Failure.of(job)
            estimate = await self._pace.estimate() / 1000
            return RenderStatus(
                status="queued",
                job_id=job.job_id,
                progress=0,
                message=f"Waiting to be tried again: {again.detail}" if again else "Waiting for a browser.",
                estimated_completion=moments.iso(max(now, job.run_at / 1000) + estimate),
                retries_left=job.max_attempts - job.attempt,
            )
        left = await self._pace.one() / 1000 * (100 - job.progress_pct) / 100  # of this attempt
        return RenderStatus(
            status="processing",
            job_id=job.job_id,
            progress=job.progress_pct,
            message=await self._doing(job),
            started_at=moments.stored(job.started_at or job.queued_at),
            estimated_completion=moments.iso(now + left),
            retries_left=job.max_attempts - job.attempt,
        )

    async def _doing(self, job: Job) -> str:
        recent = await self._jobs.events(job.job_id, after_seq=max(0, job.event_seq - _RECENT))
        steps = [event.message for event in recent if event.type is EventType.STEP_STARTED]
        return f"{steps[-1][:1].upper()}{steps[-1][1:]}..." if steps else "Starting..."

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Render"}
        return [
            Route(
                method="POST",
                path="/api/render",
                handler=self.render_page,
                peek=self._is_kept,
                summary="A page as a browser sees it",
                description="From the cache where it can: 200 with the HTML, compressed for who accepts it. "
                "Else a render is queued, one for all who ask, and the answer is 202 with `Location` and "
                "`Retry-After`; with `wait` the request is held until the page is there. Only a render "
                "that is queued counts under the daily limit, once. What failed for good is believed for "
                f"{REFUSED_SECONDS / 60:.0f} minutes, or for `maxAge`, before it is rendered again. Scripts "
                "have done their work and are left out, JSON-LD stays. A page may name its own status "
                "(`prerender-status-code`), which is `X-Page-Status`, and some headers (`prerender-header`).",
                media_type="text/html",
                deadline=LONGEST_WAIT + 15,
                problems=(problems.INVALID_URL, problems.INVALID_SELECTOR, problems.RENDER_FAILED),
                example_body=RenderRequest("https://example.com/", max_age=86_400),
                example="<!DOCTYPE html><html><head>...</head><body>...</body></html>",
                headers=HEADERS,
                others=(
                    Other(
                        status=202,
                        about="The page is being rendered",
                        answers=RenderAccepted,
                        example=_EXAMPLE_ACCEPTED,
                        headers={"X-Cache": "`MISS`."},
                    ),
                    Other(status=304, about="You have it: the ETag is the same", headers=HEADERS),
                ),
                **common,
            ),
            Route(
                method="GET",
                path="/api/status/{id}",
                handler=self.get_status,
                summary="How far a render is",
                parameters={"id": "The `jobId` of a render."},
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE_STATUS,
                **common,
            ),
        ]


def _wish(body: RenderRequest) -> Wish:
    return Wish(
        url=Url.parse(body.url),
        look=Look(bot=body.bot, keep_scripts=body.keep_scripts),
        wait_for=body.wait_for_selector,
        timeout=body.timeout / 1000,
        wait=body.wait,
        max_age=body.max_age,
        stale_while_revalidate=body.stale_while_revalidate,
        stale_if_error=body.stale_if_error,
    )


def _told_where(
    status: Literal["queued", "failed"], job: Job, estimate: int, message: str, retry_after: int
) -> Response:
    where = f"/api/status/{job.job_id}"
    shown = RenderAccepted(status, job.job_id, where, estimate, message)
    return answer(shown, 202, {"X-Cache": "MISS", "Location": where, "Retry-After": str(retry_after)})


def _whole_seconds(milliseconds: int) -> int:
    return min(LONGEST_RETRY, max(1, -(-milliseconds // 1000)))


def _completed(job: Job) -> RenderStatus:
    result = msgspec.json.decode(job.result_json or "{}")
    return RenderStatus(
        status="completed",
        job_id=job.job_id,
        url=result.get("url", ""),
        cached_url="/api/render",
        size=result.get("size", 0),
        render_time=result.get("renderTime", 0),
        completed_at=moments.stored(job.finished_at or job.queued_at),
        message="Page rendered successfully. Subsequent requests will be served from cache.",
    )


def _failed(job: Job) -> RenderStatus:
    failure = Failure.of(job)
    code = failure.code if failure else Code.WORKER_ERROR
    return RenderStatus(
        status="failed",
        job_id=job.job_id,
        error=failure.detail if failure else "It is not known why.",
        error_code=code,
        retries_left=0,
        failed_at=moments.stored(job.finished_at or job.queued_at),
        suggestion=failure.suggestion if failure else UNSET,
    )


_EXAMPLE_ACCEPTED: Final = RenderAccepted(
    "queued",
    _EXAMPLE_ID,
    f"/api/status/{_EXAMPLE_ID}",
    3_000,
    "Page is being rendered. Poll statusUrl for completion.",
)
_EXAMPLE_STATUS: Final = RenderStatus(
    status="completed",
    job_id=_EXAMPLE_ID,
    url="https://example.com/",
    cached_url="/api/render",
    size=245_678,
    render_time=2_340,
    completed_at="2026-01-01T12:00:03.000Z",
    message="Page rendered successfully. Subsequent requests will be served from cache.",
)
