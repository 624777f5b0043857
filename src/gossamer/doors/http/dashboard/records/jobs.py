"""The pages of jobs: the list, and one job with its timeline."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import ShownJob, to_api
from gossamer.doors.http.api.admin.jobs import JobQuery, JobsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.flows.audit import audits
from gossamer.flows.batch import batch_job
from gossamer.flows.render import render, warm
from gossamer.flows.sites import site_warmer
from gossamer.observe.redaction import redact_values
from gossamer.problems import Problem
from gossamer.state.jobs.job import Job, JobState

HERE: Final = "/app/jobs"
KIND_NAMES: Final = {
    render.KIND: "Render",
    warm.KIND: "Warm the cache",
    site_warmer.KIND: "Render pages of a site",
    audits.KINDS["page"]: "Audit of a page",
    audits.KINDS["site"]: "Audit of a site",
    batch_job.KIND: "Batch",
}
MAX_SHOWN_CHARS: Final = 100_000  # of a payload or a result


class JobListQuery(msgspec.Struct):
    """Which jobs to show; empty is all."""

    kind: str = ""
    status: str = ""
    cursor: str = ""


class JobPages(Struct, frozen=True):
    dashboard: Dashboard
    jobs: JobsEndpoints
    clock: Callable[[], float] = time.time

    async def show_list(self, exchange: Exchange, query: JobListQuery) -> Response:
        chosen = filters(query)
        found = await self.jobs.list_jobs(exchange, chosen.to(JobQuery))
        return self.dashboard.render(
            exchange,
            "records/jobs.html",
            here="jobs",
            found=found,
            filters=chosen,
            kinds=KIND_NAMES,
            states=tuple(JobState),
            **list_links(HERE, chosen, found.next_cursor),
            took=partial(elapsed_ms, now=self.clock()),
        )

    async def show(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        job = await self.jobs.find_job(exchange, id)
        shown = to_api(job)
        listed = await self.jobs.list_events(job)
        # Events that are newer than the job's state are left to the stream, which brings that state too.
        events = [event for event in listed.events if event.id <= job.event_seq]
        payload = redact_values(msgspec.json.decode(job.payload_json))
        return self.dashboard.render(
            exchange,
            "records/job.html",
            here="jobs",
            form=form,
            job=shown,
            name=KIND_NAMES.get(job.kind, job.kind),
            events=events,
            events_seen=job.event_seq,
            payload=payload if len(job.payload_json) <= MAX_SHOWN_CHARS else None,
            result=shown.result if len(job.result_json or "") <= MAX_SHOWN_CHARS else None,
            too_long=len(job.payload_json) > MAX_SHOWN_CHARS or len(job.result_json or "") > MAX_SHOWN_CHARS,
            made=_made(job, payload),
            took=elapsed_ms(shown, self.clock()),
            since=partial(ms_between, shown.queued_at),
        )

    async def cancel(self, exchange: Exchange, form: Form, id: str) -> Response:
        before = await self.jobs.find_job(exchange, id)
        if before.status.is_over:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                f"The job is {before.status.value} already.",
                hint="There is nothing left to cancel.",
            )
        after = await self.jobs.cancel_job(exchange, id)
        notice = "job-canceled" if after.status.is_over else "job-cancel-requested"
        return self.dashboard.see(f"{HERE}/{id}", notice=notice)

    def routes(self) -> list[Route]:
        return [
            self.dashboard.page(HERE, self.show_list, "Jobs"),
            self.dashboard.page(f"{HERE}/{{id}}", self.show, "A job"),
            self.dashboard.form(f"{HERE}/{{id}}/cancel", self.cancel, "Cancel a job", show=self.show),
        ]


def ms_between(earlier: str, later: str) -> float:
    """Milliseconds between two times in ISO 8601."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() * 1000


def elapsed_ms(job: ShownJob, now: float) -> float | None:
    """How long the job ran, or has been running; None if it has not begun."""
    if job.started_at is None:
        return None
    if job.finished_at is not None:
        return ms_between(job.started_at, job.finished_at)
    return max(0.0, now * 1000 - datetime.fromisoformat(job.started_at).timestamp() * 1000)


def _made(job: Job, payload: Any) -> tuple[str, str] | None:
    """What the job made, as a text and an address."""
    known: dict[str, Any] = payload if isinstance(payload, dict) else {}
    if job.kind in audits.KINDS.values() and "audit_id" in known:
        return "Open the audit", f"/app/audits/{known['audit_id']}"
    if job.kind == batch_job.KIND:
        return "Open the batch", f"/app/batches/{job.job_id}"
    if job.kind == render.KIND and job.status is JobState.DONE and "request" in known:
        asked = known["request"]
        query = {name: asked[name] for name in ("url", "bot", "device") if name in asked}
        scripts = {"scripts": "on"} if asked.get("keepScripts") else {}
        return "Open the cached page", f"/app/cache/page?{urlencode({**query, **scripts})}"
    if job.kind == warm.KIND:
        return "See the renders", f"{HERE}?kind={render.KIND}"
    return None
