"""Queries and answers of the schedule endpoints."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.flows.schedules.schedule_keeper import KeptSchedule
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule, show_time
from gossamer.web.schedules.schedule_words import RunStatus, RunTrigger, ScheduleKind
from gossamer.web.schedules.timing import Timing

MAX_LISTED: Final = 100
SHOWN_NEXT: Final = 5
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_WORK_URLS: Final = {
    ScheduleKind.CRAWL: "/api/crawls/{}",
    ScheduleKind.RECRAWL: "/api/crawls/{}",
    ScheduleKind.BATCH: "/batch/fetch/{}",
    ScheduleKind.AUDIT: "/audits/{}",
    ScheduleKind.MONITOR: "/api/jobs/{}",
    ScheduleKind.WARM_UP: "/api/jobs/{}",
}


class ScheduleQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which schedules to list."""

    kind: Annotated[ScheduleKind | None, Meta(description="Only those that start this.")] = None
    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Schedules in a page.")] = 50


class ScheduleRunQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs to list."""

    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Runs in a page.")] = 50


def to_line(kept: KeptSchedule) -> ScheduleLine:
    return ScheduleLine(**_line_fields(kept))


def to_api(kept: KeptSchedule) -> ShownSchedule:
    schedule = kept.schedule
    return ShownSchedule(
        **_line_fields(kept),
        task=msgspec.json.decode(schedule.task_json),
        made_by=schedule.maker.name,
        next_runs=_next_runs(kept),
        runs_url=f"/api/schedules/{schedule.id}/runs",
        updated_at=timestamps.from_ms(schedule.updated_at),
    )


def run_to_api(run: ScheduleRun, kind: ScheduleKind) -> ShownRun:
    return ShownRun(
        run_id=run.id,
        at=timestamps.from_ms(run.at),
        planned_at=timestamps.from_ms(run.planned_at),
        trigger=run.trigger,
        status=run.status,
        reason=run.reason or None,
        detail=run.detail or None,
        work_id=run.work_id or None,
        status_url=_WORK_URLS[kind].format(run.work_id) if run.work_id else None,
        missed=run.missed,
    )


def _line_fields(kept: KeptSchedule) -> dict[str, Any]:
    schedule, last = kept.schedule, kept.last_run
    return {
        "schedule_id": schedule.id,
        "name": schedule.name,
        "kind": schedule.kind,
        "subject": schedule.subject or None,
        "status": "active" if schedule.paused_at is None else "paused",
        "pause_reason": schedule.pause_reason,
        "timing": schedule.timing,
        "next_run_at": timestamps.from_ms(schedule.next_at),
        "is_running": kept.is_running,
        "failures": schedule.failures,
        "last_run": None if last is None else run_to_api(last, schedule.kind),
        "created_at": timestamps.from_ms(schedule.created_at),
        "status_url": f"/api/schedules/{schedule.id}",
    }


def _next_runs(kept: KeptSchedule) -> list[NextRun]:
    """None while it is paused."""
    schedule, timetable = kept.schedule, kept.schedule.timetable
    if schedule.planned_at is None:
        return []
    following = timetable.upcoming(max(schedule.planned_at, kept.time), SHOWN_NEXT - 1)
    planned = [schedule.planned_at, *following]
    return [show_time(timetable.fires_at(each), schedule.timing) for each in planned]


_EXAMPLE_TIMING: Final = Timing(cron="0 6 * * MON-FRI", timezone="Europe/Zurich")
_EXAMPLE_MS: Final = 1_767_589_200_000  # 2026-01-05T05:00:00Z
EXAMPLE_RUN: Final = ShownRun(
    run_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    at="2026-01-02T05:00:00.041Z",
    planned_at="2026-01-02T05:00:00.000Z",
    trigger=RunTrigger.TIMING,
    status=RunStatus.STARTED,
    reason=None,
    detail=None,
    work_id="01JGGR2Z3WBBBBBBBBBBBBBBBB",
    status_url="/api/crawls/01JGGR2Z3WBBBBBBBBBBBBBBBB",
    missed=0,
)
EXAMPLE_NEXT: Final = show_time(_EXAMPLE_MS, _EXAMPLE_TIMING)
_EXAMPLE_FIELDS: Final[dict[str, Any]] = {
    "schedule_id": _EXAMPLE_ID,
    "name": "news",
    "kind": ScheduleKind.CRAWL,
    "subject": None,
    "status": "active",
    "pause_reason": None,
    "timing": _EXAMPLE_TIMING,
    "next_run_at": EXAMPLE_NEXT.at,
    "is_running": False,
    "failures": 0,
    "last_run": EXAMPLE_RUN,
    "created_at": "2026-01-01T12:00:00.000Z",
    "status_url": f"/api/schedules/{_EXAMPLE_ID}",
}
EXAMPLE_LINE: Final = ScheduleLine(**_EXAMPLE_FIELDS)
EXAMPLE_SCHEDULE: Final = ShownSchedule(
    **_EXAMPLE_FIELDS,
    task={"kind": "crawl", "seeds": ["https://example.com/"], "maxPages": 100},
    made_by="sk_live_1a2b",
    next_runs=[EXAMPLE_NEXT],
    runs_url=f"/api/schedules/{_EXAMPLE_ID}/runs",
    updated_at="2026-01-01T12:00:00.000Z",
)
