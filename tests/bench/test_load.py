"""Percentiles of pipelined batches, without the samples that wrk adds below long ones."""

import pytest
from bench.load import LoadError, parse


def _report(counts: dict[int, int], expected: int) -> str:
    """What a script prints after wrk has corrected its samples, as `stats_correct` of wrk does it."""
    corrected = dict(counts)
    for time in sorted(counts):
        for added in range(time - expected, expected, -expected) if time >= 2 * expected else ():
            corrected[added] = corrected.get(added, 0) + counts[time]
    seen = {time: count for time, count in corrected.items() if time >= min(counts)}
    lines = [f"took {time} {count}" for time, count in sorted(seen.items())]
    return "\n".join(["Requests/sec: 100.0", f"expected {expected}", *lines])


def test_samples_that_were_added_do_not_count() -> None:
    counts = {1_000: 50, 1_700: 48, 9_000: 2}
    measured = parse(_report(counts, expected=250))
    assert (measured.p50, measured.p99) == (1.0, 9.0)


def test_batches_without_samples_are_refused() -> None:
    with pytest.raises(LoadError):
        parse("Requests/sec: 100.0\nexpected 10\n")
