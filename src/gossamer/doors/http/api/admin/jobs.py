"""Endpoints for jobs and their events, as JSON or as a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import (
    EXAMPLE_EVENT,
    EXAMPLE_JOB,
    ShownEvent,
    ShownJob,
    to_api,
    to_event,
)
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import (
    BEAT,
    BEAT_SECONDS,
    EVENTS,
    MAX_STREAMS,
    EventStreams,
)
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem, validation_error
from gossamer.state.jobs.event_feed import EventFeed
from gossamer.state.jobs.job import Job, JobFilter, JobState
from gossamer.state.jobs.job_events import Event
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants.tenants import Role

MAX_JOBS_LISTED: Final = 100
MAX_EVENTS_LISTED: Final = 1_000
MAX_SEQ: Final = 2**31 - 1  # the maximum of the column
MAX_STREAM_SECONDS: Final = 900.0  # then the client reconnects with Last-Event-ID

Cursor = Annotated[str, Meta(max_length=26)]


class JobList(msgspec.Struct, rename="camel"):
    """Jobs, newest first."""

    jobs: list[ShownJob]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class JobQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which jobs to list."""

    kind: Annotated[
        Annotated[str, Meta(max_length=50)] | None, Meta(description="Only jobs of this kind.")
    ] = None
    status: Annotated[JobState | None, Meta(description="Only jobs in this state.")] = None
    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_JOBS_LISTED, description="Jobs in a page.")] = 50


class EventList(msgspec.Struct, rename="camel"):
    """Events, the earliest first."""

    events: list[ShownEvent]
    last_id: Annotated[int, Meta(description="Give it as `after` for the next events.")]


class EventQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events to list."""

    after: Annotated[int, Meta(ge=0, le=MAX_SEQ, description="Only events after this id.")] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_EVENTS_LISTED, description="Events in a page.")] = 500


class JobsEndpoints:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._feed = EventFeed(jobs)
        self._streams = EventStreams()

    async def list_jobs(self, exchange: Exchange, query: JobQuery) -> JobList:
        which = JobFilter(tenant_seen_by(exchange.caller), query.kind, query.status)
        found = await self._jobs.list_jobs(which, before=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        return JobList([to_api(job) for job in page], page[-1].job_id if len(found) > query.limit else None)

    async def get_job(self, exchange: Exchange, id: str) -> ShownJob:
        return to_api(await self.find_job(exchange, id))

    async def cancel_job(self, exchange: Exchange, id: str) -> ShownJob:
        job = await self.find_job(exchange, id)
        return to_api(await self._jobs.cancel(job.job_id, by=exchange.actor) or job)

    async def get_events(self, exchange: Exchange, id: str, query: EventQuery) -> Response:
        job = await self.find_job(exchange, id)
        after = _last_seen(exchange, query)
        if EVENTS in (exchange.header(b"accept") or ""):
            return self._streams.start(exchange.caller.key_id, self._stream(job.job_id, after))
        return answer(await self.list_events(job, after=after, limit=query.limit))

    async def list_events(self, job: Job, *, after: int = 0, limit: int = MAX_EVENTS_LISTED) -> EventList:
        found = await self._jobs.events(job.job_id, after_seq=after, limit=limit)
        return EventList([to_event(event) for event in found], found[-1].seq if found else after)

    async def find_job(self, exchange: Exchange, job_id: str) -> Job:
        job = await self._jobs.get(job_id)
        tenant = tenant_seen_by(exchange.caller)
        if job is None or (tenant is not None and job.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no job with this id.")
        return job

    async def _stream(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield events until the job is over. A client can continue from the id of any of them."""
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_STREAM_SECONDS
        async with self._feed.following(job_id) as follower:
            while (left := until - loop.time()) > 0:
                events = await follower.since(after, min(left, BEAT_SECONDS))
                if events is None:
                    return
                for event in events:
                    after = event.seq
                    yield _to_sse(event)
                if not events:
                    yield BEAT

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Jobs"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The job's id."},
            "problems": (problems.NOT_FOUND,),
            "opened_by_order": True,
        }
        return [
            Route(
                method="GET",
                path="/api/jobs",
                handler=self.list_jobs,
                summary="List your jobs, newest first",
                example=JobList([EXAMPLE_JOB], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/jobs/{id}",
                handler=self.get_job,
                summary="Get the state and the result of a job",
                example=EXAMPLE_JOB,
                **one,
            ),
            Route(
                method="GET",
                path="/api/jobs/{id}/events",
                handler=self.get_events,
                summary="Get the events of a job, as a list or a stream",
                description="With `Accept: text/event-stream`, a stream of server-sent events that ends with "
                "the job; a client that reconnects with `Last-Event-ID` continues from there. A key may have "
                f"{MAX_STREAMS} open streams.",
                answers=EventList,
                also={EVENTS: None},
                deadline=MAX_STREAM_SECONDS + 30,
                example=EventList([EXAMPLE_EVENT], 2),
                **one,
            ),
            Route(
                method="DELETE",
                path="/api/jobs/{id}",
                handler=self.cancel_job,
                control=True,
                summary="Cancel a job",
                description="A queued job ends at once. A running job stops at its next step, and has "
                "`cancelRequested` until then. The next request for the same work gets a new job.",
                example=msgspec.structs.replace(EXAMPLE_JOB, cancel_requested=True),
                **one,
            ),
        ]


def tenant_seen_by(caller: Caller) -> str | None:
    """The tenant whose jobs the caller may see; None for admins, who see all."""
    return None if caller.role is Role.ADMIN else caller.tenant_id


def tenant_asked_for(caller: Caller, tenant: str | None) -> str | None:
    """The tenant that the caller asks about; None if an admin asks about all."""
    own = tenant_seen_by(caller)
    if own is not None and tenant not in (None, own):
        raise Problem(problems.FORBIDDEN, "Only admins may see another tenant.", hint="Leave `tenant` out.")
    return tenant or own


def _last_seen(exchange: Exchange, query: EventQuery) -> int:
    """A client that reconnects names the last event it has seen in a header."""
    last = exchange.header(b"last-event-id")
    if not last:
        return query.after
    if not last.isdecimal() or len(last) > 9:
        raise validation_error("Last-Event-ID is not the id of an event.", hint="Leave it out to start over.")
    return int(last)


def _to_sse(event: Event) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (
        event.seq,
        event.type.value.encode(),
        msgspec.json.encode(to_event(event)),
    )
