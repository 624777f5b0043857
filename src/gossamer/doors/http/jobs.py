"""Jobs over HTTP: what became of what takes long, told once or as it happens."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.routing import Route
from gossamer.doors.http.streaming import Streaming
from gossamer.flows.admit import Caller
from gossamer.problems import Problem, validation_error
from gossamer.state.job_events import Event, EventType
from gossamer.state.job_news import News
from gossamer.state.jobs import Filter, Job, Jobs, State
from gossamer.state.tenants import Role

MOST_LISTED: Final = 100
MOST_EVENTS: Final = 1_000
LARGEST_SEQ: Final = 2**31 - 1  # that its column holds
BEAT_SECONDS: Final = 15.0  # after which a stream says that it is still there
LONGEST_STREAM: Final = 900.0  # seconds; then the client comes back with Last-Event-ID
MOST_STREAMS: Final = 100  # of one key at a time, in one process
AGAIN_SECONDS: Final = 5  # who has so many may ask for another after that
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"

Cursor = Annotated[str, Meta(max_length=26)]


class ShownJob(msgspec.Struct, rename="camel"):
    """Something that is done later, or takes long."""

    job_id: str
    kind: str
    status: State
    progress: Annotated[int, Meta(ge=0, le=100, description="Percent.")]
    attempt: Annotated[int, Meta(description="How many attempts have begun.")]
    max_attempts: int
    cancel_requested: Annotated[bool, Meta(description="It was canceled; it may still run to its next step.")]
    queued_at: str
    started_at: str | None
    finished_at: str | None
    error: Annotated[str | None, Meta(description="Of the last attempt, unless that went well.")]
    result: Annotated[Any, Meta(description="What came of it; `null` until it is done.")]
    request_id: str
    status_url: str
    events_url: str


class JobList(msgspec.Struct, rename="camel"):
    """Jobs, newest first."""

    jobs: list[ShownJob]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class JobQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which jobs to list."""

    kind: Annotated[Annotated[str, Meta(max_length=50)] | None, Meta(description="Only of this kind.")] = None
    status: Annotated[State | None, Meta(description="Only in this state.")] = None
    cursor: Annotated[Cursor | None, Meta(description="Where the page before ended.")] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="Jobs a page.")] = 50


class ShownEvent(msgspec.Struct, rename="camel"):
    """Something that happened in a job."""

    id: int
    type: EventType
    message: str
    data: Any
    progress: int | None
    at: str


class EventList(msgspec.Struct, rename="camel"):
    """Events, the earliest first."""

    events: list[ShownEvent]
    last_id: Annotated[int, Meta(description="Give it as `after` for what comes next.")]


class EventQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events."""

    after: Annotated[int, Meta(ge=0, le=LARGEST_SEQ, description="Only those after this id.")] = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_EVENTS, description="Events a page.")] = 500


class JobsFace:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._news = News(jobs)
        self._streams: Counter[str] = Counter()  # that are open, by the caller's key

    async def list_jobs(self, exchange: Exchange, query: JobQuery) -> JobList:
        which = Filter(tenant_seen_by(exchange.caller), query.kind, query.status)
        found = await self._jobs.listing(which, before=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        return JobList([shown(job) for job in page], page[-1].job_id if len(found) > query.limit else None)

    async def get_job(self, exchange: Exchange, id: str) -> ShownJob:
        return shown(await self._job(exchange, id))

    async def cancel_job(self, exchange: Exchange, id: str) -> ShownJob:
        job = await self._job(exchange, id)
        return shown(await self._jobs.cancel(job.job_id) or job)

    async def get_events(self, exchange: Exchange, id: str, query: EventQuery) -> Response:
        job = await self._job(exchange, id)
        after = _last_seen(exchange, query)
        if "text/event-stream" in (exchange.header(b"accept") or ""):
            return self._streaming(exchange.caller.key_id, job.job_id, after)
        found = await self._jobs.events(job.job_id, after_seq=after, limit=query.limit)
        return answer(EventList([_event(event) for event in found], found[-1].seq if found else after))

    async def _job(self, exchange: Exchange, job_id: str) -> Job:
        job = await self._jobs.get(job_id)
        tenant = tenant_seen_by(exchange.caller)
        if job is None or (tenant is not None and job.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no job with this id.")
        return job

    def _streaming(self, key_id: str, job_id: str, after: int) -> Streaming:
        if self._streams[key_id] >= MOST_STREAMS:
            raise _too_many_streams()
        self._streams[key_id] += 1
        return Streaming(
            self._stream(job_id, after),
            media_type="text/event-stream",
            at_end=partial(self._end_stream, key_id),
        )

    def _end_stream(self, key_id: str) -> None:
        self._streams[key_id] -= 1
        if not self._streams[key_id]:
            del self._streams[key_id]

    async def _stream(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Events as they come, until the job is over; each with an id that a client can go on from."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_STREAM
        async with self._news.following(job_id) as follower:
            while (left := until - loop.time()) > 0:
                events = await follower.since(after, min(left, BEAT_SECONDS))
                if events is None:
                    return
                for event in events:
                    after = event.seq
                    yield _sent(event)
                if not events:
                    yield b": still here\n\n"

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Jobs"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The job's id."},
            "problems": (problems.NOT_FOUND,),
        }
        return [
            Route(
                method="GET",
                path="/api/jobs",
                handler=self.list_jobs,
                summary="List your jobs, newest first",
                example=JobList([_EXAMPLE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/jobs/{id}",
                handler=self.get_job,
                summary="What became of a job",
                example=_EXAMPLE,
                **one,
            ),
            Route(
                method="GET",
                path="/api/jobs/{id}/events",
                handler=self.get_events,
                summary="What happened in a job, once or as it happens",
                description="With `Accept: text/event-stream` a stream of server-sent events that ends with "
                "the job; a client that comes back with `Last-Event-ID` goes on where it was. A key may have "
                f"{MOST_STREAMS} of them at a time.",
                answers=EventList,
                also={"text/event-stream": None},
                deadline=LONGEST_STREAM + 30,
                example=EventList([_EXAMPLE_EVENT], 2),
                **one,
            ),
            Route(
                method="DELETE",
                path="/api/jobs/{id}",
                handler=self.cancel_job,
                summary="Cancel a job",
                description="One that is queued is over at once; one that is running stops at its next step, "
                "and until then has `cancelRequested`. Who asks for the same again gets a new job.",
                example=msgspec.structs.replace(_EXAMPLE, cancel_requested=True),
                **one,
            ),
        ]


def tenant_seen_by(caller: Caller) -> str | None:
    """Everybody sees their own tenant; admins see all."""
    return None if caller.role is Role.ADMIN else caller.tenant_id


def shown(job: Job) -> ShownJob:
    return ShownJob(
        job_id=job.job_id,
        kind=job.kind,
        status=job.status,
        progress=job.progress_pct,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        cancel_requested=job.cancel_requested,
        queued_at=moments.stored(job.queued_at),
        started_at=moments.stored(job.started_at),
        finished_at=moments.stored(job.finished_at),
        error=job.last_error,
        result=msgspec.json.decode(job.result_json) if job.result_json else None,
        request_id=job.request_id,
        status_url=f"/api/jobs/{job.job_id}",
        events_url=f"/api/jobs/{job.job_id}/events",
    )


def _last_seen(exchange: Exchange, query: EventQuery) -> int:
    """A client that comes back says in a header where it was."""
    last = exchange.header(b"last-event-id")
    if not last:
        return query.after
    if not last.isdecimal() or len(last) > 9:
        raise validation_error("Last-Event-ID is not the id of an event.", hint="Leave it out to start over.")
    return int(last)


def _too_many_streams() -> Problem:
    return Problem(
        problems.RATE_LIMITED,
        f"{MOST_STREAMS} streams of events are open with this key; there can be no more.",
        hint="Close those that are not read any more, or ask for the events as JSON.",
        headers={"Retry-After": str(AGAIN_SECONDS)},
        retryAfter=AGAIN_SECONDS,
        details={"reason": "too_many_streams"},
        limit=MOST_STREAMS,
        used=MOST_STREAMS,
    )


def _event(event: Event) -> ShownEvent:
    return ShownEvent(
        id=event.seq,
        type=event.type,
        message=event.message,
        data=msgspec.json.decode(event.data_json) if event.data_json else None,
        progress=event.progress_pct,
        at=moments.stored(event.created_at),
    )


def _sent(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (
        event.seq,
        event.type.value.encode(),
        msgspec.json.encode(_event(event)),
    )


_EXAMPLE: Final = ShownJob(
    job_id=_EXAMPLE_ID,
    kind="audit",
    status=State.RUNNING,
    progress=40,
    attempt=1,
    max_attempts=3,
    cancel_requested=False,
    queued_at="2026-01-01T12:00:00.000Z",
    started_at="2026-01-01T12:00:00.020Z",
    finished_at=None,
    error=None,
    result=None,
    request_id="wl_m5x7k2qa_a3b9c1",
    status_url=f"/api/jobs/{_EXAMPLE_ID}",
    events_url=f"/api/jobs/{_EXAMPLE_ID}/events",
)
_EXAMPLE_EVENT: Final = ShownEvent(
    id=2,
    type=EventType.STEP_STARTED,
    message="fetching the page",
    data=None,
    progress=5,
    at="2026-01-01T12:00:00.040Z",
)
