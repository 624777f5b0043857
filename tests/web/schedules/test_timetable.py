"""Timetables: when a schedule runs, around changes of the clock too, and what was missed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.problems import Problem
from gossamer.web.schedules.durations import duration_of, seconds_of_duration
from gossamer.web.schedules.timetable import MAX_MISSED, Timetable
from gossamer.web.schedules.timing import Timing

NOW = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp()) * 1_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
EXPRESSIONS = (
    "*/7 * * * *",
    "30 2 * * *",
    "0 9 * * MON-FRI",
    "15,45 1-3 * * *",
    "0 0 29 2 *",
    "@daily",
    "5 4 L * *",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Cairo")


def table(timing: Timing, anchor: int = NOW) -> Timetable:
    return Timetable(timing, "S", anchor)


def local(timing: Timing, times: list[int]) -> list[str]:
    return [datetime.fromtimestamp(each / 1_000, timing.zone).isoformat(timespec="minutes") for each in times]


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000


def test_a_time_that_spring_skips_runs_when_the_clock_has_changed() -> None:
    timing = Timing(cron="30 2 * * *", timezone="Europe/Berlin")
    assert local(timing, table(timing).upcoming(NOW, 2)) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
    ]


def test_a_time_that_comes_twice_in_autumn_runs_the_first_time() -> None:
    timing = Timing(cron="30 2 * * *", timezone="Europe/Berlin")
    begin = ms("2026-10-24T12:00+02:00")
    shown = ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    assert local(timing, table(timing).upcoming(begin, 2)) == shown
    between = ms("2026-10-25T02:10+01:00")  # the second time that it is ten past two
    assert local(timing, table(timing).upcoming(between, 1)) == shown[1:]


def test_an_expression_for_every_hour_runs_in_both_hours_of_autumn() -> None:
    timing = Timing(cron="0 * * * *", timezone="Europe/Berlin")
    times = table(timing).upcoming(ms("2026-10-25T01:30+02:00"), 3)
    assert [later - before for before, later in pairwise(times)] == [HOUR, HOUR]
    assert local(timing, times)[1] == "2026-10-25T02:00+01:00"


def test_every_counts_from_its_anchor_whatever_the_clock_does() -> None:
    timing = Timing(every="6h", timezone="Europe/Berlin")
    assert table(timing).upcoming(NOW, 6) == [NOW + count * 6 * HOUR for count in range(1, 7)]
    assert table(timing).next_after(NOW - 7 * HOUR) == NOW - 6 * HOUR  # the clock was set back


@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(ZONES),
    st.integers(0, 400 * DAY // MINUTE).map(lambda minutes: NOW + minutes * MINUTE + 123),
)
def test_times_are_later_each_time_and_do_not_depend_on_where_the_look_begins(
    cron: str, zone: str, begin: int
) -> None:
    found = table(Timing(cron=cron, timezone=zone)).upcoming(begin, 5)
    assert begin < found[0]
    assert all(before < later for before, later in pairwise(found))
    assert [table(Timing(cron=cron, timezone=zone)).next_after(each) for each in found[:-1]] == found[1:]


def test_jitter_follows_from_the_schedule_and_the_planned_time() -> None:
    timing = Timing(cron="0 * * * *", jitter="10m")
    planned = table(timing).upcoming(NOW, 50)
    shifts = [table(timing).fires_at(each) - each for each in planned]
    assert shifts == [table(timing).fires_at(each) - each for each in planned]
    assert all(0 <= shift < 10 * MINUTE for shift in shifts)
    assert len(set(shifts)) > 40
    other = Timetable(timing, "other", NOW)
    assert [other.fires_at(each) - each for each in planned] != shifts


def test_the_last_due_time_is_run_and_those_before_it_are_counted() -> None:
    hourly = table(Timing(cron="0 * * * *"))
    first = NOW + HOUR
    assert hourly.due(first, first) == (first, 0)
    assert hourly.due(first, first + 3 * HOUR + MINUTE) == (first + 3 * HOUR, 3)


@pytest.mark.parametrize("timing", [Timing(cron="* * * * *"), Timing(every="1m")])
def test_years_of_missed_runs_are_not_gone_through_one_by_one(timing: Timing) -> None:
    first = NOW + MINUTE
    now = first + 5 * 365 * DAY + 10
    assert table(timing).due(first, now) == (first + 5 * 365 * DAY, MAX_MISSED)


def test_rare_runs_are_found_after_many_that_were_missed() -> None:
    january = Timing(cron="* * * 1 *")
    first, now = ms("2026-01-01T00:00+00:00"), ms("2026-06-01T00:00+00:00")
    assert table(january).due(first, now) == (ms("2026-01-31T23:59+00:00"), MAX_MISSED)


def test_a_run_is_not_due_before_its_jitter_is_over() -> None:
    timetable = table(Timing(cron="0 * * * *", jitter="59m"))
    first, second = timetable.upcoming(NOW, 2)
    assert timetable.due(first, timetable.fires_at(second) - 1) == (first, 0)
    assert timetable.due(first, timetable.fires_at(second)) == (second, 1)


@pytest.mark.parametrize(
    ("timing", "field"),
    [
        (Timing(), "cron"),
        (Timing(cron="0 9 * * *", every="1h"), "cron"),
        (Timing(cron="0 9 * *"), "cron"),
        (Timing(cron="0 0 9 * * *"), "cron"),
        (Timing(cron="61 9 * * *"), "cron"),
        (Timing(cron="0 0 30 2 *"), "cron"),
        (Timing(cron="@reboot"), "cron"),
        (Timing(cron="*/0 * * * *"), "cron"),
        (Timing(cron="5-1 * * * *"), "cron"),
        (Timing(cron="0 0 * * MON#2/3"), "cron"),
        (Timing(every="0m"), "every"),
        (Timing(every="1.5h"), "every"),
        (Timing(every="400d"), "every"),
        (Timing(every="1h", jitter="2d"), "jitter"),
        (Timing(cron="@daily", timezone="Europe"), "timezone"),
        (Timing(cron="@daily", timezone="Mars/Olympus"), "timezone"),
        (Timing(cron="@daily", timezone="../../etc/passwd"), "timezone"),
        (Timing(cron="@daily", timezone="localtime"), "timezone"),
        (Timing(cron="@daily", timezone=""), "timezone"),
    ],
)
def test_what_is_no_timing_is_refused_at_its_field(timing: Timing, field: str) -> None:
    with pytest.raises(Problem) as refused:
        timing.check()
    assert refused.value.details["field"] == f"timing.{field}"


@pytest.mark.parametrize("timezone", ZONES)
def test_zones_come_with_the_package(timezone: str) -> None:
    Timing(cron="@daily", timezone=timezone).check()


@pytest.mark.parametrize(
    ("timing", "least"),
    [
        (Timing(every="30s"), 60),
        (Timing(cron="*/5 * * * *"), 600),
        (Timing(cron="0,59 0,23 * * *"), 120),  # a minute apart at midnight
        (Timing(cron="0 0,1 1 1 *"), 7_200),
    ],
)
def test_runs_that_come_too_often_are_refused(timing: Timing, least: int) -> None:
    with pytest.raises(Problem) as refused:
        table(timing).check(least)
    assert refused.value.details["field"] in ("timing.cron", "timing.every")


def test_a_jitter_must_end_before_the_next_run() -> None:
    table(Timing(cron="0 * * * *", jitter="1h")).check(60)
    with pytest.raises(Problem) as refused:
        table(Timing(cron="0,30 * * * *", jitter="31m")).check(60)
    assert refused.value.details["field"] == "timing.jitter"
    with pytest.raises(Problem):
        table(Timing(every="1m", jitter="2m")).check(60)


@given(st.integers(1, 999_999))
def test_durations_are_read_as_they_are_written(seconds: int) -> None:
    assert seconds_of_duration(duration_of(seconds)) == seconds
    assert timedelta(seconds=seconds_of_duration("2w")) == timedelta(weeks=2)
