"""A day in less than a minute; `scripts/soak week` is the whole week, in both sizes."""

import subprocess
import sys

from tests.doors.processes import ROOT


def test_every_change_is_told_once_and_every_time_fires_once() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak.week", "--size", "embedded", "--days", "1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
