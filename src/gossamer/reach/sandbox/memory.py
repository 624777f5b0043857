"""Measures the memory that is left, of the machine and of our control groups."""

from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
GROUPS: Final = Path("/sys/fs/cgroup")


def available(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Bytes; None if the system does not say."""
    rooms = [_of_machine(proc), *(_of_group(folder) for folder in _groups(proc, groups))]
    return min((room for room in rooms if room is not None), default=None)


def _of_machine(proc: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _groups(proc: Path, groups: Path) -> list[Path]:
    """Our control group and its parents. Inside a container, its group is the root."""
    path = ""
    with suppress(OSError):
        for line in (proc / "self" / "cgroup").read_text().splitlines():
            number, _, named = line.partition("::")
            if number == "0":
                path = named.strip("/")
    folder = groups / path
    return [folder, *(parent for parent in folder.parents if parent == groups or groups in parent.parents)]


def _of_group(folder: Path) -> int | None:
    """The bytes that are left. Inactive cached files count as free, since the kernel drops them if needed."""
    with suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        idle = 0
        for line in (folder / "memory.stat").read_text().splitlines():
            name, _, number = line.partition(" ")
            idle += int(number) if name == "inactive_file" else 0
        return max(0, limit - used + idle)
    return None
