"""`POST /api/render`: the page at a URL as a browser sees it, and how far its render is."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.api.render.robot_visit import MAX_ROBOT_CHARS, ROBOT, RobotVisit
from gossamer.doors.http.api.render.served_page import HEADERS, page_answer
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.repeating import RepeatableRender
from gossamer.doors.http.core.routing import Other, Route
from gossamer.doors.http.layers.limiting import count_also, within_limits
from gossamer.flows.render.pace import RenderPace
from gossamer.flows.render.render import KIND
from gossamer.flows.render.render_failure import RenderFailure
from gossamer.flows.render.serve import REFUSED_SECONDS, HotPage, Queued, RenderService
from gossamer.flows.sites.bot_reports import BotReports
from gossamer.flows.sites.site_directory import SiteDirectory
from gossamer.problems import Problem
from gossamer.reach.page.visit import Awaited
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job, JobState
from gossamer.state.jobs.job_events import JobEventType
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pages.cached_page import PageHit
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import PUBLIC, Role
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.timestamps import iso
from gossamer.web.render.request import MAX_WAIT_SECONDS, RenderErrorCode, RenderRequest, RenderResult
from gossamer.web.url.url import Url

MAX_RETRY_AFTER: Final = 60  # seconds
PAID_WAIT_SECONDS: Final = 30.0  # on Solana a payment can be settled for about a minute after it was signed
_RECENT: Final = 5  # events to read, to find the current step
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class RenderAccepted(msgspec.Struct, rename="camel"):
    """The page is being rendered, or its last render failed a moment ago."""

    status: Annotated[
        Literal["queued", "failed"],
        Meta(description="`failed`: the last render failed and is not repeated yet. `statusUrl` says why."),
    ]
    job_id: str
    status_url: Annotated[str, Meta(description="Poll this until the render has completed or failed.")]
    estimated_time: Annotated[
        int, Meta(description="Milliseconds, estimated from recent renders and the queue.")
    ]
    message: str


class RenderStatus(msgspec.Struct, rename="camel"):
    """How far a render is, its result, or why it failed."""

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
    error_code: RenderErrorCode | UnsetType = UNSET
    awaited: Annotated[
        Awaited | UnsetType, Meta(description="What the page was still waited for when time was up.")
    ] = UNSET
    retries_left: Annotated[int | UnsetType, Meta(description="Attempts that remain.")] = UNSET
    failed_at: str | UnsetType = UNSET
    suggestion: str | UnsetType = UNSET


class RenderEndpoints(Struct):
    render_service: RenderService
    jobs: Jobs
    pace: RenderPace
    directory: SiteDirectory
    reports: BotReports
    upgrade_url: str | None
    clock: Callable[[], float] = time.time

    async def render_page(self, exchange: Exchange, body: RenderRequest) -> Response:
        if exchange.caller.via is Via.WALLET:
            body = _waiting(body)
        url = Url.parse(body.url)
        found = await self.directory.find(exchange.caller, url)
        robot = exchange.header(ROBOT) or ""
        if found.site is None:
            return await self._render(exchange, body)
        with RobotVisit(exchange, self.reports, found, robot[:MAX_ROBOT_CHARS], body.url) as visit:
            found.site.settings.refuse_excluded(url, robot)
            return await self._render(exchange, found.site.settings.apply(body), visit)

    async def _render(
        self, exchange: Exchange, body: RenderRequest, visit: RobotVisit | None = None
    ) -> Response:
        on_queued = None if body.wait else partial(self._remember, exchange)
        asking = self.render_service.ask(
            exchange.caller, body, exchange.request_id, on_queued, exchange.admit_work
        )
        work = exchange.unless_gone(asking) if body.wait else asking
        outcome = await within_limits(exchange, self.upgrade_url or None, work)
        if isinstance(outcome, PageHit):
            exchange.outcome = Outcome.OK
            if visit is not None:
                visit.note(outcome)
            if outcome.is_ordinary and exchange.caller.via is not Via.WALLET:
                hot_page = HotPage(outcome.name, outcome.edition, outcome.page.rendered_at)
                followed = hot_page if visit is None else visit.follow(hot_page)
                exchange.repeatable = RepeatableRender(followed, body)
            if visit is None:
                return await page_answer(exchange, outcome)
            return await page_answer(exchange, outcome, visit.settings.keeps_header)
        return await self._accept(exchange, outcome)

    async def _is_cached(self, exchange: Exchange, body: RenderRequest) -> bool:
        caller = replace(exchange.caller, tenant_id=exchange.caller.tenant_id or PUBLIC)
        site = (await self.directory.find(caller, Url.parse(body.url))).site
        return await self.render_service.has(caller, body if site is None else site.settings.apply(body))

    async def get_status(self, exchange: Exchange, id: str) -> RenderStatus:
        job = await self.jobs.get(id)
        tenant = tenant_seen_by(exchange.caller)
        if job is None or job.kind != KIND or (tenant is not None and job.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no render with this id.")
        if job.status is JobState.DONE:
            return _to_completed(job)
        if job.status.is_over:
            return _to_failed(job)
        return await self._to_unfinished(job)

    async def _accept(self, exchange: Exchange, queued: Queued) -> Response:
        exchange.cache_hit = False
        if queued.limit_status is not None:
            count_also(exchange, queued.limit_status)
        if queued.job.status is JobState.FAILED:
            return self._to_refused(queued.job)
        return self._to_accepted(queued.job, await self.pace.estimate())

    async def _remember(self, exchange: Exchange, connection: AsyncConnection, job: Job) -> None:
        await exchange.remember(connection, self._to_accepted(job, await self.pace.estimate()))

    def _to_accepted(self, job: Job, estimate: int) -> Response:
        message = "Page is being rendered. Poll statusUrl for completion."
        return _answer_accepted("queued", job, estimate, message, _whole_seconds(estimate))

    def _to_refused(self, job: Job) -> Response:
        since = max(0, round(self.clock() - (job.finished_at or job.queued_at) / 1000))
        left = max(1, round(REFUSED_SECONDS) - since)
        message = (
            f"The page could not be rendered {since} s ago: see statusUrl. It is tried again when it is "
            f"asked for in {left} s, or at once with maxAge 0."
        )
        return _answer_accepted("failed", job, left * 1000, message, left)

    async def _to_unfinished(self, job: Job) -> RenderStatus:
        now = self.clock()
        if job.status is JobState.QUEUED:
            again = RenderFailure.of(job)
            estimate = await self.pace.estimate() / 1000
            return RenderStatus(
                status="queued",
                job_id=job.job_id,
                progress=0,
                message=f"Waiting to be tried again: {again.detail}" if again else "Waiting for a browser.",
                estimated_completion=iso(max(now, job.run_at / 1000) + estimate),
                retries_left=job.max_attempts - job.attempt,
            )
        left = await self.pace.one() / 1000 * (100 - job.progress_pct) / 100  # of this attempt
        return RenderStatus(
            status="processing",
            job_id=job.job_id,
            progress=job.progress_pct,
            message=await self._doing(job),
            started_at=timestamps.from_ms(job.started_at or job.queued_at),
            estimated_completion=iso(now + left),
            retries_left=job.max_attempts - job.attempt,
        )

    async def _doing(self, job: Job) -> str:
        recent = await self.jobs.events(job.job_id, after_seq=max(0, job.event_seq - _RECENT))
        steps = [event.message for event in recent if event.type is JobEventType.STEP_STARTED]
        return f"{steps[-1][:1].upper()}{steps[-1][1:]}..." if steps else "Starting..."

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Render"}
        return [
            Route(
                method="POST",
                path="/api/render",
                handler=self.render_page,
                price="render",
                peek=self._is_cached,
                summary="A page as a browser sees it",
                description="A cached page is answered with 200 and its HTML, compressed if you accept it. "
                "Otherwise one render is queued for all concurrent requests, and the answer is 202 with "
                "`Location` and `Retry-After`; `wait` holds the request until the page is there. Every visit "
                "of a browser counts under the daily limit; hits and shared renders do not. A page that "
                f"failed for good is not rendered again for {REFUSED_SECONDS / 60:.0f} minutes, or for "
                "`maxAge`. Scripts are removed after they have run; JSON-LD stays. A page may set its own "
                "status (`prerender-status-code`), which is `X-Page-Status`, and some headers "
                "(`prerender-header`). For a site that you have registered, its settings are used; with "
                "`X-Gossamer-Robot`, the User-Agent or token of the robot that asks, its visit is counted.",
                media_type="text/html",
                deadline=MAX_WAIT_SECONDS + 15,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_SELECTOR,
                    problems.RENDER_FAILED,
                    problems.RENDER_EXCLUDED,
                ),
                example_body=RenderRequest(url="https://example.com/", max_age=86_400),
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
                    Other(status=304, about="The ETag still matches", headers=HEADERS),
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


def _waiting(body: RenderRequest) -> RenderRequest:
    """A wallet pays for a page, not for a job: it waits, and pays nothing while there is none."""
    wait = min(body.wait or PAID_WAIT_SECONDS, PAID_WAIT_SECONDS)
    return msgspec.structs.replace(body, wait=wait)


def _answer_accepted(
    status: Literal["queued", "failed"], job: Job, estimate: int, message: str, retry_after: int
) -> Response:
    where = f"/api/status/{job.job_id}"
    shown = RenderAccepted(status, job.job_id, where, estimate, message)
    return answer(shown, 202, {"X-Cache": "MISS", "Location": where, "Retry-After": str(retry_after)})


def _whole_seconds(milliseconds: int) -> int:
    return min(MAX_RETRY_AFTER, max(1, -(-milliseconds // 1000)))


def _to_completed(job: Job) -> RenderStatus:
    result = msgspec.json.decode(job.result_json or "{}", type=RenderResult)
    return RenderStatus(
        status="completed",
        job_id=job.job_id,
        url=result.url,
        cached_url="/api/render",
        size=result.size,
        render_time=result.render_time,
        completed_at=timestamps.from_ms(job.finished_at or job.queued_at),
        message="Page rendered successfully. Subsequent requests will be served from cache.",
    )


def _to_failed(job: Job) -> RenderStatus:
    failure = RenderFailure.of(job)
    code = failure.code if failure else RenderErrorCode.WORKER_ERROR
    return RenderStatus(
        status="failed",
        job_id=job.job_id,
        error=failure.detail if failure else "It is not known why.",
        error_code=code,
        awaited=(failure.awaited if failure else None) or UNSET,
        retries_left=0,
        failed_at=timestamps.from_ms(job.finished_at or job.queued_at),
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
