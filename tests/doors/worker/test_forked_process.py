"""Processes that are forked from one that has imported the service."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from gossamer.doors.worker.forked_process import LOST, ForkedProcess, ForkServer

SECONDS = 60.0
LIMIT = 64 * 1024
WORKER = ("worker", "--kinds", "index", "--attached")


@pytest.fixture
async def fork_server() -> AsyncIterator[ForkServer]:
    server = ForkServer()
    yield server
    async with asyncio.timeout(SECONDS):
        await server.close()


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "GOSSAMER_DATA_DIR": str(folder)}


async def start(server: ForkServer, folder: Path) -> ForkedProcess:
    return await server.start(WORKER, environment(folder), name="gossamer index", limit=LIMIT)


async def output(child: ForkedProcess) -> bytes:
    async with asyncio.timeout(SECONDS):
        return await child.stdout.read()


def ours(name: str) -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if child.name() == name]


async def test_a_child_has_its_own_arguments_and_environment_and_tells_its_exit_code(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    given = {**environment(tmp_path), "GOSSAMER_LOG_LEVEL": "debug"}
    shown = await fork_server.start(("config",), given, name="gossamer config", limit=LIMIT)
    text = (await output(shown)).decode()
    assert str(tmp_path) in text
    assert "debug" in text
    assert await shown.wait() == 0
    shown.close()
    wrong = await fork_server.start(("config", "--no-such"), given, name="gossamer config", limit=LIMIT)
    assert await wrong.wait() == 2
    wrong.close()


async def test_a_child_ends_by_a_signal_or_with_its_input(fork_server: ForkServer, tmp_path: Path) -> None:
    first, second = await start(fork_server, tmp_path), await start(fork_server, tmp_path)
    async with asyncio.timeout(SECONDS):
        for child in (first, second):
            assert await child.stdout.readline()  # its metrics: it works
        first.send_signal(signal.SIGTERM)
        assert await first.wait() == 0
        second.close()
        assert await second.wait() == 0
    first.close()


async def test_a_fork_server_that_is_killed_takes_its_children_along_and_is_replaced(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    child = await start(fork_server, tmp_path)
    async with asyncio.timeout(SECONDS):
        assert await child.stdout.readline()
        (process,) = ours("gossamer index")
        process.parent().kill()
        assert await child.wait() == LOST
        await asyncio.to_thread(process.wait, SECONDS)
        child.close()
        while True:  # it may not be known yet that it is gone
            try:
                other = await start(fork_server, tmp_path)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            if await other.stdout.readline():
                break
            other.close()
        other.kill()
        assert await other.wait() == -signal.SIGKILL
        other.close()
