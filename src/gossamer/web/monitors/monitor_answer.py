"""What calls about monitors are answered with."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.monitors.diff.text_diff import DiffRow
from gossamer.web.monitors.monitor_spec import LookOptions, Monitored
from gossamer.web.monitors.noise.noise_kind import NoiseOptions
from gossamer.web.monitors.rules.change_reason import ChangeReason, IgnoredNoise
from gossamer.web.monitors.rules.change_rule import ChangeRule
from gossamer.web.monitors.rules.field_changes import FieldChange
from gossamer.web.schedules.timing import Timing

MonitorStatus = Literal["new", "ok", "failing", "paused"]
DiffFormat = Literal["json", "unified", "markdown"]


class MonitorLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """A monitor in a list."""

    monitor_id: str
    name: str
    watched: Annotated[str, Meta(description="What is watched, in a line.")]
    status: Annotated[
        MonitorStatus,
        Meta(description="`new`: not checked yet. `failing`: it could not be read, several times in a row."),
    ]
    muted: bool
    snoozed_until: str | None
    timing: Timing | None
    next_check_at: Annotated[str | None, Meta(description="Null while it is paused.")]
    checked_at: str | None
    changed_at: str | None
    changes: Annotated[int, Meta(description="How many it has found so far.")]
    failures: Annotated[int, Meta(description="Checks in a row that could not read everything.")]
    last_problem: Annotated[
        str | None, Meta(description="Why: the code of a problem, or the outcome, such as `blocked`.")
    ]
    created_at: str
    status_url: str


class ShownMonitor(MonitorLine, frozen=True, kw_only=True):
    """A monitor."""

    watch: Monitored
    rules: tuple[ChangeRule, ...]
    noise: NoiseOptions
    look: Annotated[LookOptions, Meta(description="Without headers.")]
    has_headers: bool
    confirm_after: int
    fail_after: int
    job_id: Annotated[str | None, Meta(description="The job of the last check.")]
    changes_url: str
    checks_url: str


class MonitorList(Struct, frozen=True, rename="camel"):
    """Monitors, the newest first."""

    monitors: list[MonitorLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class MonitorAccepted(Struct, frozen=True, rename="camel"):
    """The check has been queued."""

    monitor_id: str
    job_id: str
    status_url: Annotated[str, Meta(description="Ask here until the job is done.")]


class ChangeLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change in a list."""

    change_id: str
    url: str
    seen_at: str
    reasons: Annotated[tuple[ChangeReason, ...], Meta(description="Why it fired.")]
    ignored: Annotated[tuple[IgnoredNoise, ...], Meta(description="What differed, and did not count.")]
    told: Annotated[bool, Meta(description="False: the monitor was muted or snoozed.")]
    acknowledged_at: str | None
    status_url: str


class ChangeList(Struct, frozen=True, rename="camel"):
    """Changes, the newest first."""

    changes: list[ChangeLine]
    next_cursor: str | None


class ChangedPart(Struct, frozen=True, rename="camel"):
    """The difference that one rule sees."""

    rule: Annotated[int, Meta(description="Which of the rules, from 0.")]
    title: str
    rows: Annotated[
        tuple[DiffRow, ...], Meta(description="Lines: `same`, `added`, `removed`, `changed`; and its noise.")
    ] = ()
    fields: tuple[FieldChange, ...] = ()
    text: Annotated[str | UnsetType, Meta(description="In the format that was asked for.")] = UNSET


class ShownChange(ChangeLine, frozen=True, kw_only=True):
    """A change, with its difference."""

    monitor_id: str
    check_id: str
    before_id: Annotated[str | None, Meta(description="The snapshot; null if the page has appeared.")]
    after_id: str | None
    before_at: str | None
    after_at: str | None
    parts: tuple[ChangedPart, ...]


class CheckLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one check."""

    check_id: Annotated[str, Meta(description="The id of its job.")]
    at: str
    result: Annotated[
        str, Meta(description="`first`, `same`, `changed`, `unconfirmed` (a second look) or `failed`.")
    ]
    detail: Annotated[Any, Meta(description="Pages, troubles, and what was ignored as noise.")]


class CheckList(Struct, frozen=True, rename="camel"):
    """Checks, the newest first."""

    checks: list[CheckLine]
    next_cursor: str | None


class SnapshotLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """A look at a page."""

    snapshot_id: str
    url: str
    taken_at: str
    is_current: bool
    has_picture: bool


class SnapshotList(Struct, frozen=True, rename="camel"):
    """Snapshots, the newest first."""

    snapshots: list[SnapshotLine]
    next_cursor: str | None


class ShownSnapshot(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a look has found."""

    snapshot_id: str
    url: str
    taken_at: str
    title: str
    status: int
    outcome: str | None
    text: str
    parts: dict[str, str]
    fields: dict[str, Any]
    has_picture: bool


class TrialAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a monitor with these rules would say."""

    changed: bool
    reasons: tuple[ChangeReason, ...]
    ignored: tuple[IgnoredNoise, ...]
    parts: tuple[ChangedPart, ...]


class Acknowledged(Struct, frozen=True):
    """How many changes were new."""

    acknowledged: int
