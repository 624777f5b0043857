"""What the machine gives: disk, memory, descriptors, and a clock that agrees with the database's."""

import re
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sqlalchemy import select

from gossamer.flows.doctor.diagnosis import Diagnosis, broken, improvable, ok
from gossamer.settings.settings import Settings
from gossamer.state.blobs.blobs import folder_of
from gossamer.state.db.database import Database, clock

GIGABYTE: Final = 1024**3
FULL_SHARE, FULL_BYTES = 0.02, GIGABYTE  # of a disk that is left: less than this, and writes fail soon
LOW_SHARE: Final = 0.10
LOW_DESCRIPTORS: Final = 4_096
BROWSER_BYTES: Final = 400 * 1024**2  # that a page in a browser takes, about
LATE_SECONDS: Final = 2.0  # by which two clocks may differ


def examine_disks(settings: Settings) -> list[Diagnosis]:
    """The disks of the data folder and of the blobs, each once."""
    folders = {"data": settings.data_dir, "blobs": folder_of(settings.blobs_url)}
    disks: dict[int, tuple[str, Path]] = {}
    for name, folder in folders.items():
        if folder is not None:
            place = _existing(folder)
            disks.setdefault(place.stat().st_dev, (name, place))
    return [_examine_disk(name, *_usage(place)) for name, place in disks.values()]


def _examine_disk(name: str, total: int, free: int) -> Diagnosis:
    subject, share = f"disk of the {name}", free / total if total else 0.0
    finding = f"{_gigabytes(free)} of {_gigabytes(total)} are free ({share:.0%})"
    if free < FULL_BYTES or share < FULL_SHARE:
        return broken(
            subject, finding, "Make room, or shorten what is kept: `gossamer config` lists KEEP settings."
        )
    if share < LOW_SHARE:
        return improvable(subject, finding, "Make room before it is full: writes fail then.")
    return ok(subject, finding)


def examine_memory(places: int, available: int | None = None) -> Diagnosis:
    """Whether the memory that is free now is enough for this many pages in browsers."""
    found = _available_memory() if available is None else available
    if found is None:
        return improvable("memory", "how much is free is not known on this system", "Watch it yourself.")
    wanted = places * BROWSER_BYTES + GIGABYTE
    finding = f"{_gigabytes(found)} are available; {places} pages in browsers take about {_gigabytes(wanted)}"
    if found < wanted:
        return improvable(
            "memory", finding, "Render fewer pages at a time (GOSSAMER_BROWSER_PLACES), or add memory."
        )
    return ok("memory", finding)


def examine_descriptors() -> Diagnosis:
    """The hard limit, to which a server raises its own at the start."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("descriptors", "files and connections have no limit")
    finding = f"{hard:,} files and connections can be open at a time"
    if hard < LOW_DESCRIPTORS:
        return improvable("descriptors", finding, "Raise `ulimit -Hn`, or LimitNOFILE= of the service.")
    return ok("descriptors", finding)


async def examine_clock(database: Database, now: Callable[[], float] = time.time) -> Diagnosis:
    """Compare this machine's clock with the database's, by which everything is timed."""
    before = now()
    async with database.read() as connection:
        its = (await connection.scalar(select(clock())) or 0) / 1000
    apart = its - (before + now()) / 2
    finding = f"it is {abs(apart):.1f} s {'behind' if apart > 0 else 'ahead of'} the database's"
    if abs(apart) > LATE_SECONDS:
        return improvable(
            "clock", finding, "Let both machines follow a time server (chrony, systemd-timesyncd)."
        )
    return ok("clock", "it agrees with the database's")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there already."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _usage(place: Path) -> tuple[int, int]:
    usage = shutil.disk_usage(place)
    return usage.total, usage.free


def _available_memory() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB$", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:,.1f} GiB"
