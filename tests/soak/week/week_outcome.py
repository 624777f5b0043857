"""What came of a week, as two tables and a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.soak.outcome import table
from tests.soak.week.receivers import WeekReceiver
from tests.soak.week.stores import StorageLook

PASSED: Final = (
    "size",
    "seconds",
    "steps",
    "requests",
    "events",
    "attempts",
    "runs",
    "changes",
    "complaints",
)
STORED: Final = ("day", "rows", "database MB", "blobs", "blobs MB")


@dataclass(frozen=True, slots=True)
class WeekOutcome:
    size: str
    days: int
    seconds: float
    steps: int  # of the clock
    requests: int  # for pages
    runs: int  # of schedules
    changes: int  # that recrawls have found
    receivers: Sequence[WeekReceiver]
    looks: Sequence[StorageLook]  # at the end of each day
    complaints: list[str]

    def __str__(self) -> str:
        attempts = sum(len(receiver.heard) for receiver in self.receivers)
        told = {event for receiver in self.receivers for event in receiver.accepted}
        counts = (self.steps, self.requests, len(told), attempts, self.runs, self.changes)
        row = (f"{self.size}, {self.days} days", f"{self.seconds:.0f}", *counts, len(self.complaints))
        days = [
            (day, one.all_rows, f"{one.database_bytes / 1e6:.2f}", one.blobs, f"{one.blob_bytes / 1e6:.2f}")
            for day, one in enumerate(self.looks, 1)
        ]
        said = "\n".join(self.complaints) or "Every change told once, no false alarm, every time fired once."
        return "\n\n".join([table(PASSED, [row]), table(STORED, days), said])
