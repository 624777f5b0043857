"""Queries on the table of jobs. They work on an open connection, so that several can be one transaction."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Select, delete, func, literal, select, text
from ulid import ULID

from gossamer.state.db import tables
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.single import Executor
from gossamer.state.jobs import job_statements as statements
from gossamer.state.jobs.job import COLUMNS, EventHead, Job, JobFilter, JobState, NewJob, QueueDepth, job_of

DAY: Final = 86_400_000
FORGET_BATCH: Final = 1_000  # a short transaction: others wait for it

_jobs: Final = tables.jobs.c
_all: Final = select(*(_jobs[name] for name in COLUMNS))


async def put(executor: Executor, new: NewJob, *, now: int | None = None) -> Job:
    """The job, or the one that is already queued or running under the same key: compare `job_id`."""
    return job_of(await statements.put(executor, new.as_row(), now))


async def put_many(executor: Executor, new: Sequence[NewJob], *, now: int | None = None) -> list[str]:
    """The ids of the jobs in the order given; for a key that was there already, its job's."""
    # Of jobs with the same key only the first: PostgreSQL cannot update a row twice in one statement.
    given = {(job.tenant_id, job.idempotency_key or job.job_id): job for job in reversed(new)}
    rows = [job.as_row() for job in reversed(given.values())]
    found = await statements.put_many(executor, rows, now) if rows else ()
    known = {(row.tenant_id, row.idempotency_key): row.job_id for row in found if row.idempotency_key}
    return [known.get((job.tenant_id, job.idempotency_key), job.job_id) for job in new]


async def get(connection: AsyncConnection, job_id: str) -> Job | None:
    row = (await connection.execute(_all.where(_jobs.job_id == job_id))).first()
    return None if row is None else job_of(row)


async def list_jobs(
    connection: AsyncConnection, which: JobFilter, *, before: str | None = None, limit: int = 50
) -> Sequence[Job]:
    """The newest first; `before` is the id of the last one already seen."""
    query = _all.order_by(_jobs.job_id.desc()).limit(limit)
    if which.tenant_id is not None:
        query = query.where(_jobs.tenant_id == which.tenant_id)
    if which.kind is not None:
        query = query.where(_jobs.kind == which.kind)
    if which.status is not None:
        query = query.where(_jobs.status == which.status.value)
    if before is not None:
        query = query.where(_jobs.job_id < before)
    return [job_of(row) for row in await connection.execute(query)]


async def depths(
    connection: AsyncConnection, *, tenant_id: str | None = None, now: int | None = None
) -> Sequence[QueueDepth]:
    """How many jobs wait and run, by kind, of a tenant or of all. Those that are not due yet do not count."""
    # In the words of the index, or SQLite would not use it.
    waiting = _depth(JobState.QUEUED, _jobs.run_at).where(
        text("status = 'queued'"), _jobs.locked_until.is_(None)
    )
    running = _depth(JobState.RUNNING, _jobs.started_at).where(
        _jobs.status == "running", _jobs.locked_until.is_not(None)
    )
    if tenant_id is not None:
        # As an expression, or SQLite would go through all jobs that the tenant ever had.
        own = _jobs.tenant_id + "" == tenant_id
        waiting, running = waiting.where(own), running.where(own)
    time = await connection.scalar(select(clock(now))) or 0
    rows = [*await connection.execute(waiting), *await connection.execute(running)]
    return [
        QueueDepth(kind, JobState(status), count, max(0, time - oldest) / 1000)
        for kind, status, count, oldest in rows
    ]


async def find_canceled(connection: AsyncConnection, job_ids: Collection[str]) -> set[str]:
    """Which of these are to be canceled."""
    query = select(_jobs.job_id).where(_jobs.job_id.in_(job_ids), _jobs.cancel_requested)
    return set((await connection.scalars(query)).all())


async def heads(connection: AsyncConnection, job_ids: Collection[str]) -> dict[str, EventHead]:
    """The last events of those that exist, by the ids of their jobs."""
    query = select(_jobs.job_id, _jobs.event_seq, _jobs.status).where(_jobs.job_id.in_(job_ids))
    rows = await connection.execute(query)
    return {job_id: EventHead(seq, JobState(status).is_over) for job_id, seq, status in rows}


async def forget_old(connection: AsyncConnection, *, days: float, now: int | None = None) -> int:
    """Delete a batch of jobs that ended more than `days` ago, and return how many. 0: none is left."""
    since = (await connection.scalar(select(clock(now))) or 0) - round(days * DAY)
    # Ids begin with the time at which they were made, which saves an index on the time of the end.
    before = str(ULID.from_timestamp(max(0, since) / 1000 + 1))
    old = select(_jobs.job_id).where(_jobs.job_id < before, _jobs.finished_at < since)
    old = old.order_by(_jobs.job_id).limit(FORGET_BATCH).with_for_update(skip_locked=True)
    ids = (await connection.scalars(old)).all()
    if ids:
        await connection.execute(delete(tables.job_events).where(tables.job_events.c.job_id.in_(ids)))
        await connection.execute(delete(tables.jobs).where(_jobs.job_id.in_(ids)))
    return len(ids)


async def count_old(connection: AsyncConnection, before: int) -> int:
    """How many jobs ended before this time."""
    query = select(func.count()).select_from(tables.jobs).where(_jobs.finished_at < before)
    return await connection.scalar(query) or 0


def _depth(status: JobState, since: Any) -> Select[Any]:
    return select(_jobs.kind, literal(status.value), func.count(), func.min(since)).group_by(_jobs.kind)
