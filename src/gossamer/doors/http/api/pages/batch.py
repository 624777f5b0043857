"""Batches over HTTP: many pages in one request, each with its own result."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Final, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS, tenant_seen_by
from gossamer.doors.http.api.pages.fetch import FetchQuery
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import OrderTerms, Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.batch.batch_job import Batches
from gossamer.flows.batch.batch_line import MAX_LINE_BYTES
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.webhooks.subscribing import PreparedWebhook, WebhookSubscriber
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.batches import Batch, BatchCounts, BatchLines, Line
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import Job
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pay.orders import OrderKind
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.job_state import JobState
from gossamer.web.pages.batch_request import MAX_URLS, BatchRequest, BatchTier
from gossamer.web.pages.batch_result import BatchProblem, BatchResult
from gossamer.web.webhooks.webhook import AcceptedWebhook, LongWork

MAX_LISTED: Final = 100
NDJSON: Final = "application/x-ndjson"
MAX_STREAMED_BYTES: Final = 2_000_000  # of results in memory at a time, about
LOOK_SECONDS: Final = 0.5  # how often a stream looks for more results
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class BatchAccepted(msgspec.Struct, rename="camel"):
    """The batch was accepted."""

    batch_id: Annotated[str, Meta(description="The same as `jobId`.")]
    job_id: str
    total: int
    status_url: Annotated[str, Meta(description="Its progress.")]
    results_url: Annotated[str, Meta(description="The results so far.")]
    events_url: Annotated[str, Meta(description="Its progress, as it happens.")]
    webhook: Annotated[AcceptedWebhook | UnsetType, Meta(description="If the request gave one.")] = UNSET


class ShownBatch(msgspec.Struct, rename="camel"):
    """The progress of a batch."""

    batch_id: str
    job_id: str
    status: Annotated[JobState, Meta(description="`done` when every URL has a result, good or bad.")]
    tier: BatchTier
    total: int
    done: Annotated[int, Meta(description="The target answered.")]
    ok: Annotated[int, Meta(description="Of these, the page that was asked for.")]
    not_ok: Annotated[int, Meta(description="Of these, something else; see its `outcome`.")]
    failed: Annotated[int, Meta(description="There was no answer to read.")]
    pending: Annotated[
        int, Meta(description="URLs without a result. If the batch is over, they will not get one.")
    ]
    progress: Annotated[int, Meta(ge=0, le=100, description="Percent.")]
    created_at: str
    started_at: str | None
    finished_at: str | None
    error: Annotated[str | None, Meta(description="The error of the last attempt, if it failed.")]
    status_url: str
    results_url: str
    events_url: str


class BatchPage(msgspec.Struct, rename="camel"):
    """A part of the list: its URLs that have a result, in the order of the request."""

    results: list[BatchResult]
    pending: Annotated[int, Meta(description="URLs of this part that have no result yet.")]
    next_cursor: Annotated[int | None, Meta(description="Give it as `cursor` to get the next part.")]


class BatchQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which results."""

    cursor: Annotated[int, Meta(ge=0, le=MAX_URLS, description="The first index.")] = 0
    limit: Annotated[
        int, Meta(ge=1, le=MAX_LISTED, description="URLs in one answer; fewer if their results are large.")
    ] = 50


