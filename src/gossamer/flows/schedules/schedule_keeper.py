"""The keeper of schedules: makes, changes and runs them for callers."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.schedules.makers import find_maker, maker_of
from gossamer.flows.schedules.scheduler import actor_of
from gossamer.flows.schedules.starter import Firing, Starters, TaskStarter
from gossamer.flows.schedules.task_vault import StoredTask, TaskVault
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quotas
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.problems import Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.schedules import schedule_leases, schedule_runs, schedules
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import NewSchedule, Schedule, read_clock
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.schedules.schedule_change import ScheduleChange, ScheduleRequest
from gossamer.web.schedules.schedule_task import ScheduledTask, holds_hidden
from gossamer.web.schedules.schedule_words import PauseReason, RunStatus, RunTrigger, ScheduleKind
from gossamer.web.schedules.timetable import Timetable
from gossamer.web.schedules.timing import Timing

RememberSchedule = Callable[[AsyncConnection, Schedule], Awaitable[None]]
RememberRun = Callable[[AsyncConnection, ScheduleRun], Awaitable[None]]


class KeptSchedule(Struct, frozen=True):
    """A schedule with its last run, and what that started, if it still runs."""

    schedule: Schedule
    last_run: ScheduleRun | None
    is_running: bool
    time: int  # the database's


class ScheduleKeeper(Struct, frozen=True):
    database: Database
    starters: Starters
    task_starters: Mapping[ScheduleKind, TaskStarter]
    vault: TaskVault
    quotas: Quotas
    least_seconds: int  # between two runs

    async def create(
        self, caller: Caller, request: ScheduleRequest, by: Actor, remember: RememberSchedule
    ) -> Schedule:
        """Raises `Problem` for what this caller could not start now, quotas aside."""
        kind, stored = await self._store(caller, request.task)
        new = NewSchedule(
            tenant_id=caller.tenant_id,
            owner=owner_of(caller),
            kind=kind,
            timing=request.timing,
            maker=maker_of(caller),
            name=request.name,
            task_json=stored.task_json,
            task_sealed=stored.task_sealed,
            is_paused=request.paused,
        )
        self.check_timing(request.timing)
        async with self.database.write() as connection:
            await self.quotas.reserve_schedule(connection, caller)
            schedule = await schedules.add(connection, new)
            await _record(connection, schedule, Action.SCHEDULE_MADE, by, _told(request.timing))
            await remember(connection, schedule)
        return schedule

    async def preview(self, timing: Timing, count: int) -> list[int]:
        """The next planned times, before any jitter."""
        self.check_timing(timing)
        async with self.database.read() as connection:
            time = await read_clock(connection)
        return Timetable(timing, "", time).upcoming(time, count)

    def check_timing(self, timing: Timing) -> None:
        timing.check()
        Timetable(timing, "", 0).check(self.least_seconds)

    async def get(self, caller: Caller, schedule_id: str) -> KeptSchedule:
        async with self.database.read() as connection:
            schedule = _seen(caller, await schedules.get(connection, schedule_id))
            return (await self._with_runs(connection, [schedule]))[0]

    async def list_schedules(
        self, caller: Caller, *, kind: ScheduleKind | None, before: str | None, limit: int
    ) -> list[KeptSchedule]:
        owner = None if caller.role is Role.ADMIN else owner_of(caller)
        async with self.database.read() as connection:
            found = await schedules.listing(connection, owner=owner, kind=kind, before=before, limit=limit)
            return await self._with_runs(connection, found)

    async def list_runs(
        self, caller: Caller, schedule_id: str, *, before: str | None, limit: int
    ) -> tuple[Schedule, list[ScheduleRun]]:
        async with self.database.read() as connection:
            schedule = _seen(caller, await schedules.get(connection, schedule_id))
            return schedule, await schedule_runs.listing(connection, schedule_id, before=before, limit=limit)

    async def change(self, caller: Caller, schedule_id: str, change: ScheduleChange, by: Actor) -> None:
        """Whoever changes what it starts becomes its maker, so nobody uses the rights of another."""
        known = (await self.get(caller, schedule_id)).schedule
        _refuse_owned(known)
        stored = None
        if change.task:
            _refuse_stranger(caller, known)
            stored = await self._store(caller, change.task)
        if change.timing:
            self.check_timing(change.timing)
        async with self.database.write() as connection:
            schedule = _seen(caller, await schedules.lock(connection, schedule_id))
            if change.timing:
                await schedules.retime(connection, schedule, change.timing)
            if isinstance(change.name, str):
                await schedules.rename(connection, schedule_id, change.name)
            if stored is not None:
                kind, task = stored
                await schedules.retask(
                    connection,
                    schedule_id,
                    kind=kind,
                    task_json=task.task_json,
                    task_sealed=task.task_sealed,
                )
                await schedules.hand_over(connection, schedule_id, maker_of(caller))
            await _record(connection, schedule, Action.SCHEDULE_CHANGED, by, change.told)

    async def pause(self, caller: Caller, schedule_id: str, by: Actor) -> None:
        async with self.database.write() as connection:
            schedule = _seen(caller, await schedules.lock(connection, schedule_id))
            _refuse_owned(schedule)
            if await schedules.pause(connection, schedule_id):
                await _record(connection, schedule, Action.SCHEDULE_PAUSED, by)

    async def resume(self, caller: Caller, schedule_id: str, by: Actor) -> None:
        """One that stopped because of its maker gets the rights of whoever lets it go on."""
        async with self.database.write() as connection:
            schedule = _seen(caller, await schedules.lock(connection, schedule_id))
            _refuse_owned(schedule)
            if isinstance(await find_maker(connection, schedule), PauseReason):
                _refuse_stranger(caller, schedule)
                await schedules.hand_over(connection, schedule_id, maker_of(caller))
            if await schedules.resume(connection, schedule):
                await _record(connection, schedule, Action.SCHEDULE_RESUMED, by)

    async def remove(self, caller: Caller, schedule_id: str, by: Actor) -> None:
        """With its history. What it has started stays."""
        async with self.database.write() as connection:
            schedule = _seen(caller, await schedules.lock(connection, schedule_id))
            _refuse_owned(schedule)
            await schedules.remove(connection, schedule_id)
            await _record(connection, schedule, Action.SCHEDULE_DELETED, by, schedule.name)

    async def run_now(
        self, caller: Caller, schedule_id: str, by: Actor, remember: RememberRun
    ) -> ScheduleRun:
        """Start it at once, with the rights of its maker. The next run stays as it is planned."""
        schedule = (await self.get(caller, schedule_id)).schedule
        starter = self.starters[schedule.kind]
        async with self.database.read() as connection:
            maker = await find_maker(connection, schedule)
        if isinstance(maker, PauseReason):
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "Who made this schedule may do this no more.",
                hint="Resume it: then it has the rights of your key.",
                details={"reason": maker.value},
            )
        start = await starter.prepare(Firing(schedule, maker, actor_of(schedule)))
        async with self.database.write() as connection:
            locked = _seen(caller, await schedules.lock(connection, schedule_id))
            if locked.work_id and await starter.is_running(connection, locked.work_id):
                raise Problem(
                    problems.UNPROCESSABLE_ENTITY,
                    "The last run is not over yet.",
                    hint="Wait for it, or stop it.",
                    details={"reason": "still_running", "workId": locked.work_id},
                )
            run = ScheduleRun(
                schedule_id=schedule_id,
                tenant_id=schedule.tenant_id,
                at=await read_clock(connection),
                trigger=RunTrigger.REQUEST,
                status=RunStatus.STARTED,
                work_id=await start(connection),
            )
            run = replace(run, id=await schedule_leases.note(connection, run))
            await _record(connection, schedule, Action.SCHEDULE_RUN, by, run.work_id)
            await remember(connection, run)
        return run

    async def _store(self, caller: Caller, task: ScheduledTask) -> tuple[ScheduleKind, StoredTask]:
        """Check a task, and write it as it is stored."""
        if holds_hidden(msgspec.to_builtins(task)):
            raise validation_error(
                "A secret in the task is the word that stands for one.",
                hint="Answers do not show secrets: give them again when you change the task.",
                details={"field": "task"},
            )
        kind = kind_of(task)
        await self.task_starters[kind].check(task, caller)
        return kind, await self.vault.store(owner_of(caller), task)

    async def _with_runs(self, connection: AsyncConnection, found: list[Schedule]) -> list[KeptSchedule]:
        last = await schedule_runs.some(connection, [each.last_run_id for each in found if each.last_run_id])
        time = await read_clock(connection)
        return [
            KeptSchedule(
                each, last.get(each.last_run_id or ""), await self._is_running(connection, each), time
            )
            for each in found
        ]

    async def _is_running(self, connection: AsyncConnection, schedule: Schedule) -> bool:
        starter = self.starters.get(schedule.kind)
        return bool(
            schedule.work_id
            and starter is not None
            and await starter.is_running(connection, schedule.work_id)
        )


def kind_of(task: ScheduledTask) -> ScheduleKind:
    return ScheduleKind(str(task.__struct_config__.tag))


def _seen(caller: Caller, schedule: Schedule | None) -> Schedule:
    """The schedule, if the caller may see it."""
    if schedule is None or (caller.role is not Role.ADMIN and schedule.owner != owner_of(caller)):
        raise Problem(problems.NOT_FOUND, "There is no schedule with this id.")
    return schedule


def _refuse_owned(schedule: Schedule) -> None:
    if schedule.subject:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"This schedule belongs to something else ({schedule.kind.value}), and is changed with it.",
            details={"reason": "owned", "kind": schedule.kind.value, "subject": schedule.subject},
        )


def _refuse_stranger(caller: Caller, schedule: Schedule) -> None:
    """A schedule works for its tenant, so it cannot have the rights of another's key."""
    if caller.tenant_id != schedule.tenant_id:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            "This schedule is another tenant's; it would get the rights of your key.",
            hint="Use a key of that tenant.",
        )


def _told(timing: Timing) -> str:
    return timing.cron or f"every {timing.every}"


async def _record(
    connection: AsyncConnection, schedule: Schedule, action: Action, by: Actor, detail: str = ""
) -> None:
    await activity.record(connection, ActivityEntry(schedule.tenant_id, action, schedule.id, by, detail))
