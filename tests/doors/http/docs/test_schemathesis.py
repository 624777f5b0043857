"""Our own OpenAPI document, taken at its word by somebody who did not write it."""

import subprocess
import sys
from pathlib import Path

import httpx
from tests.doors.processes import Start
from tests.doors.services import ADMIN_KEY, AS_ADMIN

CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)


def test_whatever_is_sent_the_answer_is_a_declared_one(start_gossamer: Start, tmp_path: Path) -> None:
    # No name resolves and nobody works, so that whatever is asked for stays here. What /fetch answers to any
    # input is held by its own properties (test_fetch.py), with a name server of its own; /api/render may hold
    # a request for a minute (test_render.py), and /api/stats/stream for a quarter of an hour. The doctor
    # examines everything anew each time (test_doctor.py), and metrics are for everybody on this machine
    # (test_metrics_access.py).
    server = start_gossamer(
        limit_admin="1000000/60",
        limit_hits_pro="1000000/60",
        limit_control_pro="1000000/60",
        dns_servers="127.0.0.1:9",
        serve_worker="no",
    )
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"http://127.0.0.1:{server.port}/openapi.json",
            f"--header=Authorization: Bearer {ADMIN_KEY}",
            f"--checks={','.join(CHECKS)}",
            "--phases=examples,coverage,fuzzing",
            "--max-examples=4",
            "--seed=1",
            "--exclude-path-regex=^/(fetch|extract|screenshot|pdf|memory/pages|api/monitors/try|api/render|api/stats/stream|api/admin/doctor|metrics)",
            f"--url=http://127.0.0.1:{server.port}",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    counted = httpx.get(f"http://127.0.0.1:{server.port}/metrics", headers=AS_ADMIN).text
    assert "gossamer_errors_total{" in counted
    assert 'code="INTERNAL_ERROR"' not in counted