class BatchEndpoints(Struct, frozen=True):
    batches: Batches
    jobs: Jobs
    lines: BatchLines
    deleter: Deleter
    subscriber: WebhookSubscriber

    async def create_batch(self, exchange: Exchange, body: BatchRequest, query: FetchQuery) -> Response:
        webhook = await self.subscriber.prepare(body.webhook, exchange.caller)

        async def remember(connection: AsyncConnection, batch: Batch) -> None:
            work = (LongWork.BATCH, batch.job_id, batch.tenant_id)
            await self.subscriber.subscribe(connection, webhook, *work)
            await exchange.remember(connection, answer(_to_accepted(batch, webhook), 202))

        options = body.options(cache=query.cache).with_format(query.format)
        batch = await self.batches.create(body, options, exchange.caller, exchange.actor, remember)
        return answer(_to_accepted(batch, webhook), 202)

    async def get_batch(self, exchange: Exchange, id: str) -> ShownBatch:
        batch, job = await self._batch(exchange, id)
        return _to_api(batch, job, await self.batches.counts(batch.job_id))

    async def get_results(self, exchange: Exchange, id: str, query: BatchQuery) -> Response:
        if NDJSON in (exchange.header(b"accept") or ""):
            return await self.stream_results(exchange, id, query.cursor)
        return answer(await self.list_results(exchange, id, query))

    async def stream_results(
        self, exchange: Exchange, id: str, first: int = 0, headers: Mapping[str, str] | None = None
    ) -> Response:
        batch, _ = await self._batch(exchange, id)
        return Streaming(self._stream(batch, first), media_type=NDJSON, headers=headers)

    async def list_results(self, exchange: Exchange, id: str, query: BatchQuery) -> BatchPage:
        """The results are as they are stored, and encoded once."""
        batch, _ = await self._batch(exchange, id)
        end = min(query.cursor + query.limit, batch.total)
        found = await self.lines.read(
            batch.job_id, query.cursor, before=end, limit=query.limit, most_bytes=MAX_LINE_BYTES
        )
        end = found.cut_at or end
        return BatchPage(
            results=cast("list[BatchResult]", [msgspec.Raw(line.text) for line in found.lines]),
            pending=max(0, end - query.cursor) - len(found.lines),
            next_cursor=end if end < batch.total else None,
        )

    async def delete_batch(self, exchange: Exchange, id: str) -> Response:
        deletion = Deletion(DeletionKind.BATCH, id)
        job = await self.deleter.accept(deletion, tenant_seen_by(exchange.caller), exchange.actor)
        if job is None:
            raise _unknown()
        return accept(job)

    async def _batch(self, exchange: Exchange, job_id: str) -> tuple[Batch, Job]:
        tenant = tenant_seen_by(exchange.caller)
        found = await self.batches.find(job_id)
        if found is None or tenant not in (None, found[0].tenant_id):
            raise _unknown()
        return found

    async def _stream(self, batch: Batch, position: int) -> AsyncIterator[bytes]:
        """Results in the order of the list. Waits for those that are missing, until the job is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_STREAM_SECONDS
        while position < batch.total and loop.time() < until:
            job = await self.jobs.get(batch.job_id)  # before the results: none can come after its end
            over = job is None or job.status.is_over
            found, _ = await self.lines.read(
                batch.job_id, position, limit=MAX_LISTED, most_bytes=MAX_STREAMED_BYTES
            )
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
            "opened_by_order": True,
        }
        return [
            Route(
                method="POST",
                path="/batch/fetch",
                handler=self.create_batch,
                price=_price,
                order=OrderTerms(
                    kind=OrderKind.BATCH,
                    prices=("batch-basic", "batch-pro"),
                    pages=lambda body: len(body.urls),
                    subject="batchId",
                    job="jobId",
                    location="/batch/fetch/{id}",
                ),
                summary="Fetch many pages",
                description="A job that reads the pages politely: few at a time, 2 of a host. Each URL gets "
                "its own result. It is normal that some fail.",
                status=202,
                answers=BatchAccepted,
                problems=(problems.INVALID_TTL, problems.INVALID_SELECTOR, problems.QUOTA_EXCEEDED),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=BatchRequest(urls=("https://example.com/", "https://example.org/")),
                example=_to_accepted(_EXAMPLE_BATCH),
                **common,
            ),
            Route(
                method="GET",
                path="/batch/fetch/{id}",
                handler=self.get_batch,
                summary="Get the progress of a batch",
                example=_EXAMPLE_SHOWN,
                **one,
            ),
            Route(
                method="GET",
                path="/batch/fetch/{id}/results",
                handler=self.get_results,
                summary="Get the results of a batch",
                description="Results appear as soon as they are done, in the order of the request. With "
                f"`Accept: {NDJSON}` the answer streams all of them from `cursor` on, one JSON object a "
                "line, and waits for those that are not done yet.",
                answers=BatchPage,
                deadline=MAX_STREAM_SECONDS + 30,
                example=BatchPage([_EXAMPLE_RESULT], 0, None),
                **one,
            ),
            Route(
                method="DELETE",
                path="/batch/fetch/{id}",
                handler=self.delete_batch,
                control=True,
                summary="Delete a batch, with its results",
                description="A batch that is running ends. Nobody finds it from then on; the job removes its "
                "results.",
                status=202,
                answers=ShownJob,
                example=EXAMPLE_DELETION,
                **one,
            ),
        ]


def _unknown() -> Problem:
    return Problem(problems.NOT_FOUND, "There is no batch with this id.")


def _price(body: BatchRequest | None) -> str:
    """For each URL. A caller who may get a browser pays for one."""
    return "batch-basic" if body is None or body.tier == "basic" else "batch-pro"


def _without_gap(lines: Sequence[Line], first: int) -> list[Line]:
    return [line for at, line in enumerate(lines) if line.position == first + at]


def _urls(job_id: str) -> dict[str, str]:
    here = f"/batch/fetch/{job_id}"
    return {
        "status_url": here,
        "results_url": f"{here}/results",
        "events_url": f"/api/jobs/{job_id}/events",
    }


def _to_accepted(batch: Batch, webhook: PreparedWebhook | None = None) -> BatchAccepted:
    told = UNSET if webhook is None else webhook.accepted
    return BatchAccepted(batch.job_id, batch.job_id, batch.total, webhook=told, **_urls(batch.job_id))


def _to_api(batch: Batch, job: Job, counts: BatchCounts) -> ShownBatch:
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
        created_at=timestamps.from_ms(batch.created_at),
        started_at=timestamps.from_ms(job.started_at),
        finished_at=timestamps.from_ms(job.finished_at),
        error=str(job.last_error) if job.last_error else None,
        **_urls(batch.job_id),
    )


_EXAMPLE_BATCH: Final = Batch(_EXAMPLE_ID, "", "basic", 2)
_EXAMPLE_SHOWN: Final = ShownBatch(
    batch_id=_EXAMPLE_ID,
    job_id=_EXAMPLE_ID,
    status=JobState.RUNNING,
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
