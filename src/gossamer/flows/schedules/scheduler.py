"""The scheduler: fires what is due. It runs in every server and worker; each run is fired by one of them.

    due ──lease──▶ prepare, outside of a transaction ──▶ one transaction: prove the lease, start the work,
                                                         note the run, plan the next one
    a problem      the transaction is undone, and the run is noted as failed
    an outage      the lease is given back and tried again, for a quarter of an hour
    a kill         the lease ends by itself, and another process fires

A planned time has one row in the history, so neither two processes nor a clock that is set back run it twice.
"""

import asyncio
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.schedules.makers import find_maker
from gossamer.flows.schedules.schedule_news import tell_failed, tell_stopped
from gossamer.flows.schedules.starter import Firing, Start, Starters
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.schedules import schedule_leases as leases
from gossamer.state.schedules import schedule_runs as runs
from gossamer.state.schedules import schedules
from gossamer.state.schedules.schedule_leases import ScheduleLease
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import Schedule
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor, Via
from gossamer.state.wakeups.wakeups import Wakeups
from gossamer.web.schedules.schedule_words import PauseReason, RunStatus, RunTrigger, SkipReason
from gossamer.web.schedules.timing import CatchUp

AT_ONCE: Final = 8  # schedules that a process leases together
LOOK_SECONDS: Final = 5.0  # at most between two looks; a schedule may be added meanwhile
QUIET_SECONDS: Final = 30.0  # the same while nothing is written; the clock may be set forward
TAKEN_SECONDS: Final = 1.0  # while another process has what is due
PREPARE_SECONDS: Final = 15.0  # well within the lease
ON_TIME_MS: Final = 120_000  # a run that begins later was missed
PUT_OFF_MS: Final = 30_000  # after an outage
GIVE_UP_MS: Final = 15 * 60_000
FAILING: Final = 3  # failures in a row, after which operators are told


class ScheduleLeaseLost(Exception):
    """Another process fires, or the schedule was changed. Leaving the transaction undoes what was done."""


