"""`gossamer serve --processes`, and sockets that are inherited."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

from gossamer.app import Service
from gossamer.doors.cli.serve import serve
from gossamer.doors.cli.shared.systemd import notify, socket_numbers
from gossamer.settings.settings import SettingError
from tests.doors.processes import Process, Start, processes_in
from tests.doors.services import AS_ADMIN
from tests.servers.valkey import Valkey

SECONDS = 60.0
LIMIT = 20


def started(start: Start, *arguments: str, **settings: object) -> Process:
    process = start("gossamer", "serve", *arguments, log_level="warning", **settings)
    process.port = int(process.line().partition("127.0.0.1:")[2].split()[0])
    return process


def servers(process: Process) -> list[psutil.Process]:
    return [one for one in psutil.Process(process.process.pid).children() if "serve" in one.cmdline()]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Process]:
    """Two servers on one port, with SQLite; the first one also works."""
    with processes_in(tmp_path_factory.mktemp("pair")) as start:
        yield started(
            start,
            processes=2,
            redis_url=valkey.url,
            lame_duck_seconds=0,
            limit_anonymous_read=f"{LIMIT}/3600",
        )


@pytest.fixture
async def client(pair: Process) -> AsyncIterator[httpx.AsyncClient]:
    """Every request has a connection of its own, so that both servers get some."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{pair.port}", limits=limits, timeout=SECONDS
    ) as opened:
        yield opened


async def both_serve(pair: Process) -> None:
    """Until each of two servers has accepted a connection."""
    async with asyncio.timeout(SECONDS):
        seen: set[int] = set()
        while len(seen) < 2:
            reader, writer = await asyncio.open_connection("127.0.0.1", pair.port)
            writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
            await reader.readline()
            ours = writer.get_extra_info("sockname")
            seen |= {
                one.pid for one in servers(pair) if ours in [tuple(c.raddr) for c in one.net_connections()]
            }
            writer.close()
            await writer.wait_closed()


async def test_limits_are_exact_over_all_processes(pair: Process, client: httpx.AsyncClient) -> None:
    await both_serve(pair)
    answers = await asyncio.gather(*(client.get("/api/prices") for _ in range(3 * LIMIT)))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(429) == 2 * LIMIT
    assert statuses.count(200) == LIMIT


async def test_a_server_that_dies_is_started_again_and_the_others_go_on(
    pair: Process, client: httpx.AsyncClient
) -> None:
    await both_serve(pair)
    victim, other = servers(pair)
    victim.kill()
    for _ in range(20):
        assert (await client.get("/api/me", headers=AS_ADMIN)).status_code == 200
    await both_serve(pair)
    assert victim.pid not in [one.pid for one in servers(pair)]
    assert other.is_running()


async def test_a_signal_drains_all_of_them(pair: Process) -> None:
    """The last one that needs the pair."""
    running = servers(pair)
    pair.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(pair.process.wait, SECONDS) == 0
    assert [one for one in running if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", pair.port)) != 0


def test_processes_need_a_shared_store() -> None:
    refused = CliRunner().invoke(serve, ["--processes", "2"], obj=Service)
    assert isinstance(refused.exception, SettingError)
    assert str(refused.exception).startswith("processes is 2, which needs redis_url")


# Sockets that are inherited.


async def test_a_socket_of_systemd_is_served_and_it_hears_when_all_is_ready(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    told = tmp_path / "notify"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as notified:
        notified.bind(str(told))
        notified.settimeout(SECONDS)
        # A shell that becomes the server: LISTEN_PID is then the number of the server itself.
        command = f"exec {sys.executable} -m gossamer serve"
        script = f"export LISTEN_PID=$$ LISTEN_FDS=1; exec 3<&{listening.fileno()}; {command}"
        process = subprocess.Popen(
            ["bash", "-c", script],
            env={**os.environ, "GOSSAMER_DATA_DIR": str(tmp_path), "NOTIFY_SOCKET": str(told)},
            pass_fds=[listening.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert await asyncio.to_thread(notified.recv, 100) == b"READY=1"
            async with httpx.AsyncClient(timeout=SECONDS) as client:
                answer = await client.get(f"http://127.0.0.1:{port}/health/live")
                assert answer.status_code == 200
            process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(process.wait, SECONDS) == 0
            with socket.create_connection(("127.0.0.1", port)):  # waits for the next one
                pass
        finally:
            process.kill()
            process.wait()
            listening.close()


def test_a_number_that_is_no_listening_socket_is_one_sentence() -> None:
    refused = CliRunner().invoke(serve, ["--fd", "7777"], obj=Service)
    assert refused.exit_code == 1
    assert "descriptor 7777 is not a listening socket" in refused.output


def test_sockets_for_another_process_are_left_alone() -> None:
    assert socket_numbers({"LISTEN_PID": "7", "LISTEN_FDS": "2"}, 7) == [3, 4]
    assert socket_numbers({"LISTEN_PID": "8", "LISTEN_FDS": "2"}, 7) == []
    assert socket_numbers({"LISTEN_PID": "7", "LISTEN_FDS": "many"}, 7) == []
    assert socket_numbers({}, 7) == []


def test_where_nobody_wants_to_know_nothing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notify("READY=1")
