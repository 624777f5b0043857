"""Load from wrk, and what it measured."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

CONNECTIONS: Final = 32
BYTES: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
MILLISECONDS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


class LoadError(Exception):
    """Some answers were errors, or wrk said something unexpected: then the numbers mean nothing."""


@dataclass(frozen=True, slots=True)
class Measurement:
    rate: float  # answers per second
    p50: float  # milliseconds
    p99: float


def load(
    url: str,
    *,
    seconds: int,
    headers: Mapping[str, str] | None = None,
    cores: str | None = None,
    script: Path | None = None,
    size: int = 0,
) -> Measurement:
    """Ask for `url` over `CONNECTIONS` kept connections as fast as it is answered, for `seconds`.

    A script in Lua may say what is sent. Answers must be of at least `size` bytes on average.
    """
    pin = ["taskset", "-c", cores] if cores else []
    wrk = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    if script is not None:
        wrk += ["-s", str(script)]
    fields = [part for name, value in (headers or {}).items() for part in ("-H", f"{name}: {value}")]
    done = subprocess.run([*pin, *wrk, *fields, url], capture_output=True, text=True, check=False)
    measured = parse(done.stdout, done.stderr)
    _check_size(done.stdout, size)
    return measured


def parse(report: str, complaint: str = "") -> Measurement:
    for trouble in ("Non-2xx or 3xx responses", "Socket errors"):
        if trouble in report:
            raise LoadError(next(line.strip() for line in report.splitlines() if trouble in line))
    rate = re.search(r"^Requests/sec:\s+([\d.]+)", report, re.MULTILINE)
    if rate is None:
        raise LoadError(complaint.strip() or report.strip() or "wrk printed nothing")
    taken = _taken(report)
    p50, p99 = (_of(taken, percent) if taken else _percentile(report, percent) for percent in (50, 99))
    return Measurement(rate=float(rate[1]), p50=p50, p99=p99)


def _check_size(report: str, size: int) -> None:
    found = re.search(r"^\s*(\d+) requests in \S+, ([\d.]+)([KMGT]?B) read", report, re.MULTILINE)
    # What is under way at the end is read in part, and counted as bytes but not as an answer, or not at all.
    if found is None or float(found[2]) * BYTES[found[3]] / max(int(found[1]), 1) < 0.95 * size:
        raise LoadError(f"answers were smaller than {size:,} bytes: {found and found[0].strip()}")


def _taken(report: str) -> dict[int, int]:
    """How many batches of pipelined requests took how many microseconds, if the script printed that.

    wrk adds what it takes for omitted, a sample each `expected` microseconds below a long one. That is for
    single requests: its percentiles of batches are wrong. So what it added is taken away again.
    """
    found = re.search(r"^expected (\d+)$", report, re.MULTILINE)
    counts = {
        int(time): int(count) for time, count in re.findall(r"^took (\d+) (\d+)$", report, re.MULTILINE)
    }
    if found is None:
        return {}
    expected = max(int(found[1]), 1)
    for time in sorted(counts, reverse=True):
        for added in range(time - expected, expected, -expected) if time >= 2 * expected else ():
            if added in counts:
                counts[added] -= counts[time]
    return counts


def _of(taken: Mapping[int, int], percent: int) -> float:
    """The percentile, in milliseconds."""
    rank, passed = sum(taken.values()) * percent / 100, 0
    for time in sorted(taken):
        passed += taken[time]
        if passed >= rank:
            return round(time / 1000, 3)
    raise LoadError("wrk counted no answers")


def _percentile(report: str, percent: int) -> float:
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)$", report, re.MULTILINE)
    if found is None:
        raise LoadError(f"wrk reported no {percent}% latency")
    return round(float(found[1]) * MILLISECONDS[found[2]], 3)


def middle(measurements: Sequence[Measurement]) -> Measurement:
    """The median of several rounds, number by number."""
    return Measurement(
        rate=median(one.rate for one in measurements),
        p50=median(one.p50 for one in measurements),
        p99=median(one.p99 for one in measurements),
    )
