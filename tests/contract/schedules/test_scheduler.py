"""The scheduler: each planned time is fired once, or told why not."""

import asyncio

import pytest
from msgspec.structs import replace
from tests.contract.schedules.schedule_ground import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    ScheduleGround,
    add_key,
    open_ground,
    refusal,
)

from gossamer.flows.schedules.scheduler import FAILING, GIVE_UP_MS, PUT_OFF_MS, Scheduler
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.schedules import schedule_leases, schedule_runs, schedules
from gossamer.state.schedules.schedule_leases import LEASE_MS
from gossamer.state.schedules.schedule_runs import KEPT_RUNS
from gossamer.state.tenants import activity, tenants
from gossamer.state.tenants.activity import ActivityFilter
from gossamer.web.schedules.schedule_words import PauseReason, ScheduleKind
from gossamer.web.schedules.timing import CatchUp, Timing

KINDS = [ScheduleKind.CRAWL]
STARTED = ("timing", "started", "", 0)


@pytest.fixture
async def ground(database: Database) -> ScheduleGround:
    return await open_ground(database)


async def test_a_run_is_started_when_it_is_due_and_the_next_one_is_planned(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    assert await ground.scheduler.fire_due(now=NOW + HOUR - 1) == 0
    assert await ground.scheduler.fire_due(now=NOW + HOUR) == 1
    assert await ground.scheduler.fire_due(now=NOW + HOUR + 1) == 0
    assert await ground.told(schedule) == [STARTED]
    (run,) = await ground.runs(schedule)
    now = await ground.get(schedule)
    assert (run.planned_at, run.at, now.next_at, now.work_id) == (
        NOW + HOUR,
        NOW + HOUR,
        NOW + 2 * HOUR,
        run.work_id,
    )
    assert ground.starter.firings[0].caller.key_id == ground.key.id


async def test_a_run_that_goes_on_is_not_overlapped(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    for count in (1, 2, 3):
        await ground.scheduler.fire_due(now=NOW + count * HOUR)
        if count == 2:
            await ground.end_work()
    assert await ground.told(schedule) == [STARTED, ("timing", "skipped", "still_running", 0), STARTED]
    assert await ground.started() == 2


@pytest.mark.parametrize("at", ["on_prepare", "on_start"])
async def test_what_cannot_be_started_is_a_failed_run_with_the_code_and_leaves_nothing(
    ground: ScheduleGround, at: str
) -> None:
    schedule = await ground.add()
    await ground.listen("schedule.failed")
    setattr(ground.starter, at, refusal())
    for count in range(1, FAILING + 2):
        await ground.scheduler.fire_due(now=NOW + count * HOUR)
    assert await ground.told(schedule) == [("timing", "failed", "QUOTA_EXCEEDED", 0)] * (FAILING + 1)
    assert await ground.started() == 0
    found = await ground.get(schedule)
    assert (found.failures, found.next_at) == (FAILING + 1, NOW + (FAILING + 2) * HOUR)
    async with ground.database.read() as connection:
        told = await activity.list_activity(connection, ActivityFilter(action="schedule.failing"))
    assert [entry.subject for entry in told] == [schedule.id]
    events = await ground.events()
    assert [(event, data["reason"], data["failures"]) for event, data in events] == [
        ("schedule.failed", "QUOTA_EXCEEDED", count) for count in range(1, FAILING + 2)
    ]
    setattr(ground.starter, at, None)
    await ground.scheduler.fire_due(now=NOW + (FAILING + 2) * HOUR)
    assert (await ground.get(schedule)).failures == 0


async def test_a_defect_of_one_does_not_stop_the_others(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    ground.starter.on_start = ZeroDivisionError()
    assert await ground.scheduler.fire_due(now=NOW + HOUR) == 1
    assert await ground.told(schedule) == [("timing", "failed", "INTERNAL_ERROR", 0)]
    assert "schedule_defect" in ground.written.getvalue()


async def test_an_outage_puts_a_run_off_until_it_has_lasted_too_long(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    ground.starter.on_prepare = Unavailable("browser", "away")
    assert await ground.scheduler.fire_due(now=NOW + HOUR) == 1
    assert await ground.scheduler.fire_due(now=NOW + HOUR + PUT_OFF_MS - 1) == 0
    assert await ground.told(schedule) == []
    ground.starter.on_prepare = None
    assert await ground.scheduler.fire_due(now=NOW + HOUR + PUT_OFF_MS) == 1
    assert await ground.told(schedule) == [STARTED]
    await ground.end_work()
    ground.starter.on_prepare = Unavailable("browser", "away")
    await ground.scheduler.fire_due(now=NOW + 2 * HOUR + GIVE_UP_MS + 1)
    assert await ground.told(schedule) == [STARTED, ("catchUp", "failed", "SERVICE_UNAVAILABLE", 0)]


async def test_after_downtime_the_last_missed_run_is_made_up_for_and_the_others_are_counted(
    ground: ScheduleGround,
) -> None:
    schedule = await ground.add()
    await ground.scheduler.fire_due(now=NOW + 5 * HOUR + 10 * MINUTE)
    assert await ground.told(schedule) == [("catchUp", "started", "", 4)]
    assert (await ground.get(schedule)).next_at == NOW + 6 * HOUR


async def test_after_downtime_missed_runs_are_skipped_if_the_timing_says_so(ground: ScheduleGround) -> None:
    schedule = await ground.add(Timing(every="1h", catch_up=CatchUp.SKIP))
    await ground.scheduler.fire_due(now=NOW + 5 * HOUR + 10 * MINUTE)
    await ground.scheduler.fire_due(now=NOW + 8 * HOUR + MINUTE)
    assert await ground.told(schedule) == [
        ("catchUp", "skipped", "missed", 4),
        ("timing", "started", "", 2),
    ]


async def test_a_clock_that_is_set_back_runs_nothing_twice_and_goes_on(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    await ground.scheduler.fire_due(now=NOW + HOUR)
    await ground.end_work()
    await ground.scheduler.fire_due(now=NOW + 400 * DAY)  # the clock jumps ahead …
    await ground.end_work()
    assert (await ground.told(schedule))[1][:2] == ("timing", "started")
    for count in range(2 * 24 + 2):  # … and is set back
        await ground.scheduler.fire_due(now=NOW + count * HOUR + 1)
        await ground.end_work()
    planned = sorted(run.planned_at or 0 for run in await ground.runs(schedule))
    assert planned == [*(NOW + count * HOUR for count in range(1, 50)), NOW + 400 * DAY]
    assert "schedules_replanned" in ground.written.getvalue()


async def test_the_lease_of_a_process_that_died_ends_and_another_fires(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    due = NOW + HOUR
    async with ground.database.write() as connection:
        assert len(await schedule_leases.lease(connection, KINDS, 8, now=due)) == 1
    assert await ground.scheduler.fire_due(now=due + LEASE_MS - 1) == 0
    assert await ground.scheduler.fire_due(now=due + LEASE_MS) == 1
    assert await ground.told(schedule) == [STARTED]


async def test_a_lost_lease_can_write_nothing(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    async with ground.database.write() as connection:
        (lost,) = await schedule_leases.lease(connection, KINDS, 8, now=NOW + HOUR)
    await ground.scheduler.fire_due(now=NOW + HOUR + LEASE_MS)
    await ground.scheduler._fire_safely(lost, None)
    assert await ground.started() == 1
    assert await ground.told(schedule) == [STARTED]


@pytest.mark.parametrize("change", ["pause", "retime", "remove"])
async def test_a_schedule_that_is_changed_while_it_is_about_to_fire_does_not(
    ground: ScheduleGround, change: str
) -> None:
    schedule = await ground.add()
    async with ground.database.write() as connection:
        (lease,) = await schedule_leases.lease(connection, KINDS, 8, now=NOW + HOUR)
    async with ground.database.write() as connection:
        if change == "pause":
            assert await schedules.pause(connection, schedule.id, now=NOW + HOUR)
        elif change == "retime":
            await schedules.retime(connection, schedule, Timing(every="2h"), now=NOW + HOUR)
        else:
            assert await schedules.remove(connection, schedule.id)
    await ground.scheduler._fire_safely(lease, None)
    assert await ground.started() == 0


async def test_work_that_a_process_does_not_know_is_left_to_others(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    assert await Scheduler(ground.database, {}, ground.scheduler.log).fire_due(now=NOW + HOUR) == 0
    assert await ground.scheduler.fire_due(now=NOW + HOUR) == 1
    assert await ground.told(schedule) == [STARTED]


async def test_many_schedulers_fire_each_run_once(ground: ScheduleGround) -> None:
    made = [await ground.add() for _ in range(12)]
    for count in (1, 2):
        await asyncio.gather(*(ground.scheduler.fire_due(now=NOW + count * HOUR) for _ in range(6)))
        await asyncio.gather(*(ground.scheduler.fire_due(now=NOW + count * HOUR) for _ in range(6)))
        await ground.end_work()
    assert [await ground.told(each) for each in made] == [[STARTED] * 2] * 12
    assert await ground.started() == 24


async def test_a_disabled_key_stops_its_schedules_and_says_why(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    await ground.listen("schedule.*")
    async with ground.database.write() as connection:
        await tenants.disable_key(connection, ground.key.id, "lost", now=NOW)
    await ground.scheduler.fire_due(now=NOW + HOUR)
    stopped = await ground.get(schedule)
    assert (stopped.pause_reason, stopped.next_at) == (PauseReason.KEY_DISABLED, None)
    assert await ground.started() == 0
    async with ground.database.read() as connection:
        told = await activity.list_activity(connection, ActivityFilter(action="schedule.stopped"))
    assert [entry.detail for entry in told] == ["key_disabled"]
    ((event, data),) = await ground.events()
    assert (event, data["scheduleId"], data["reason"]) == ("schedule.stopped", schedule.id, "key_disabled")


async def test_a_key_that_expires_stops_its_schedules(ground: ScheduleGround) -> None:
    async with ground.database.write() as connection:
        ground.key = await add_key(connection, ground.tenant, expires_at=NOW + 2 * HOUR)
    schedule = await ground.add()
    await ground.scheduler.fire_due(now=NOW + HOUR)
    await ground.scheduler.fire_due(now=NOW + 2 * HOUR)
    assert await ground.told(schedule) == [STARTED]
    assert (await ground.get(schedule)).pause_reason is PauseReason.KEY_EXPIRED


async def test_a_rotated_key_hands_its_schedules_to_the_next(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    async with ground.database.write() as connection:
        await tenants.disable_key(connection, ground.key.id, "rotated", now=NOW)
        new = await add_key(connection, ground.tenant, rotated_from=ground.key.id)
    await ground.scheduler.fire_due(now=NOW + HOUR)
    assert await ground.told(schedule) == [STARTED]
    assert ground.starter.firings[0].caller.key_id == new.id


async def test_a_paused_schedule_does_not_run_and_goes_on_at_the_next_time(ground: ScheduleGround) -> None:
    schedule = await ground.add()
    async with ground.database.write() as connection:
        assert await schedules.pause(connection, schedule.id, now=NOW)
        assert not await schedules.pause(connection, schedule.id, now=NOW)
    assert await ground.scheduler.fire_due(now=NOW + 5 * HOUR) == 0
    async with ground.database.write() as connection:
        assert await schedules.resume(connection, schedule, now=NOW + 5 * HOUR + 1)
        assert not await schedules.resume(connection, schedule, now=NOW + 5 * HOUR + 1)
    resumed = await ground.get(schedule)
    assert (resumed.next_at, resumed.paused_at, resumed.pause_reason) == (NOW + 6 * HOUR, None, None)


async def test_the_history_is_bounded_by_count_and_by_age(ground: ScheduleGround) -> None:
    schedule = await ground.add(Timing(every="1m"))
    await ground.scheduler.fire_due(now=NOW + MINUTE)
    (first,) = await ground.runs(schedule)
    async with ground.database.write() as connection:
        for count in range(2, KEPT_RUNS + 6):
            later = replace(first, planned_at=NOW + count * MINUTE, at=NOW + count * MINUTE)
            await schedule_runs.add(connection, later)
    async with ground.database.read() as connection:
        kept = await schedule_runs.listing(connection, schedule.id, limit=1_000)
    assert [kept[0].planned_at, kept[-1].planned_at] == [NOW + 205 * MINUTE, NOW + 6 * MINUTE]
    async with ground.database.write() as connection:
        assert await schedule_runs.count_old(connection, NOW + 16 * MINUTE) == 10
        assert await schedule_runs.forget_old(connection, NOW + 16 * MINUTE) == 10
