"""Jobs and their events as the API shows them."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import answer
from gossamer.flows.data.removal import deleter
from gossamer.flows.render import render
from gossamer.flows.render.render_failure import RenderFailure
from gossamer.problems import ProblemKind
from gossamer.state.jobs.job import Job, JobError, JobState
from gossamer.state.jobs.job_events import Event, JobEventType

_KINDS: Final = {kind.code: kind for kind in problems.KINDS.values()}
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class JobProblem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why the last attempt at a job failed."""

    code: Annotated[str, Meta(description="The code of the problem.")]
    title: str
    message: Annotated[str, Meta(description="What happened, in a sentence.")]
    reason: Annotated[str | None, Meta(description="The precise reason, where there is one.")]
    hint: Annotated[str, Meta(description="What to do about it.")]
    docs_url: Annotated[str, Meta(description="The page that explains the problem.")]


class ShownJob(msgspec.Struct, rename="camel"):
    """A job: work that runs in the background."""

    job_id: str
    kind: str
    subject: Annotated[
        str,
        Meta(
            description="The page, site or sitemap that it works on, or the id of what it deletes; empty if "
            "it is a list."
        ),
    ]
    status: JobState
    progress: Annotated[int, Meta(ge=0, le=100, description="Percent.")]
    attempt: Annotated[int, Meta(description="Attempts that have started.")]
    max_attempts: int
    cancel_requested: Annotated[
        bool, Meta(description="Cancelling was requested; the job may still run to its next step.")
    ]
    queued_at: str
    started_at: str | None
    finished_at: str | None
    error: Annotated[str | None, Meta(description="The error of the last attempt, if it failed.")]
    problem: Annotated[JobProblem | None, Meta(description="The same error, in parts.")]
    result: Annotated[Any, Meta(description="The result; `null` until the job is done.")]
    request_id: str
    status_url: str
    events_url: str


class ShownEvent(msgspec.Struct, rename="camel"):
    """An event of a job."""

    id: int
    type: JobEventType
    message: str
    data: Any
    progress: int | None
    at: str


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a payload that names what the job works on."""

    url: str = ""
    sitemap: str = ""
    subject: str = ""  # of a deletion


class _Payload(_Asked, frozen=True):
    request: _Asked = _Asked()


_decode_payload: Final = msgspec.json.Decoder(_Payload).decode


def to_api(job: Job) -> ShownJob:
    return ShownJob(
        job_id=job.job_id,
        kind=job.kind,
        subject=subject_of(job),
        status=job.status,
        progress=job.progress_pct,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        cancel_requested=job.cancel_requested,
        queued_at=timestamps.from_ms(job.queued_at),
        started_at=timestamps.from_ms(job.started_at),
        finished_at=timestamps.from_ms(job.finished_at),
        error=str(job.last_error) if job.last_error else None,
        problem=_to_problem(job, job.last_error) if job.last_error else None,
        result=msgspec.json.decode(job.result_json) if job.result_json else None,
        request_id=job.request_id,
        status_url=f"/api/jobs/{job.job_id}",
        events_url=f"/api/jobs/{job.job_id}/events",
    )


def accept(job: Job) -> Response:
    """The answer to a request whose work a job does."""
    return answer(to_api(job), 202, {"Location": f"/api/jobs/{job.job_id}"})


def subject_of(job: Job) -> str:
    try:
        payload = _decode_payload(job.payload_json)
    except msgspec.DecodeError:  # the payload names nothing
        return ""
    return payload.url or payload.request.url or payload.request.sitemap or payload.subject


def _to_problem(job: Job, error: JobError) -> JobProblem:
    kind = _KINDS.get(error.code, problems.INTERNAL_ERROR)
    return JobProblem(
        code=error.code,
        title=kind.title,
        message=error.detail,
        reason=error.reason,
        hint=_hint(job, kind),
        docs_url=f"/problems/{kind.name}",
    )


def _hint(job: Job, kind: ProblemKind) -> str:
    """Renders know more about what helps than the table of problems does."""
    failure = RenderFailure.of(job) if job.kind == render.KIND else None
    return failure.suggestion if failure is not None else kind.fixes[0]


def to_event(event: Event) -> ShownEvent:
    return ShownEvent(
        id=event.seq,
        type=event.type,
        message=event.message,
        data=msgspec.json.decode(event.data_json) if event.data_json else None,
        progress=event.progress_pct,
        at=timestamps.from_ms(event.created_at),
    )


EXAMPLE_JOB: Final = ShownJob(
    job_id=_EXAMPLE_ID,
    kind="audit",
    subject="https://example.com/",
    status=JobState.RUNNING,
    progress=40,
    attempt=1,
    max_attempts=3,
    cancel_requested=False,
    queued_at="2026-01-01T12:00:00.000Z",
    started_at="2026-01-01T12:00:00.020Z",
    finished_at=None,
    error=None,
    problem=None,
    result=None,
    request_id="wl_m5x7k2qa_a3b9c1",
    status_url=f"/api/jobs/{_EXAMPLE_ID}",
    events_url=f"/api/jobs/{_EXAMPLE_ID}/events",
)
EXAMPLE_DELETION: Final = msgspec.structs.replace(
    EXAMPLE_JOB,
    kind=deleter.KIND,
    subject="01JGGR0V4M7N2P5R8T1W4Y7Z0B",
    status=JobState.QUEUED,
    progress=0,
    attempt=0,
    started_at=None,
)
EXAMPLE_EVENT: Final = ShownEvent(
    id=2,
    type=JobEventType.STEP_STARTED,
    message="fetching the page",
    data=None,
    progress=5,
    at="2026-01-01T12:00:00.040Z",
)
