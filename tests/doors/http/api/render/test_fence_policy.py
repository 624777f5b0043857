"""GOSSAMER_FENCE: what the server does at its start, and what it tells, where a layer cannot be had."""

import json

import httpx
import pytest
from tests.doors.processes import Process, Start, processes, start_gossamer

__all__ = ["processes", "start_gossamer"]


@pytest.fixture(autouse=True)
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the server is found by PATH but bubblewrap."""
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_require_refuses_to_start_in_one_sentence(processes: Start, command: str) -> None:
    refused: Process = processes("gossamer", command, fence="require")
    out, err = refused.process.communicate(timeout=60)
    assert refused.process.returncode == 2
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("gossamer: fence is require, and Chromium cannot have bubblewrap")
    assert "apt-get install bubblewrap" in line
    assert "GOSSAMER_FENCE=prefer" in line


def test_prefer_starts_and_tells_in_the_log_in_health_and_in_metrics(start_gossamer: Start) -> None:
    server = start_gossamer()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as client:
        report = client.get("/health").json()
        metrics = client.get("/metrics").text
        assert client.get("/health/ready").status_code == 200
    browser = report["services"]["browserRendering"]
    assert (report["status"], browser["status"]) == ("degraded", "degraded")
    assert browser["reason"] == "not in force: bubblewrap"
    assert browser["details"]["fence"] == "prefer"
    assert browser["details"]["layers"] == ["proxy", "netns", "sandbox"]
    assert browser["details"]["missingLayers"] == {"bubblewrap": "bubblewrap is not installed"}
    assert 'gossamer_browser_layer{layer="bubblewrap"} 0.0' in metrics
    assert 'gossamer_browser_layer{layer="netns"} 1.0' in metrics
    assert 'gossamer_service_up{service="browserRendering"} 1.0' in metrics
    server.process.terminate()
    logged = [json.loads(line) for line in server.process.communicate(timeout=60)[1].splitlines()]
    (warned,) = [line for line in logged if line.get("event") == "browser_not_in_bubblewrap"]
    assert (warned["level"], warned["why"]) == ("warning", "bubblewrap is not installed")
