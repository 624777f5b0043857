"""Finds, measures and ends process trees by /proc."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
PAUSE: Final = 0.02


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    zombie: bool


def list_family(root: int) -> list[int]:
    """The process, its descendants, and every other process of its session, including orphans and processes
    that left the process group."""
    running = _list_processes()
    members = {process.pid for process in running if root in (process.pid, process.session)}
    grown = True
    while grown:
        more = {process.pid for process in running if process.parent in members} - members
        grown = bool(more)
        members |= more
    gone = {process.pid for process in running if process.zombie}
    return sorted(members - gone)


def measure(pids: list[int]) -> int:
    """Bytes of memory: the private memory of each, plus the shared memory once."""
    sizes = [size for size in map(_size, pids) if size is not None]
    return sum(own for own, _ in sizes) + max((shared for _, shared in sizes), default=0)


async def end(root: int, *, seconds: float) -> list[int]:
    """Kill the whole family. Returns the processes that are left after this many seconds.

    All of them are stopped first, until no new ones are found. Otherwise a child that is started while its
    parent is being killed would survive.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    members: list[int] = []
    while (found := list_family(root)) != members and asyncio.get_running_loop().time() < deadline:
        members = found
        _signal(members, signal.SIGSTOP)
    _signal(members or [root], signal.SIGKILL)
    # There is no event for the end of processes that are not our own children.
    while (left := _alive(members)) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(PAUSE)
    return left


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _alive(pids: list[int]) -> list[int]:
    processes = (_process(str(pid)) for pid in pids)
    return [process.pid for process in processes if process is not None and not process.zombie]


def _list_processes() -> list[Process]:
    if not _PROC.is_dir():
        return []
    found = (_process(name) for name in os.listdir(_PROC) if name.isdigit())
    return [process for process in found if process is not None]


def _process(name: str) -> Process | None:
    try:
        text = (_PROC / name / "stat").read_text(errors="replace")
    except OSError:  # it has just ended
        return None
    state, parent, _group, session = text.rpartition(")")[2].split()[:4]
    return Process(int(name), int(parent), int(session), state in "ZX")


def _size(pid: int) -> tuple[int, int] | None:
    try:
        _, resident, shared = map(int, (_PROC / str(pid) / "statm").read_text().split()[:3])
    except OSError:
        return None
    return (resident - shared) * _PAGE, shared * _PAGE