class Scheduler(Struct, frozen=True):
    database: Database
    starters: Starters
    log: Log

    async def run(self, wakeups: Wakeups) -> None:
        """Until cancelled."""
        with wakeups.looking(QUIET_SECONDS) as rest:
            while True:
                try:
                    left = await self._look()
                except Unavailable as away:
                    self.log.debug("schedules_postponed", "they will be fired later", why=away.detail)
                    left = LOOK_SECONDS
                await rest(min(left, LOOK_SECONDS), left)

    async def _look(self) -> float:
        """Fire what is due; returns the seconds until something is due, as far as it is known."""
        fired = await self.fire_due()
        async with self.database.read() as connection:
            left = await leases.until_due(connection, self.starters)
        if left is None:
            return QUIET_SECONDS
        least = 0.0 if fired else TAKEN_SECONDS if left <= 0 else 0.05
        return max(left / 1_000, least)

    async def fire_due(self, *, now: int | None = None) -> int:
        """Fire what is due, some at a time; returns how many were leased."""
        async with self.database.read() as connection:
            left = await leases.until_due(connection, self.starters, now=now)
            set_back = await schedules.is_clock_set_back(connection, now=now)
        if set_back:
            await self._follow_clock(now)
        elif left is None or left > 0:
            return 0
        async with self.database.write() as connection:
            taken = await leases.lease(connection, self.starters, AT_ONCE, now=now)
        ended = await asyncio.gather(
            *(self._fire_safely(lease, now) for lease in taken), return_exceptions=True
        )
        for error in ended:
            if error is not None:
                raise error
        return len(taken)

    async def _follow_clock(self, now: int | None) -> None:
        async with self.database.write() as connection:
            replanned = await schedules.follow_clock(connection, now=now)
        self.log.warning("schedules_replanned", "the database's clock was set back", schedules=replanned)

    async def _fire_safely(self, lease: ScheduleLease, now: int | None) -> None:
        try:
            await self._fire(lease, now)
        except ScheduleLeaseLost:
            self.log.debug("schedule_lease_lost", "somebody else fires it", scheduleId=lease.schedule.id)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  (a defect that one schedule reveals must not stop the others)
            self.log.error(
                "schedule_defect", "a run could not be started", scheduleId=lease.schedule.id, cause=error
            )
            await self._fail(lease, self._due(lease), Problem(problems.INTERNAL_ERROR, "An internal error."))

    def _due(self, lease: ScheduleLease) -> ScheduleRun:
        """The run that is due, as if it had been started."""
        schedule, timetable = lease.schedule, lease.schedule.timetable
        due = timetable.due(lease.planned, lease.at)
        late = lease.at - timetable.fires_at(due.planned)
        return ScheduleRun(
            schedule_id=schedule.id,
            tenant_id=schedule.tenant_id,
            planned_at=due.planned,
            at=lease.at,
            trigger=RunTrigger.TIMING if late <= ON_TIME_MS else RunTrigger.CATCH_UP,
            status=RunStatus.STARTED,
            missed=due.missed,
        )

    async def _fire(self, lease: ScheduleLease, now: int | None) -> None:
        schedule, run = lease.schedule, self._due(lease)
        if run.trigger is RunTrigger.CATCH_UP and schedule.timing.catch_up is CatchUp.SKIP:
            await self._settle(lease, _skipped(run, SkipReason.MISSED))
            return
        async with self.database.read() as connection:
            maker = await find_maker(connection, schedule, now=now)
        if isinstance(maker, PauseReason):
            await self._stop(lease, maker, now)
            return
        firing = Firing(schedule, maker, actor_of(schedule))
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                start = await self.starters[schedule.kind].prepare(firing)
            await self._start(lease, run, start)
        except (Unavailable, TimeoutError) as away:
            await self._put_off(lease, run, away, now)
        except Problem as problem:
            await self._fail(lease, run, problem)

    async def _start(self, lease: ScheduleLease, run: ScheduleRun, start: Start) -> None:
        """The transaction that fires."""
        async with self.database.write() as connection:
            schedule = await leases.prove(connection, lease)
            if schedule is None:
                raise ScheduleLeaseLost
            planned = run.planned_at or lease.planned
            if await runs.was_run(connection, schedule.id, planned):  # before the clock was set back
                await leases.advance(connection, lease, planned)
                return
            starter = self.starters[schedule.kind]
            if schedule.work_id and await starter.is_running(connection, schedule.work_id):
                await leases.finish(connection, lease, _skipped(run, SkipReason.STILL_RUNNING))
                return
            await leases.finish(connection, lease, replace(run, work_id=await start(connection)))

    async def _settle(self, lease: ScheduleLease, run: ScheduleRun) -> Schedule | None:
        """Note a run that starts nothing. Returns the schedule as it was before."""
        async with self.database.write() as connection:
            schedule = await leases.prove(connection, lease)
            if schedule is None:
                raise ScheduleLeaseLost
            planned = run.planned_at or lease.planned
            if await runs.was_run(connection, schedule.id, planned):
                await leases.advance(connection, lease, planned)
                return None
            await leases.finish(connection, lease, run)
            if run.status is RunStatus.FAILED:
                await tell_failed(connection, schedule, run)
            if run.status is RunStatus.FAILED and schedule.failures + 1 == FAILING:
                detail = f"{FAILING} times in a row: {run.reason}"
                await _record(connection, schedule, Action.SCHEDULE_FAILING, detail)
        return schedule

    async def _fail(self, lease: ScheduleLease, run: ScheduleRun, problem: Problem) -> None:
        failed = replace(run, status=RunStatus.FAILED, reason=problem.kind.code, detail=problem.detail)
        schedule = await self._settle(lease, failed)
        if schedule is not None:
            self.log.warning(
                "schedule_failed",
                problem.detail,
                scheduleId=schedule.id,
                code=problem.kind.code,
                failures=schedule.failures + 1,
            )

    async def _put_off(
        self, lease: ScheduleLease, run: ScheduleRun, away: Unavailable | TimeoutError, now: int | None
    ) -> None:
        """An outage of our own costs no run, unless it lasts."""
        known = away if isinstance(away, Unavailable) else Unavailable("schedules", "it took too long")
        late = lease.at - lease.schedule.timetable.fires_at(run.planned_at or lease.planned)
        if late > GIVE_UP_MS:
            await self._fail(lease, run, known)
            return
        async with self.database.write() as connection:
            await leases.put_off(connection, lease, PUT_OFF_MS, now=now)

    async def _stop(self, lease: ScheduleLease, reason: PauseReason, now: int | None) -> None:
        async with self.database.write() as connection:
            schedule = await leases.prove(connection, lease)
            if schedule is None:
                raise ScheduleLeaseLost
            await schedules.pause(connection, schedule.id, reason, now=now)
            await _record(connection, schedule, Action.SCHEDULE_STOPPED, reason.value)
            await tell_stopped(connection, schedule, reason)
        self.log.warning(
            "schedule_stopped", "its maker may do this no more", scheduleId=schedule.id, reason=reason.value
        )


def _skipped(run: ScheduleRun, reason: SkipReason) -> ScheduleRun:
    return replace(run, status=RunStatus.SKIPPED, reason=reason.value)


def actor_of(schedule: Schedule) -> Actor:
    """Who has started the work, for the log of activity."""
    return Actor(schedule.id, schedule.name or schedule.kind.value, Via.SCHEDULE)


async def _record(connection: AsyncConnection, schedule: Schedule, action: Action, detail: str) -> None:
    entry = ActivityEntry(schedule.tenant_id, action, schedule.id, actor_of(schedule), detail)
    await activity.record(connection, entry)
