"""Compares what was told, fired and stored with what had to be."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from tests.soak.week.plan import Expectation, ToldOf, WeekMonitor
from tests.soak.week.receivers import HeardEvent, WeekReceiver
from tests.soak.week.stores import StorageLook

# Kept for good, or for longer than a week.
LASTING: Final = frozenset({"activity", "crawls", "crawl_days", "crawl_minutes", "usage_days"})
MORE_ROWS: Final = 30  # of a table, from the third day to the last
MORE_SHARE: Final = 0.25
MORE_BYTES: Final = 200_000


def judge_told(monitor: WeekMonitor, id_: str, receiver: WeekReceiver, hours: float) -> list[str]:
    """Each change once, by its id, and nothing else."""
    events = [one for one in receiver.accepted.values() if one.data.get("monitorId") == id_]
    expected = monitor.expects(hours)
    where = f"{receiver.name} of {monitor.name}"
    complaints = _compare(where, expected, _changes(events))
    for kind, count in (("failed", expected.failed), ("recovered", expected.recovered)):
        told = [one for one in events if one.type == f"monitor.{kind}"]
        if len(told) != count:
            hours_told = ", ".join(f"{one.hour:.1f}" for one in told)
            complaints.append(f"{where}: {kind} {len(told)} times ({hours_told}), not {count}")
    return complaints


def _changes(events: Iterable[HeardEvent]) -> list[tuple[str, str, float]]:
    """Path, reasons and hour of each change, once by its id."""
    found: dict[str, tuple[str, str, float]] = {}
    for event in sorted(events, key=lambda one: one.hour):
        for change in event.data.get("changes", ()):
            path = urlsplit(change["url"]).path
            found.setdefault(change["changeId"], (path, json.dumps(change["reasons"]), event.hour))
    return list(found.values())


def _compare(where: str, expected: Expectation, changes: Sequence[tuple[str, str, float]]) -> list[str]:
    by_page: dict[str, list[ToldOf]] = defaultdict(list)
    for one in expected.told:
        by_page[one.path].append(one)
    complaints = []
    for path, reasons, hour in changes:
        page = path if path in by_page else next((page for page in by_page if page in reasons), path)
        if not by_page[page]:
            complaints.append(f"{where}: a false alarm at hour {hour:.1f}: {path} {reasons[:300]}")
        elif by_page[page][0].words not in reasons:
            wanted = by_page[page].pop(0).words
            complaints.append(f"{where}: at hour {hour:.1f} not {wanted!r}: {path} {reasons[:300]}")
        else:
            by_page[page].pop(0)
    complaints += [f"{where}: {one} was not told" for left in by_page.values() for one in left if one.is_due]
    return complaints


def judge_runs(name: str, planned: Sequence[float], runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every planned time has fired once. Times of an interval are known to the second."""
    fired = Counter(round(_seconds(run["plannedAt"])) for run in runs if run["plannedAt"])
    complaints = [f"schedule {name}: {at} fired {n} times" for at, n in fired.items() if n > 1]
    if len(fired) != len(planned) or any(
        abs(one - other) > 60 for one, other in zip(sorted(fired), planned, strict=False)
    ):
        complaints.append(f"schedule {name}: planned {list(map(round, planned))}, fired {sorted(fired)}")
    complaints += [
        f"schedule {name}: {run['plannedAt']} is {run['status']}, {run['trigger']}, {run['reason']}"
        for run in runs
        if run["status"] != "started" or run["trigger"] != "timing"
    ]
    return complaints


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def judge_storage(looks: Sequence[StorageLook]) -> list[str]:
    """Flat from the third day on."""
    if len(looks) < 5:
        return []
    early, late = looks[2], looks[-1]
    complaints = [
        f"the table {table} grew from {before} to {late.rows[table]} rows"
        for table, before in early.rows.items()
        if table not in LASTING and late.rows[table] > before * (1 + MORE_SHARE) + MORE_ROWS
    ]
    for what, before, after in (
        ("database", early.database_bytes, late.database_bytes),
        ("blobs", early.blob_bytes, late.blob_bytes),
    ):
        if after > before * (1 + MORE_SHARE) + MORE_BYTES:
            complaints.append(f"the {what} grew from {before:,} to {after:,} bytes")
    return complaints
