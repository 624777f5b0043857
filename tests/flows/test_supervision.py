"""Background tasks that die are started again, and nobody has to guess that they did."""

import asyncio
import io

import pytest

from gossamer.flows.upkeep import supervision
from gossamer.flows.upkeep.supervision import Supervisor
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable


async def test_a_task_that_fails_is_started_again_counted_logged_and_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervision, "PAUSES", (0.001, 0.002))
    stream, metrics, runs = io.StringIO(), Metrics("0"), 0
    running = asyncio.Event()

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs <= 3:
            raise RuntimeError("a defect")
        running.set()
        await asyncio.Event().wait()

    supervisor = Supervisor(Log(stream), metrics)
    supervisor.start("sweep", run)
    async with asyncio.timeout(30):
        await running.wait()
    assert stream.getvalue().count('"task_failed"') == 3
    assert 'gossamer_task_restarts_total{task="sweep"} 3.0' in metrics.exposition.text()[0].decode()
    with pytest.raises(Unavailable, match="sweep"):
        await supervisor.ask()
    monkeypatch.setattr(supervision, "STEADY_SECONDS", 0.0)
    assert await supervisor.ask() is None
    await supervisor.close()


async def test_a_task_that_returns_is_done() -> None:
    async def run() -> None:
        return

    supervisor = Supervisor(Log(io.StringIO()), Metrics("0"))
    await supervisor.start("once", run)
    assert await supervisor.ask() is None
