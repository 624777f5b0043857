"""The schedules themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Select, delete, func, insert, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.schedules.schedule_tables import schedule_runs, schedules
from gossamer.state.tenants.activity import Via
from gossamer.web.schedules.schedule_words import PauseReason, ScheduleKind
from gossamer.web.schedules.timetable import Timetable
from gossamer.web.schedules.timing import Timing

SET_BACK_MS: Final = 120_000  # smaller steps of the clock are waited out
REPLANNED_AT_ONCE: Final = 500

_rows: Final = schedules.c
_timing: Final = msgspec.json.Decoder(Timing)


class ScheduleMaker(Struct, frozen=True):
    """Whose rights a schedule has."""

    via: Via
    id: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    tenant_id: str
    owner: str
    kind: ScheduleKind
    timing: Timing  # checked
    maker: ScheduleMaker
    name: str = ""
    subject: str = ""  # the id of what owns it
    task_json: str = "{}"
    task_sealed: bytes | None = field(default=None, repr=False)
    is_paused: bool = False
    id: str = field(default_factory=lambda: str(ULID()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    id: str
    tenant_id: str
    owner: str
    name: str
    kind: ScheduleKind
    subject: str
    task_json: str = field(repr=False)
    task_sealed: bytes | None = field(repr=False)
    timing: Timing
    maker: ScheduleMaker
    anchor_at: int
    planned_at: int | None  # None: it is paused
    next_at: int | None  # the same with its jitter
    paused_at: int | None
    pause_reason: PauseReason | None
    work_id: str  # of the last run that was started
    last_run_id: str | None
    failures: int  # in a row
    created_at: int
    updated_at: int

    @property
    def timetable(self) -> Timetable:
        return Timetable(self.timing, self.id, self.anchor_at)


async def read_clock(connection: AsyncConnection, now: int | None = None) -> int:
    """The database's time."""
    return int(await connection.scalar(select(clock(now))) or 0)


async def add(connection: AsyncConnection, new: NewSchedule, *, now: int | None = None) -> Schedule:
    time = await read_clock(connection, now)
    paused = (time, PauseReason.REQUEST) if new.is_paused else (None, None)
    values = {
        "id": new.id,
        "tenant_id": new.tenant_id,
        "owner": new.owner,
        "name": new.name,
        "kind": new.kind.value,
        "subject": new.subject,
        "work_id": "",
        "failures": 0,
        "created_at": time,
        **_task(new.task_json, new.task_sealed),
        **_made_by(new.maker),
        **_timed(new.timing, time),
        **_planned(Timetable(new.timing, new.id, time), time, *paused),
    }
    added = insert(schedules).values(values).returning(schedules)
    return schedule_of((await connection.execute(added)).one())


async def get(connection: AsyncConnection, schedule_id: str) -> Schedule | None:
    return _first((await connection.execute(_all().where(_rows.id == schedule_id))).first())


async def lock(connection: AsyncConnection, schedule_id: str) -> Schedule | None:
    """The same; until the transaction ends nobody fires or changes it."""
    query = _all().where(_rows.id == schedule_id).with_for_update()
    return _first((await connection.execute(query)).first())


async def of_subject(connection: AsyncConnection, kind: ScheduleKind, subject: str) -> Schedule | None:
    """The schedule that this owns."""
    query = _all().where(_rows.kind == kind.value, _rows.subject == subject)
    return _first((await connection.execute(query)).first())


