"""What calls about schedules are answered with."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from gossamer.web.pages.timestamps import iso
from gossamer.web.schedules.schedule_words import PauseReason, RunStatus, RunTrigger, ScheduleKind
from gossamer.web.schedules.timing import Timing

ScheduleStatus = Literal["active", "paused"]


class NextRun(Struct, frozen=True):
    """A run that is planned."""

    at: Annotated[str, Meta(description="In UTC. It includes the jitter, if the schedule has one.")]
    local: Annotated[str, Meta(description="The same in the time zone of the timing.")]


class ShownRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one run."""

    run_id: str
    at: Annotated[str, Meta(description="When it was started, skipped or failed.")]
    planned_at: Annotated[
        str | None, Meta(description="What the timing said, without jitter. Null if somebody asked for it.")
    ]
    trigger: Annotated[
        RunTrigger,
        Meta(description="`catchUp`: late, because no server was up. `request`: somebody asked for it."),
    ]
    status: Annotated[
        RunStatus,
        Meta(description="`started`: its work tells how it ends. `failed`: it could not be started."),
    ]
    reason: Annotated[
        str | None,
        Meta(
            description="Why it was skipped: `still_running` (the run before it) or `missed`. Why it "
            "failed: the code of the problem."
        ),
    ]
    detail: str | None
    work_id: Annotated[str | None, Meta(description="The crawl, batch or audit that it has started.")]
    status_url: Annotated[str | None, Meta(description="How that goes.")]
    missed: Annotated[int, Meta(description="Runs before it that were missed; 1,000 if there were more.")]


class ScheduleLine(Struct, kw_only=True, rename="camel"):
    """A schedule in a list."""

    schedule_id: str
    name: str
    kind: ScheduleKind
    subject: Annotated[
        str | None,
        Meta(description="The id of what it belongs to, such as a monitor; it is changed with that."),
    ]
    status: ScheduleStatus
    pause_reason: Annotated[
        PauseReason | None,
        Meta(
            description="`request`: somebody paused it. `key_disabled`, `key_expired`, `person_disabled`, "
            "`maker_gone`: who made it may do this no more; resume it with another key. `never_due`: its "
            "timing has no more times."
        ),
    ]
    timing: Timing
    next_run_at: Annotated[str | None, Meta(description="Null while it is paused.")]
    is_running: Annotated[bool, Meta(description="Whether the work of its last run is not over.")]
    failures: Annotated[int, Meta(description="Runs in a row that could not be started.")]
    last_run: ShownRun | None
    created_at: str
    status_url: str


class ShownSchedule(ScheduleLine, kw_only=True):
    """A schedule."""

    task: Annotated[
        dict[str, Any], Meta(description="What it starts. What may be secret is shown as `[hidden]`.")
    ]
    made_by: Annotated[str, Meta(description="The key or person whose rights it has.")]
    next_runs: list[NextRun]
    runs_url: str
    updated_at: str


class ScheduleList(Struct, rename="camel"):
    """Schedules, newest first."""

    schedules: list[ScheduleLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class ScheduleRunList(Struct, rename="camel"):
    """Runs, newest first."""

    runs: list[ShownRun]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class TimingPreview(Struct, rename="camel"):
    """When a schedule with this timing would run."""

    next_runs: Annotated[list[NextRun], Meta(description="Without jitter, which each schedule has its own.")]


def show_time(milliseconds: int, timing: Timing) -> NextRun:
    local = datetime.fromtimestamp(milliseconds / 1_000, timing.zone)
    return NextRun(iso(milliseconds / 1_000), local.isoformat(timespec="seconds"))
