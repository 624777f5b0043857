"""Answers of the endpoints of monitors."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core.timestamps import from_ms
from gossamer.flows.monitors.monitors import KeptMonitor
from gossamer.state.monitors.changes import StoredChange, StoredCheck
from gossamer.state.monitors.snapshots import ListedSnapshot, StoredSnapshot
from gossamer.web.monitors.diff.text_diff import DiffRow, RowKind
from gossamer.web.monitors.monitor_answer import (
    ChangedPart,
    ChangeLine,
    CheckLine,
    DiffFormat,
    MonitorAccepted,
    MonitorLine,
    MonitorStatus,
    ShownChange,
    ShownMonitor,
    ShownSnapshot,
    SnapshotLine,
    TrialAnswer,
)
from gossamer.web.monitors.monitor_request import NewMonitor
from gossamer.web.monitors.monitor_spec import LookOptions, MonitoredPage, address_of
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE, NoiseKind
from gossamer.web.monitors.rules.change_reason import ChangeReason, IgnoredNoise, ReasonKind
from gossamer.web.monitors.rules.change_rule import NumberRule, TextRule
from gossamer.web.pages.timestamps import iso
from gossamer.web.schedules.timing import Timing

MAX_LISTED: Final = 100
MONITORS: Final = "/api/monitors"
_EXAMPLE_ID: Final = "01JGGR2Z3WMMMMMMMMMMMMMMMM"
_EXAMPLE_CHANGE: Final = "01JGGR2Z3WCCCCCCCCCCCCCCCC"
_EXAMPLE_JOB: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class MonitorQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of a list."""

    cursor: Annotated[Cursor | None, Meta(description="`nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Entries in a page.")] = 50


class DiffQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a difference is written."""

    format: Annotated[
        DiffFormat,
        Meta(
            description="`json`: rows and fields. `unified`: as diff writes it. `markdown`: ~~old~~ **new**."
        ),
    ] = "json"


def to_line(kept: KeptMonitor) -> MonitorLine:
    return MonitorLine(**_line_fields(kept))


def to_api(kept: KeptMonitor) -> ShownMonitor:
    monitor = kept.monitor
    here = f"{MONITORS}/{monitor.id}"
    return ShownMonitor(
        **_line_fields(kept),
        watch=monitor.spec.watch,
        rules=monitor.spec.rules,
        noise=monitor.spec.noise,
        look=monitor.spec.look,
        has_headers=monitor.headers_sealed is not None,
        confirm_after=monitor.spec.confirm_after,
        fail_after=monitor.spec.fail_after,
        job_id=monitor.job_id or None,
        changes_url=f"{here}/changes",
        checks_url=f"{here}/checks",
    )


def _line_fields(kept: KeptMonitor) -> dict[str, Any]:
    monitor, schedule = kept.monitor, kept.schedule
    snoozed = monitor.snoozed_until if (monitor.snoozed_until or 0) > kept.time else None
    return {
        "monitor_id": monitor.id,
        "name": monitor.name,
        "watched": address_of(monitor.spec.watch),
        "status": status_of(kept),
        "muted": monitor.muted,
        "snoozed_until": from_ms(snoozed),
        "timing": schedule.timing if schedule else None,
        "next_check_at": from_ms(schedule.next_at) if schedule else None,
        "checked_at": from_ms(monitor.checked_at),
        "changed_at": from_ms(monitor.changed_at),
        "changes": monitor.changes,
        "failures": monitor.failures,
        "last_problem": monitor.last_problem or None,
        "created_at": from_ms(monitor.created_at),
        "status_url": f"{MONITORS}/{monitor.id}",
    }


def status_of(kept: KeptMonitor) -> MonitorStatus:
    if kept.schedule is None or kept.schedule.paused_at is not None:
        return "paused"
    if kept.monitor.failing_since is not None:
        return "failing"
    return "new" if kept.monitor.checked_at is None else "ok"


def to_accepted(monitor_id: str, job_id: str) -> MonitorAccepted:
    return MonitorAccepted(monitor_id, job_id, f"/api/jobs/{job_id}")


def to_change_line(change: StoredChange) -> ChangeLine:
    return ChangeLine(**_change_fields(change))


def to_change(
    change: StoredChange,
    before: StoredSnapshot | None,
    after: StoredSnapshot | None,
    parts: tuple[ChangedPart, ...],
) -> ShownChange:
    return ShownChange(
        **_change_fields(change),
        monitor_id=change.monitor_id,
        check_id=change.check_id,
        before_id=change.before_id,
        after_id=change.after_id,
        before_at=iso(before.snapshot.taken_at) if before else None,
        after_at=iso(after.snapshot.taken_at) if after else None,
        parts=parts,
    )


def _change_fields(change: StoredChange) -> dict[str, Any]:
    return {
        "change_id": change.id,
        "url": change.url,
        "seen_at": from_ms(change.seen_at),
        "reasons": change.verdict.reasons,
        "ignored": change.verdict.ignored,
        "told": change.told,
        "acknowledged_at": from_ms(change.acknowledged_at),
        "status_url": f"{MONITORS}/{change.monitor_id}/changes/{change.id}",
    }


def to_check(check: StoredCheck) -> CheckLine:
    return CheckLine(
        check_id=check.id,
        at=from_ms(check.at),
        result=check.result.value,
        detail=msgspec.json.decode(check.detail_json),
    )


def to_snapshot_line(found: ListedSnapshot) -> SnapshotLine:
    return SnapshotLine(
        snapshot_id=found.id,
        url=found.url,
        taken_at=from_ms(found.taken_at),
        is_current=found.is_current,
        has_picture=found.has_picture,
    )


def to_snapshot(found: StoredSnapshot) -> ShownSnapshot:
    snapshot = found.snapshot
    return ShownSnapshot(
        snapshot_id=found.id,
        url=snapshot.url,
        taken_at=iso(snapshot.taken_at),
        title=snapshot.title,
        status=snapshot.status,
        outcome=snapshot.outcome.value if snapshot.outcome else None,
        text=snapshot.text,
        parts=dict(snapshot.parts),
        fields=dict(snapshot.fields),
        has_picture=bool(snapshot.picture),
    )


EXAMPLE_REQUEST: Final = NewMonitor(
    watch=MonitoredPage("https://example.com/pack"),
    name="Price of the pack",
    rules=(TextRule(), NumberRule(selector=".price", below=20)),
    timing=Timing(every="6h"),
)
_EXAMPLE_FIELDS: Final[dict[str, Any]] = {
    "monitor_id": _EXAMPLE_ID,
    "name": "Price of the pack",
    "watched": "https://example.com/pack",
    "status": "ok",
    "muted": False,
    "snoozed_until": None,
    "timing": Timing(every="6h"),
    "next_check_at": "2026-01-01T18:00:00.000Z",
    "checked_at": "2026-01-01T12:00:00.000Z",
    "changed_at": "2026-01-01T12:00:00.000Z",
    "changes": 1,
    "failures": 0,
    "last_problem": None,
    "created_at": "2026-01-01T06:00:00.000Z",
    "status_url": f"{MONITORS}/{_EXAMPLE_ID}",
}
EXAMPLE_LINE: Final = MonitorLine(**_EXAMPLE_FIELDS)
EXAMPLE_MONITOR: Final = ShownMonitor(
    **_EXAMPLE_FIELDS,
    watch=EXAMPLE_REQUEST.watch,
    rules=EXAMPLE_REQUEST.rules,
    noise=ALL_NOISE,
    look=LookOptions(),
    has_headers=False,
    confirm_after=0,
    fail_after=3,
    job_id=_EXAMPLE_JOB,
    changes_url=f"{MONITORS}/{_EXAMPLE_ID}/changes",
    checks_url=f"{MONITORS}/{_EXAMPLE_ID}/checks",
)
_EXAMPLE_REASON: Final = ChangeReason(
    kind=ReasonKind.TEXT_CHANGED, rule=0, old="Price: £22.00", new="Price: £19.00"
)
_EXAMPLE_IGNORED: Final = IgnoredNoise(noise=NoiseKind.COUNTER, count=1, old="12 views", new="31 views")
_EXAMPLE_PART: Final = ChangedPart(0, "Text", (DiffRow(RowKind.CHANGED, "Price: £22.00", "Price: £19.00"),))
_CHANGE_FIELDS: Final[dict[str, Any]] = {
    "change_id": _EXAMPLE_CHANGE,
    "url": "https://example.com/pack",
    "seen_at": "2026-01-01T12:00:00.000Z",
    "reasons": (_EXAMPLE_REASON,),
    "ignored": (_EXAMPLE_IGNORED,),
    "told": True,
    "acknowledged_at": None,
    "status_url": f"{MONITORS}/{_EXAMPLE_ID}/changes/{_EXAMPLE_CHANGE}",
}
EXAMPLE_CHANGE_LINE: Final = ChangeLine(**_CHANGE_FIELDS)
EXAMPLE_CHANGE: Final = ShownChange(
    **_CHANGE_FIELDS,
    monitor_id=_EXAMPLE_ID,
    check_id=_EXAMPLE_JOB,
    before_id="01JGGR2Z3WBBBBBBBBBBBBBBBB",
    after_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    before_at="2026-01-01T06:00:00.000Z",
    after_at="2026-01-01T12:00:00.000Z",
    parts=(_EXAMPLE_PART,),
)
EXAMPLE_CHECK: Final = CheckLine(
    check_id=_EXAMPLE_JOB, at="2026-01-01T12:00:00.000Z", result="changed", detail={"pages": 1}
)
EXAMPLE_SNAPSHOT_LINE: Final = SnapshotLine(
    snapshot_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    url="https://example.com/pack",
    taken_at="2026-01-01T12:00:00.000Z",
    is_current=True,
    has_picture=False,
)
EXAMPLE_SNAPSHOT: Final = ShownSnapshot(
    snapshot_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    url="https://example.com/pack",
    taken_at="2026-01-01T12:00:00.000Z",
    title="Pack",
    status=200,
    outcome="ok",
    text="Price: £19.00",
    parts={".price": "£19.00"},
    fields={},
    has_picture=False,
)
EXAMPLE_TRIAL: Final = TrialAnswer(
    changed=True, reasons=(_EXAMPLE_REASON,), ignored=(_EXAMPLE_IGNORED,), parts=(_EXAMPLE_PART,)
)
EXAMPLE_ACCEPTED: Final = to_accepted(_EXAMPLE_ID, _EXAMPLE_JOB)
