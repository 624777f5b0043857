"""The history of schedules: what became of each run."""

from collections.abc import Collection
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Row, delete, func, insert, select
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedule_tables import schedule_runs
from gossamer.web.schedules.schedule_words import RunStatus, RunTrigger

KEPT_RUNS: Final = 200  # of one schedule
FORGET_BATCH: Final = 1_000

_rows: Final = schedule_runs.c


class ScheduleRun(Struct, frozen=True, kw_only=True):
    schedule_id: str
    tenant_id: str
    at: int
    trigger: RunTrigger
    status: RunStatus
    planned_at: int | None = None  # None: somebody asked for it
    reason: str = ""  # a `SkipReason`, or the code of the problem
    detail: str = ""
    work_id: str = ""  # of what it has started
    missed: int = 0  # planned times before it that were not run
    id: str = ""


async def add(connection: AsyncConnection, run: ScheduleRun) -> str:
    """The id of the run; the oldest of the schedule's are forgotten."""
    run_id = str(ULID.from_timestamp(run.at / 1_000))
    await connection.execute(
        insert(schedule_runs).values(
            id=run_id,
            schedule_id=run.schedule_id,
            tenant_id=run.tenant_id,
            planned_at=run.planned_at,
            at=run.at,
            trigger=run.trigger.value,
            status=run.status.value,
            reason=run.reason,
            detail=run.detail,
            work_id=run.work_id,
            missed=run.missed,
        )
    )
    own = _rows.schedule_id == run.schedule_id
    oldest = select(_rows.id).where(own).order_by(_rows.id.desc()).offset(KEPT_RUNS - 1).limit(1)
    await connection.execute(delete(schedule_runs).where(own, _rows.id < oldest.scalar_subquery()))
    return run_id


async def was_run(connection: AsyncConnection, schedule_id: str, planned: int) -> bool:
    """Whether this planned time has had its run."""
    query = select(_rows.id).where(_rows.schedule_id == schedule_id, _rows.planned_at == planned)
    return await connection.scalar(query) is not None


async def listing(
    connection: AsyncConnection, schedule_id: str, *, before: str | None = None, limit: int = 50
) -> list[ScheduleRun]:
    """The newest first; `before` is the id of the last one already seen."""
    query = select(schedule_runs).where(_rows.schedule_id == schedule_id).order_by(_rows.id.desc())
    if before is not None:
        query = query.where(_rows.id < before)
    return [_run_of(row) for row in await connection.execute(query.limit(limit))]


async def some(connection: AsyncConnection, run_ids: Collection[str]) -> dict[str, ScheduleRun]:
    """Those that are kept, by their ids."""
    query = select(schedule_runs).where(_rows.id.in_(run_ids))
    return {row.id: _run_of(row) for row in await connection.execute(query)}


async def count_old(connection: AsyncConnection, before: int) -> int:
    query = select(func.count()).select_from(schedule_runs).where(_rows.at < before)
    return await connection.scalar(query) or 0


async def forget_old(connection: AsyncConnection, before: int) -> int:
    """Delete a batch of old runs, and return how many. 0: none is left."""
    old = select(_rows.id).where(_rows.at < before).limit(FORGET_BATCH)
    return (await connection.execute(delete(schedule_runs).where(_rows.id.in_(old)))).rowcount


def _run_of(row: Row[Any]) -> ScheduleRun:
    values = {**row._mapping, "trigger": RunTrigger(row.trigger), "status": RunStatus(row.status)}
    return ScheduleRun(**values)
