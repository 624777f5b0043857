"""What a process and its children have used, from /proc."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Of the processor, in user and kernel mode, by the living and by children that have ended."""
    return sum(sum(map(int, _stat(one)[11:15])) for one in _family(pid)) * TICK


def peak_bytes(pid: int) -> int:
    """The most memory that each of them has held, added up."""
    return sum(_high_water(one) for one in _family(pid))


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from _family(int(child))


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may contain anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _high_water(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
