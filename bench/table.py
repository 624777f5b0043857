"""Results: tables for people, JSON for comparing, and what machine they were measured on."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    cpu: str
    memory_gib: int
    python: str
    date: str

    def __str__(self) -> str:
        return f"{self.cores} cores, {self.cpu}, {self.memory_gib} GiB, Python {self.python}, {self.date}"


def this_machine() -> Machine:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        cpu=_cpu_model(),
        memory_gib=round(memory / 2**30),
        python=platform.python_version(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that is also aligned for reading as text: names left, numbers right."""
    widths = [max(len(row[at]) for row in [columns, *rows]) for at in range(len(columns))]
    rule = [f"{'-' * (width - 1)}{':' if at else '-'}" for at, width in enumerate(widths)]
    return "\n".join(_line(cells, widths) for cells in [columns, rule, *rows])


def save(name: str, machine: Machine, text: str, document: Mapping[str, Any]) -> None:
    """Keep a bench's last results as `results/NAME.md` and `results/NAME.json`."""
    RESULTS.mkdir(exist_ok=True)
    whole = {"bench": name, "machine": asdict(machine), **document}
    (RESULTS / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")
    (RESULTS / f"{name}.md").write_text(text.rstrip() + "\n")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = cells
    first, *others = widths
    padded = [name.ljust(first), *(cell.rjust(width) for cell, width in zip(numbers, others, strict=True))]
    return f"| {' | '.join(padded)} |"


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
