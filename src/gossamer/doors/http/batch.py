"""Batches over HTTP: many pages by one request, each with a result of its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.batch_line import LARGEST_RESULT, BatchProblem, BatchResult
from gossamer.doors.http.caching import caches, caching
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.fetch import FetchQuery, settle_formats
from gossamer.doors.http.jobs import LONGEST_STREAM, tenant_seen_by
from gossamer.doors.http.read_options import ReadOptions, wish_of
from gossamer.doors.http.routing import Route
from gossamer.doors.http.streaming import Streaming
from gossamer.flows import batch_job
from gossamer.flows.batch import MOST, Plan
from gossamer.flows.read import Wish
from gossamer.flows.workshop import Workshop
from gossamer.problems import Problem, validation_error
from gossamer.state import batches, job_table
from gossamer.state.batches import Batch, Counts, Line, Lines, Task
from gossamer.state.job_text import as_json
from gossamer.state.jobs import Job, Jobs, NewJob, State
from gossamer.state.tenants import Role

MOST_LISTED: Final = 100
NDJSON: Final = "application/x-ndjson"
STREAMED: Final = 2_000_000  # bytes of results in memory at a time, about
LOOK_SECONDS: Final = 0.5  # how often a stream looks for more of them
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_ANY_PAGE: Final = "https://example.com/"  # in a plan, which is for all of them

BatchTier = Literal["basic", "pro", "auto"]


class BatchRequest(ReadOptions, kw_only=True):
    """Which pages to fetch, and what is wanted of each."""

    urls: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=MOST,
            description="One that is not a URL, or not allowed, fails by itself.",
        ),
    ]
    tier: Annotated[
        BatchTier,
        Meta(description="`basic`: without a browser. `pro`: with one. `auto`: where the page needs one."),
    ] = "basic"


class BatchAccepted(msgspec.Struct, rename="camel"):
    """The batch is under way."""

    batch_id: Annotated[str, Meta(description="The same as `jobId`.")]
    job_id: str
    total: int
    status_url: Annotated[str, Meta(description="How far it is.")]
    results_url: Annotated[str, Meta(description="What has been read so far.")]
    events_url: Annotated[str, Meta(description="Its progress, as it happens.")]


class ShownBatch(msgspec.Struct, rename="camel"):
    """How far a batch is."""

    batch_id: str
    job_id: str
    status: Annotated[State, Meta(description="`done` when every URL has a result, whatever it is.")]
    tier: BatchTier
    total: int
    done: Annotated[int, Meta(description="The target answered.")]
    ok: Annotated[int, Meta(description="Of these: it is the page that was asked for.")]
    not_ok: Annotated[int, Meta(description="Of these: it is something else; see its `outcome`.")]
    failed: Annotated[int, Meta(description="There was no answer to read.")]
    pending: Annotated[int, Meta(description="Without a result; of a batch that is over, for good.")]
    progress: Annotated[int, Meta(ge=0, le=100, description="Percent.")]
    created_at: str
    started_at: str | None
    finished_at: str | None
    error: Annotated[str | None, Meta(description="Of the last attempt, unless that went well.")]
    status_url: str
    results_url: str
    events_url: str


class BatchPage(msgspec.Struct, rename="camel"):
    """A stretch of the list: those of its URLs that have a result, in the order of the request."""

    results: list[BatchResult]
    pending: Annotated[int, Meta(description="URLs of this stretch that have no result yet.")]
    next_cursor: Annotated[int | None, Meta(description="Give it as `cursor` for the next stretch.")]


class BatchQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which results."""

    cursor: Annotated[int, Meta(ge=0, le=MOST, description="From this index on.")] = 0
    limit: Annotated[
        int, Meta(ge=1, le=MOST_LISTED, description="URLs a page; fewer where the results are large.")
    ] = 50


