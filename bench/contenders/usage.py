"""What a process and its children have used, from /proc."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS: Final = 0.5
GONE: Final = (FileNotFoundError, ProcessLookupError)


def cpu_seconds(pid: int) -> float:
    """Of the processor, in user and kernel mode, by the living and by children that have ended."""
    return sum(cpu_by_process(pid).values())


def cpu_by_process(pid: int) -> dict[int, float]:
    """The same by each of the living, with the children of its own that have ended."""
    return {one: sum(map(int, _stat(one)[11:15])) * TICK for one in _family(pid)}


def peak_bytes(pid: int) -> int:
    """The most memory that each of them has held, added up."""
    return sum(_in_file(f"/proc/{one}/status", "VmHWM:") for one in _family(pid))


def held_bytes(pid: int) -> int:
    """Memory now; what processes share is counted once."""
    return sum(_in_file(f"/proc/{one}/smaps_rollup", "Pss:") for one in _family(pid))


@contextmanager
def sampled_bytes(pid: int) -> Iterator[list[int]]:
    """`held_bytes` twice a second for as long as the block runs."""
    samples: list[int] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_SECONDS):
            samples.append(held_bytes(pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield samples
    finally:
        done.set()
        sampler.join()


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(*GONE):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except GONE:
        return ["0"] * 20


def _in_file(file: str, name: str) -> int:
    """The bytes that the line of that name tells; none of a process that has just ended."""
    with suppress(*GONE):
        for line in Path(file).read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0