async def listing(
    connection: AsyncConnection,
    *,
    owner: str | None,
    kind: ScheduleKind | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[Schedule]:
    """The newest first; an owner of None may see all. `before` is the id of the last one already seen."""
    query = _all().order_by(_rows.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(_rows.owner == owner)
    if kind is not None:
        query = query.where(_rows.kind == kind.value)
    if before is not None:
        query = query.where(_rows.id < before)
    return [schedule_of(row) for row in await connection.execute(query)]


async def count(connection: AsyncConnection, tenant: str) -> int:
    """Those that stand by themselves: others are counted with what owns them."""
    mine = (_rows.tenant_id == tenant, _rows.subject == "")
    query = select(func.count()).select_from(schedules).where(*mine)
    return await connection.scalar(query) or 0


async def count_failing(connection: AsyncConnection, times: int) -> int:
    """Schedules of all tenants that go on, and have failed so many times in a row."""
    query = select(func.count()).where(_rows.next_at.is_not(None), _rows.failures >= times)
    return await connection.scalar(query) or 0


async def retime(
    connection: AsyncConnection, schedule: Schedule, timing: Timing, *, now: int | None = None
) -> None:
    """Give it another timing, which counts from now. Whoever is about to fire it does not."""
    time = await read_clock(connection, now)
    paused = (schedule.paused_at, schedule.pause_reason)
    plan = _planned(Timetable(timing, schedule.id, time), time, *paused)
    await _set(connection, schedule.id, {**_timed(timing, time), **plan}, now)


async def rename(connection: AsyncConnection, schedule_id: str, name: str, *, now: int | None = None) -> None:
    await _set(connection, schedule_id, {"name": name}, now)


async def retask(
    connection: AsyncConnection,
    schedule_id: str,
    *,
    kind: ScheduleKind,
    task_json: str,
    task_sealed: bytes | None,
    now: int | None = None,
) -> None:
    """Let it start something else. Whoever is about to fire it does not."""
    task = {"kind": kind.value, **_task(task_json, task_sealed), **_NO_LEASE}
    await _set(connection, schedule_id, task, now)


async def hand_over(
    connection: AsyncConnection, schedule_id: str, maker: ScheduleMaker, *, now: int | None = None
) -> None:
    """Give it the rights of another maker."""
    await _set(connection, schedule_id, _made_by(maker), now)


async def pause(
    connection: AsyncConnection,
    schedule_id: str,
    reason: PauseReason = PauseReason.REQUEST,
    *,
    now: int | None = None,
) -> bool:
    """False: it is paused already, or gone. Whoever is about to fire it does not."""
    values: dict[str, Any] = {"paused_at": clock(now), "pause_reason": reason.value, **_NO_PLAN, **_NO_LEASE}
    running = _rows.paused_at.is_(None)
    paused = (
        update(schedules).where(_rows.id == schedule_id, running).values({**values, "updated_at": clock(now)})
    )
    return (await connection.execute(paused)).rowcount == 1


async def resume(connection: AsyncConnection, schedule: Schedule, *, now: int | None = None) -> bool:
    """False: it is not paused. It runs at the next time from now on; what it has missed is past."""
    time = await read_clock(connection, now)
    paused = _rows.paused_at.is_not(None)
    plan = _planned(schedule.timetable, time)
    resumed = update(schedules).where(_rows.id == schedule.id, paused).values({**plan, "updated_at": time})
    return (await connection.execute(resumed)).rowcount == 1


async def remove(connection: AsyncConnection, schedule_id: str) -> bool:
    """With its history. What its runs have started stays."""
    removed = await connection.execute(delete(schedules).where(_rows.id == schedule_id))
    await connection.execute(delete(schedule_runs).where(schedule_runs.c.schedule_id == schedule_id))
    return removed.rowcount == 1


async def remove_of_subject(connection: AsyncConnection, kind: ScheduleKind, subject: str) -> bool:
    found = await of_subject(connection, kind, subject)
    return found is not None and await remove(connection, found.id)


async def follow_clock(connection: AsyncConnection, *, now: int | None = None) -> int:
    """After the clock was set back, plan the next runs anew; returns how many. A planned time that has run
    does not run again: its row in the history says so."""
    later = _rows.planned_from > clock(now) + SET_BACK_MS
    waiting = _all().where(_rows.next_at.is_not(None), later).limit(REPLANNED_AT_ONCE)
    rows = (await connection.execute(waiting.with_for_update(skip_locked=True))).all()
    time = await read_clock(connection, now)
    for schedule in map(schedule_of, rows):
        plan = _planned(schedule.timetable, time)
        await connection.execute(update(schedules).where(_rows.id == schedule.id).values(plan))
    return len(rows)


async def is_clock_set_back(connection: AsyncConnection, *, now: int | None = None) -> bool:
    later = _rows.planned_from > clock(now) + SET_BACK_MS
    found = select(_rows.id).where(_rows.next_at.is_not(None), later).limit(1)
    return await connection.scalar(found) is not None


def plan_after(timetable: Timetable, time: int, found_at: int) -> dict[str, Any]:
    """The columns of the next run after a planned time."""
    planned = timetable.next_after(time)
    plan: dict[str, Any] = {
        "planned_at": planned,
        "next_at": None if planned is None else timetable.fires_at(planned),
        "planned_from": found_at,
    }
    if planned is None:
        plan |= {"paused_at": found_at, "pause_reason": PauseReason.NEVER_DUE.value}
    return plan


_NO_LEASE: Final[Mapping[str, Any]] = {"lease_token": None, "leased_until": None}
_NO_PLAN: Final[Mapping[str, Any]] = {"planned_at": None, "next_at": None}


def _planned(
    timetable: Timetable, time: int, paused_at: int | None = None, reason: PauseReason | None = None
) -> dict[str, Any]:
    """The columns of a schedule that is planned anew."""
    state: dict[str, Any] = {"paused_at": paused_at, "pause_reason": reason.value if reason else ""}
    plan = plan_after(timetable, time, time) if paused_at is None else {**_NO_PLAN, "planned_from": time}
    return {**state, **plan, **_NO_LEASE}


def _timed(timing: Timing, time: int) -> dict[str, Any]:
    return {"timing_json": msgspec.json.encode(timing).decode(), "anchor_at": time, "updated_at": time}


def _task(task_json: str, task_sealed: bytes | None) -> dict[str, Any]:
    return {"task_json": task_json, "task_sealed": task_sealed}


def _made_by(maker: ScheduleMaker) -> dict[str, Any]:
    return {"maker_via": maker.via.value, "maker_id": maker.id, "maker_name": maker.name}


async def _set(
    connection: AsyncConnection, schedule_id: str, values: Mapping[str, Any], now: int | None
) -> None:
    changed = update(schedules).where(_rows.id == schedule_id)
    await connection.execute(changed.values({"updated_at": clock(now), **values}))


def _all() -> Select[Any]:
    return select(schedules)


def _first(row: Row[Any] | None) -> Schedule | None:
    return None if row is None else schedule_of(row)


def schedule_of(row: Row[Any]) -> Schedule:
    return Schedule(
        id=row.id,
        tenant_id=row.tenant_id,
        owner=row.owner,
        name=row.name,
        kind=ScheduleKind(row.kind),
        subject=row.subject,
        task_json=row.task_json,
        task_sealed=row.task_sealed,
        timing=_timing.decode(row.timing_json),
        maker=ScheduleMaker(Via(row.maker_via), row.maker_id, row.maker_name),
        anchor_at=row.anchor_at,
        planned_at=row.planned_at,
        next_at=row.next_at,
        paused_at=row.paused_at,
        pause_reason=PauseReason(row.pause_reason) if row.pause_reason else None,
        work_id=row.work_id,
        last_run_id=row.last_run_id,
        failures=row.failures,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
