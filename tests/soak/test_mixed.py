"""A storm over everything in short; `scripts/soak mixed` is the long one.

It has a process of its own, which adopts whatever the servers leave behind.
"""

import subprocess
import sys

import pytest

from tests.doors.processes import ROOT

FAULTS = {
    "embedded": ("kill-server", "full-disk", "kill-browser"),
    "server": ("kill-worker", "stop-database", "restart-valkey"),
}


@pytest.mark.parametrize("size", FAULTS)
def test_nothing_is_lost_doubled_or_wrong_in_a_storm(size: str) -> None:
    options = ["--size", size, "--seconds", "0", "--rate", "8", "--patience", "180", "--lapse"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak.mixed", *options, "--faults", *FAULTS[size]],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
