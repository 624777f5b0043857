"""File descriptors that run out: connections wait, it is counted, and afterwards all is as before."""

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.doors.processes import ROOT, Start

from gossamer.doors.cli.shared.descriptors import LOW

SECONDS = 60


def test_a_server_goes_on_after_it_was_out_of_descriptors(start_gossamer: Start) -> None:
    gossamer = start_gossamer(limit_admin="1000000/60")
    address = ("127.0.0.1", gossamer.port)
    held = len(list(Path(f"/proc/{gossamer.process.pid}/fd").iterdir()))
    resource.prlimit(gossamer.process.pid, resource.RLIMIT_NOFILE, (held + 20, held + 20))
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(address))
        deadline = time.monotonic() + SECONDS
        while len(list(Path(f"/proc/{gossamer.process.pid}/fd").iterdir())) < held + 20:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    counted = httpx.get(f"http://127.0.0.1:{gossamer.port}/metrics", timeout=SECONDS).text
    failures = next(
        line for line in counted.splitlines() if line.startswith("gossamer_accept_failures_total")
    )
    assert float(failures.split()[1]) >= 1
    assert httpx.get(f"http://127.0.0.1:{gossamer.port}/health/live").status_code == 200


@pytest.mark.parametrize(("hard", "told"), [(LOW - 1, True), (LOW, False)])
def test_the_soft_limit_is_raised_and_a_low_one_is_told(hard: int, told: bool) -> None:
    program = (
        "import resource, sys; from gossamer.observe.logs import Log;"
        "from gossamer.doors.cli.shared.descriptors import raise_limit;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard})); raise_limit(Log(sys.stderr));"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == str(hard)
    assert ("few_descriptors" in done.stderr) is told
