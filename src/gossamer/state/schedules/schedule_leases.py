"""Who fires a schedule: a lease with a token that nobody else knows.

A process leases the schedules that are due, gets ready, and proves the lease in the transaction that starts
the work, notes the run and plans the next one. A process that lost its lease, because it took too long or the
schedule was changed, can write nothing. A lease that nobody proves ends by itself, and another process fires.
"""

import secrets
from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, func, or_, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.schedules import schedule_runs as runs
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedule_tables import schedules
from gossamer.state.schedules.schedules import Schedule, plan_after, schedule_of
from gossamer.web.schedules.schedule_words import RunStatus, ScheduleKind

LEASE_MS: Final = 30_000

_rows: Final = schedules.c


class ScheduleLease(Struct, frozen=True):
    schedule: Schedule
    token: str
    planned: int  # of the run that is due
    at: int  # when it was leased


async def until_due(
    connection: AsyncConnection, kinds: Collection[ScheduleKind], *, now: int | None = None
) -> int | None:
    """Milliseconds until the next schedule of these kinds is due; None if none waits."""
    query = select(func.min(_rows.next_at) - clock(now)).where(_rows.next_at.is_not(None), _of(kinds))
    left: int | None = await connection.scalar(query)
    return left


async def lease(
    connection: AsyncConnection, kinds: Collection[ScheduleKind], most: int, *, now: int | None = None
) -> list[ScheduleLease]:
    """Lease schedules of these kinds that are due, the longest waiting first. Those of other kinds are for
    processes that know them: of another release, during an upgrade."""
    until = _rows.leased_until
    # A lease that ends later than any could was taken before the clock was set back.
    is_free = or_(until.is_(None), until <= clock(now), until > clock(now) + 4 * LEASE_MS)
    due = select(_rows.id).where(_rows.next_at <= clock(now), is_free, _of(kinds)).order_by(_rows.next_at)
    ids = (await connection.scalars(due.limit(most).with_for_update(skip_locked=True))).all()
    if not ids:
        return []
    token = secrets.token_hex(16)
    values = {"lease_token": token, "leased_until": clock(now) + LEASE_MS}
    taken = update(schedules).where(_rows.id.in_(ids)).values(values)
    rows = await connection.execute(taken.returning(schedules))
    leases = [
        ScheduleLease(schedule_of(row), token, row.planned_at, row.leased_until - LEASE_MS) for row in rows
    ]
    return sorted(leases, key=lambda lease: ids.index(lease.schedule.id))


async def prove(connection: AsyncConnection, lease: ScheduleLease) -> Schedule | None:
    """The schedule as it is now, locked until the transaction ends. None: the lease is lost."""
    query = select(schedules).where(_rows.id == lease.schedule.id, _rows.lease_token == lease.token)
    row = (await connection.execute(query.with_for_update())).first()
    return None if row is None else schedule_of(row)


async def finish(connection: AsyncConnection, lease: ScheduleLease, run: ScheduleRun) -> None:
    """In the transaction that proved the lease: note the run, and plan the next one."""
    run_id = await runs.add(connection, run)
    plan = plan_after(lease.schedule.timetable, run.planned_at or lease.planned, run.at)
    await _write(connection, lease, {**plan, "last_run_id": run_id, **_outcome(run)})


async def advance(connection: AsyncConnection, lease: ScheduleLease, planned: int) -> None:
    """The same for a planned time that has had its run."""
    await _write(connection, lease, plan_after(lease.schedule.timetable, planned, lease.at))


async def put_off(
    connection: AsyncConnection, lease: ScheduleLease, milliseconds: int, *, now: int | None = None
) -> None:
    """Give the lease back; nobody takes it for a while."""
    await _write(connection, lease, {"leased_until": clock(now) + milliseconds})


async def note(connection: AsyncConnection, run: ScheduleRun) -> str:
    """Note a run that somebody asked for; the next one stays as it was planned. Returns its id."""
    run_id = await runs.add(connection, run)
    changed = update(schedules).where(_rows.id == run.schedule_id)
    await connection.execute(changed.values({"last_run_id": run_id, **_outcome(run)}))
    return run_id


def _outcome(run: ScheduleRun) -> dict[str, Any]:
    """What a run leaves in its schedule. One that was skipped changes nothing."""
    if run.status is RunStatus.STARTED:
        return {"work_id": run.work_id, "failures": 0}
    return {"failures": _rows.failures + 1} if run.status is RunStatus.FAILED else {}


async def _write(connection: AsyncConnection, lease: ScheduleLease, values: Mapping[str, Any]) -> None:
    own = update(schedules).where(_rows.id == lease.schedule.id, _rows.lease_token == lease.token)
    await connection.execute(own.values({"lease_token": None, "leased_until": None, **values}))


def _of(kinds: Collection[ScheduleKind]) -> ColumnElement[bool]:
    return _rows.kind.in_([kind.value for kind in kinds])