class BatchFace:
    def __init__(self, jobs: Jobs, lines: Lines, workshop: Workshop) -> None:
        self._jobs = jobs
        self._lines = lines
        self._workshop = workshop

    async def create_batch(self, exchange: Exchange, body: BatchRequest, query: FetchQuery) -> Response:
        caller = exchange.caller
        settle_formats(body, query)
        wish = _wish(body)
        await self._workshop.check(wish.how)
        job = NewJob(
            kind=batch_job.KIND,
            tenant_id=caller.tenant_id,
            payload=batch_job.Payload(caller.key_id, caller.tier.value),
            max_attempts=batch_job.MAX_ATTEMPTS,
            request_id=exchange.request_id,
        )
        batch = Batch(job.job_id, caller.tenant_id, body.tier, len(body.urls))
        kept = caching(body, caller) if caches(body, query) else None
        task = _task(body.urls, Plan(wish, kept))
        accepted = answer(_accepted(batch), 202)
        async with self._jobs.database.write() as connection:
            await job_table.put(connection, job)
            await batches.add(connection, batch, task)
            await exchange.remember(connection, accepted)
        self._jobs.wake(job.kind)
        return accepted

    async def get_batch(self, exchange: Exchange, id: str) -> ShownBatch:
        batch, job = await self._batch(exchange, id)
        async with self._jobs.database.read() as connection:
            counts = await batches.counts(connection, batch.job_id)
        return _shown(batch, job, counts)

    async def get_results(self, exchange: Exchange, id: str, query: BatchQuery) -> Response:
        batch, _ = await self._batch(exchange, id)
        if NDJSON in (exchange.header(b"accept") or ""):
            return Streaming(self._stream(batch, query.cursor), media_type=NDJSON)
        end = min(query.cursor + query.limit, batch.total)
        found = await self._lines.read(
            batch.job_id, query.cursor, before=end, limit=query.limit, most_bytes=LARGEST_RESULT
        )
        end = found.cut_at or end
        return answer(
            BatchPage(
                results=cast("list[BatchResult]", [msgspec.Raw(line.text) for line in found.lines]),
                pending=max(0, end - query.cursor) - len(found.lines),
                next_cursor=end if end < batch.total else None,
            )
        )

    async def _batch(self, exchange: Exchange, job_id: str) -> tuple[Batch, Job]:
        tenant = tenant_seen_by(exchange.caller)
        async with self._jobs.database.read() as connection:
            batch = await batches.get(connection, job_id)
            job = await job_table.get(connection, job_id)
        if batch is None or job is None or (tenant is not None and batch.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no batch with this id.")
        return batch, job

    async def _stream(self, batch: Batch, position: int) -> AsyncIterator[bytes]:
        """Results in the order of the list. What is not there yet is waited for, until the job is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_STREAM
        while position < batch.total and loop.time() < until:
            job = await self._jobs.get(batch.job_id)  # before the results: none can come after its end
            over = job is None or job.status.is_over
            found, _ = await self._lines.read(batch.job_id, position, limit=MOST_LISTED, most_bytes=STREAMED)
            ready = found if over else _without_gap(found, position)
            for line in ready:
                yield line.text + b"\n"
                position = line.position + 1
            if over and not found:
                return
            if not ready:
                await asyncio.sleep(LOOK_SECONDS)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Batches"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The batch's id."},
            "problems": (problems.NOT_FOUND,),
        }
        return [
            Route(
                method="POST",
                path="/batch/fetch",
                handler=self.create_batch,
                summary="Fetch many pages",
                description="A job that reads them politely: 8 pages at a time, 2 of one host. Each URL gets "
                "a result of its own, and that some fail is normal.",
                status=202,
                answers=BatchAccepted,
                problems=(problems.INVALID_TTL, problems.INVALID_SELECTOR),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=BatchRequest(urls=["https://example.com/", "https://example.org/"]),
                example=_accepted(_EXAMPLE_BATCH),
                **common,
            ),
            Route(
                method="GET",
                path="/batch/fetch/{id}",
                handler=self.get_batch,
                summary="How far a batch is",
                example=_EXAMPLE_SHOWN,
                **one,
            ),
            Route(
                method="GET",
                path="/batch/fetch/{id}/results",
                handler=self.get_results,
                summary="What was read for a batch",
                description="Results are there as soon as they are done, in the order of the request. With "
                f"`Accept: {NDJSON}` all from `cursor` on, one JSON object a line; what is not done yet is "
                "waited for.",
                answers=BatchPage,
                deadline=LONGEST_STREAM + 30,
                example=BatchPage([_EXAMPLE_RESULT], 0, None),
                **one,
            ),
        ]


def _task(urls: Sequence[str], plan: Plan) -> Task:
    """Headers stand apart, since they are forgotten first."""
    headers = plan.wish.headers
    bare = replace(plan, wish=replace(plan.wish, headers=()))
    return Task(as_json(urls), as_json(bare), as_json(headers) if headers else None)


def _wish(body: BatchRequest) -> Wish:
    """Raises `Problem` for options that no page can be read with."""
    if body.tier != "auto":
        return wish_of(_ANY_PAGE, body, body.tier)
    if body.render not in (UNSET, "auto"):
        raise validation_error(
            f"The tier auto takes 'auto', not {body.render!r} - at `$.render`.", hint="Leave it out."
        )
    return wish_of(_ANY_PAGE, msgspec.structs.replace(body, render="auto"), None)


def _without_gap(lines: Sequence[Line], first: int) -> list[Line]:
    return [line for at, line in enumerate(lines) if line.position == first + at]


def _urls(job_id: str) -> dict[str, str]:
    here = f"/batch/fetch/{job_id}"
    return {
        "status_url": here,
        "results_url": f"{here}/results",
        "events_url": f"/api/jobs/{job_id}/events",
    }


def _accepted(batch: Batch) -> BatchAccepted:
    return BatchAccepted(batch.job_id, batch.job_id, batch.total, **_urls(batch.job_id))


def _shown(batch: Batch, job: Job, counts: Counts) -> ShownBatch:
    ready = counts.done + counts.failed
    return ShownBatch(
        batch_id=batch.job_id,
        job_id=batch.job_id,
        status=job.status,
        tier=cast("BatchTier", batch.tier),
        total=batch.total,
        done=counts.done,
        ok=counts.ok,
        not_ok=counts.done - counts.ok,
        failed=counts.failed,
        pending=batch.total - ready,
        progress=ready * 100 // batch.total,
        created_at=moments.stored(batch.created_at),
        started_at=moments.stored(job.started_at),
        finished_at=moments.stored(job.finished_at),
        error=job.last_error,
        **_urls(batch.job_id),
    )


_EXAMPLE_BATCH: Final = Batch(_EXAMPLE_ID, "", "basic", 2)
_EXAMPLE_SHOWN: Final = ShownBatch(
    batch_id=_EXAMPLE_ID,
    job_id=_EXAMPLE_ID,
    status=State.RUNNING,
    tier="basic",
    total=2,
    done=0,
    ok=0,
    not_ok=0,
    failed=1,
    pending=1,
    progress=50,
    created_at="2026-01-01T12:00:00.000Z",
    started_at="2026-01-01T12:00:00.020Z",
    finished_at=None,
    error=None,
    **_urls(_EXAMPLE_ID),
)
_EXAMPLE_RESULT: Final = BatchResult(
    1,
    "https://example.org/",
    "failed",
    problem=BatchProblem(
        "FETCH_TIMEOUT", "The target did not begin to answer in time.", "first_byte_timeout"
    ),
)
