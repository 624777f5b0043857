"""Our own OpenAPI document, taken at its word by somebody who did not write it."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
from tests.doors.processes import Start
from tests.doors.services import ADMIN_KEY, AS_ADMIN

# A body that contains the bodies of other operations has a thousand systematic cases where each of those has
# a hundred. The inner ones are held there; of the whole, some are drawn by chance.
WHOLE = [
    "POST /api/schedules",
    "PATCH /api/schedules/{id}",
    "POST /api/monitors",
    "PATCH /api/monitors/{id}",
    "POST /batch/fetch",
]
CONFIG = f"""
[[operations]]
include-name = {WHOLE}
phases.coverage.enabled = false
generation.max-examples = 30

[[operations]]
exclude-name = {WHOLE}
phases.fuzzing.enabled = false
"""
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
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
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"http://127.0.0.1:{server.port}/openapi.json",
            f"--header=Authorization: Bearer {ADMIN_KEY}",
            f"--checks={','.join(CHECKS)}",
            "--phases=examples,coverage,fuzzing",
            "--seed=1",
            "--exclude-path-regex=^/(fetch|extract|screenshot|pdf|memory/pages|api/monitors/try|api/render|api/stats/stream|api/admin/doctor|metrics)",
            f"--url=http://127.0.0.1:{server.port}",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    counted = httpx.get(f"http://127.0.0.1:{server.port}/metrics", headers=AS_ADMIN).text
    assert "gossamer_errors_total{" in counted
    assert 'code="INTERNAL_ERROR"' not in counted
