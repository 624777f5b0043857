"""A batch as a job: created by a request, run by a worker, continued where an earlier attempt ended."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.batch.batch import Batcher, BatchOutcome
from gossamer.flows.batch.batch_line import LineEncoder
from gossamer.flows.pages.read import Reader
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import batches, job_table
from gossamer.state.jobs.batches import Batch, BatchCounts, BatchLines, BatchTask, Line
from gossamer.state.jobs.job import Job, NewJob, as_json
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.webhooks import publishing
from gossamer.web.pages.batch_request import BatchRequest
from gossamer.web.pages.long_timeout import decode_with_long_timeout
from gossamer.web.pages.page_request import PageOptions
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.webhooks.webhook import EventPage, LongWork

KIND: Final = "batch"
QUOTAS: Final = (Quota.BATCHES, Quota.JOBS)  # that bound a new batch
PROGRESS_STEPS: Final = 25  # progress reports of a job; each is written to the database
MAX_WRITE_BYTES: Final = 4_000_000  # of lines that are written at once, about
MAX_ATTEMPTS: Final = 10  # a line that one attempt has written stays

OnCreated = Callable[[AsyncConnection, Batch], Awaitable[None]]  # joins the transaction that creates it


class BatchPayload(Struct, frozen=True):
    """What the job carries; the rest is in its batch."""

    key_id: str = ""
    tier: str = "free"


class Batches(Struct, frozen=True):
    """Creates batches, queues their jobs, and looks them up."""

    jobs: Jobs
    parsers: ParserPool
    capacity: RenderCapacity
    quotas: Quotas

    async def create(
        self, request: BatchRequest, options: PageOptions, caller: Caller, by: Actor, also: OnCreated
    ) -> Batch:
        """Raises `Problem` for a bad selector, or if a browser is needed and there is none."""
        await self.check(options)
        await self.quotas.check(caller, *QUOTAS)
        async with self.jobs.database.write() as connection:
            batch = await self.begin(connection, request, options, caller, by)
            await also(connection, batch)
        self.jobs.wake(KIND)
        return batch

    async def check(self, options: PageOptions) -> None:
        """Raises `Problem` for options with which no page could be read."""
        await self.parsers.check_selectors(ReadingOptions(include=options.include, exclude=options.exclude))
        if options.render == "always":
            await self.capacity.demand()

    async def begin(
        self,
        connection: AsyncConnection,
        request: BatchRequest,
        options: PageOptions,
        caller: Caller,
        by: Actor,
    ) -> Batch:
        """Write a batch that was checked, and queue its job."""
        job = NewJob(
            kind=KIND,
            tenant_id=caller.tenant_id,
            payload=BatchPayload(caller.key_id, caller.tier.value),
            max_attempts=MAX_ATTEMPTS,
            request_id=by.request_id,
        )
        started = ActivityEntry(
            caller.tenant_id, Action.BATCH_STARTED, job.job_id, by, f"{len(request.urls):,} URLs"
        )
        batch = Batch(job.job_id, caller.tenant_id, request.tier, len(request.urls))
        await job_table.put(connection, job)
        await batches.add(connection, batch, _to_task(request.urls, options))
        await activity.record(connection, started)
        return batch

    async def find(self, job_id: str) -> tuple[Batch, Job] | None:
        async with self.jobs.database.read() as connection:
            batch = await batches.get(connection, job_id)
            job = await job_table.get(connection, job_id)
        return None if batch is None or job is None else (batch, job)

    async def counts(self, job_id: str) -> BatchCounts:
        async with self.jobs.database.read() as connection:
            return await batches.counts(connection, job_id)


class BatchWork(Protocol):
    """What a batch needs of its job."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> BatchPayload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]: ...


class BatchRunner(Struct, frozen=True):
    """Runs batches as jobs."""

    batcher: Batcher
    reader: Reader
    database: Database
    lines: BatchLines
    upgrade_url: str

    async def run(self, work: BatchWork) -> dict[str, Any]:
        job = work.job
        urls, options, known = await self._load(job.job_id)
        missing = {index: url for index, url in enumerate(urls) if index not in known}
        caller = Caller(Role.USER, work.payload.key_id, job.tenant_id, Tier(work.payload.tier))
        progress = _Progress(len(urls), len(known))
        await progress.report(work)
        async with aclosing(self.batcher.read_all(missing, options, caller)) as arriving:
            async for outcomes in arriving:
                await self._store(work, outcomes)
                progress.add(len(outcomes))
                if work.canceled or progress.is_due:
                    await progress.report(work)
        return await self._summarise(job.job_id, len(urls))

    async def _load(self, job_id: str) -> tuple[list[str], PageOptions, set[int]]:
        """The URLs, the options for each, and the positions that have a line."""
        async with self.database.read() as connection:
            task = await batches.task_of(connection, job_id)
            known = await batches.positions(connection, job_id)
        if task is None:
            raise Problem(problems.NOT_FOUND, "There is no batch for this job.")
        options = decode_with_long_timeout(task.plan_json, PageOptions)
        headers = msgspec.json.decode(task.headers_json or "{}", type=dict[str, str])
        urls = msgspec.json.decode(task.urls_json, type=list[str])
        return urls, replace(options, headers=headers), known

    async def _store(self, work: BatchWork, outcomes: Sequence[BatchOutcome]) -> None:
        """Write some lines at a time, because one large page may be in the list many times."""
        encoder = LineEncoder(self.reader, self.upgrade_url, work.job.request_id)
        piece: list[Line] = []
        pages: list[EventPage] = []
        room = MAX_WRITE_BYTES
        for outcome in outcomes:
            piece.append(await encoder.encode(outcome))
            pages.append(EventPage(str(outcome.index), outcome.url, outcome.ok))
            room -= len(piece[-1].text)
            if room <= 0 or outcome is outcomes[-1]:
                also = partial(
                    publishing.publish_pages,
                    kind=LongWork.BATCH,
                    tenant_id=work.job.tenant_id,
                    work_id=work.job.job_id,
                    pages=pages,
                )
                await self.lines.put(work.job.job_id, piece, work.holding(), also)
                piece, pages, room = [], [], MAX_WRITE_BYTES

    async def _summarise(self, job_id: str, total: int) -> dict[str, Any]:
        async with self.database.read() as connection:
            counts = await batches.counts(connection, job_id)
        return {
            "total": total,
            "done": counts.done,
            "ok": counts.ok,
            "notOk": counts.done - counts.ok,
            "failed": counts.failed,
            "resultsUrl": f"/batch/fetch/{job_id}/results",
        }


class _Progress:
    """The progress of the job."""

    def __init__(self, total: int, ready: int) -> None:
        self._total = total
        self._ready = ready
        self._reported = -1  # steps

    @property
    def is_due(self) -> bool:
        return self._ready * PROGRESS_STEPS // self._total > self._reported

    def add(self, count: int) -> None:
        self._ready += count

    async def report(self, work: BatchWork) -> None:
        """Raises if the job is not wanted any more."""
        self._reported = self._ready * PROGRESS_STEPS // self._total
        percent = self._ready * 100 // self._total
        await work.step(f"{self._ready:,} of {self._total:,} pages", min(percent, 99))


def _to_task(urls: Sequence[str], options: PageOptions) -> BatchTask:
    """Headers are stored separately, because they are deleted first."""
    bare = replace(options, headers={})
    return BatchTask(as_json(urls), as_json(bare), as_json(options.headers) if options.headers else None)
