"""Processes that nobody has ended: whoever loses its parent becomes ours, and so is seen."""

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil  # type: ignore[import-untyped]

SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
PATIENCE: Final = 20.0  # seconds for them to end by themselves
LOOK_SECONDS: Final = 0.1


@contextmanager
def adopting() -> Iterator[Callable[[], list[str]]]:
    """What our processes leave behind becomes ours, and so does not get lost. Lists what there is of it."""
    before = set(psutil.Process().children(recursive=True))
    _prctl(SUBREAPER, 1)
    try:
        yield lambda: _left(before)
    finally:
        _prctl(SUBREAPER, 0)


def _left(before: set[psutil.Process]) -> list[str]:
    until = time.monotonic() + PATIENCE
    while (left := [one for one in _children() if one not in before]) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return [f"{one.pid} {' '.join(one.cmdline())[:200]}" for one in left]


def _children() -> list[psutil.Process]:
    """Those that are alive; the others are reaped."""
    alive = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if one.status() != psutil.STATUS_ZOMBIE:
                alive.append(one)
            elif one.ppid() == os.getpid():
                with suppress(ChildProcessError):
                    os.waitpid(one.pid, os.WNOHANG)
    return alive


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
