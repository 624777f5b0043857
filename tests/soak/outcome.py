"""What came of a storm, as two tables and a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.soak.callers import Tally

TOLD: Final = 40  # complaints
REQUESTS: Final = ("requests", "sent", "answered", "refused", "cut", "wrong", "p50 ms", "p99 ms")
FAULTS: Final = ("fault", "times", "answers after s", "renders after s", "stored after s")


@dataclass(frozen=True, slots=True)
class Recovery:
    """From one fault, in seconds after its end."""

    answered: float  # every server does everything
    rendered: float  # a new page
    stored: float  # all pages are where they outlive the next fault

    def __str__(self) -> str:
        return (
            f"answers after {self.answered:.1f} s, renders {self.rendered:.1f} s, stored {self.stored:.1f} s"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    size: str
    seconds: float
    tallies: Mapping[str, Tally]
    recoveries: Mapping[str, Sequence[Recovery]]
    healthy: float  # seconds after the last fault
    held_back: int
    complaints: list[str]

    def __str__(self) -> str:
        requests = table(REQUESTS, (_request_row(*item) for item in self.tallies.items()))
        faults = table(FAULTS, (_fault_row(*item) for item in self.recoveries.items()))
        told = "\n".join(self.complaints[:TOLD]) or "Nothing lost, nothing twice, nothing wrong."
        ended = f"Healthy after {self.healthy:.1f} s; {self.held_back} requests held back by the client."
        return f"{self.size}, {self.seconds:.0f} s\n\n{requests}\n\n{faults}\n\n{ended}\n{told}"


def _request_row(kind: str, one: Tally) -> Sequence[object]:
    times = (f"{one.percentile(part) * 1000:.0f}" for part in (0.5, 0.99))
    return (kind, one.sent, one.answered, one.refused, one.cut, one.wrong, *times)


def _fault_row(name: str, all_: Sequence[Recovery]) -> Sequence[object]:
    longest = (max(getattr(one, what) for one in all_) for what in ("answered", "rendered", "stored"))
    return (name, len(all_), *(f"{seconds:.1f}" for seconds in longest))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---", *("---:" for _ in columns[1:])], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
