"""Stopping: load balancers notice first, what is under way ends, and whatever is cut is told so."""

import asyncio
import json
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.doors.processes import Process, Start
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.servers.fronts import Nginx

from gossamer.doors.cli.worker import _stop
from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.server import Server, StopTimes, server
from gossamer.flows.upkeep.stopping import Stage

SECONDS = 60
STOP_SECONDS = 10.0  # that containers are given
LIVE = "/health/live"
READY = "/health/ready"


class Door:
    """A service behind a socket, whose stages of stopping last as long as the test wants."""

    def __init__(self, visit: Visit, running: Server, port: int) -> None:
        self.visit = visit
        self.running = running
        self.url = f"http://127.0.0.1:{port}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=SECONDS)

    def stop(self) -> None:
        self.running.stop()

    async def until(self, stage: Stage) -> None:
        await until(lambda: self.visit.service.stopping.stage >= stage)


@asynccontextmanager
async def serving(visit: Visit, times: StopTimes) -> AsyncIterator[Door]:
    service = visit.service
    listening = socket.create_server(("127.0.0.1", 0))
    protocol = fast_path_protocol(service.fast_path())
    running = server(service.app(visit.echo.routes()), protocol, stopping=service.stopping, times=times)
    task = asyncio.create_task(running.serve(sockets=[listening]))
    await until(lambda: running.started)
    try:
        yield Door(visit, running, listening.getsockname()[1])
    finally:
        running.stop()
        visit.echo.gate.set()
        async with asyncio.timeout(SECONDS):
            await task


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def test_first_it_is_not_ready_and_serves_on(visiting: Visiting) -> None:
    async with visiting() as visit, serving(visit, StopTimes(lame_duck=SECONDS, drain=1)) as door:
        async with httpx.AsyncClient(base_url=door.url) as client:
            assert (await client.get(READY)).status_code == 200
            door.stop()
            await door.until(Stage.LEAVING)
            answer = await client.get(READY)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["details"] == {"reason": "stopping"}
            served = await client.get(LIVE)  # over a new connection
            assert served.status_code == 200
            assert served.headers["connection"] == "close"  # so that proxies leave by themselves
        visit.service.stopping.drain()


async def test_what_is_under_way_ends_before_the_server(visiting: Visiting) -> None:
    async with visiting() as visit, serving(visit, StopTimes(drain=SECONDS)) as door, door.client() as client:
        visit.echo.gate.clear()
        asking = asyncio.create_task(client.post("/test/echo", json={"text": "a"}))
        await until(lambda: visit.echo.runs == 1)
        door.stop()
        await door.until(Stage.DRAINING)
        async with door.client() as late:
            with pytest.raises(httpx.ConnectError):
                await late.get(LIVE)
        visit.echo.gate.set()
        answer = await asking
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")


async def test_what_is_cut_is_told_when_to_come_back(visiting: Visiting) -> None:
    async with visiting() as visit, serving(visit, StopTimes(drain=0.05)) as door:
        async with httpx.AsyncClient(base_url=door.url) as client:
            visit.echo.gate.clear()
            asking = [asyncio.create_task(client.post("/test/echo", json={"text": "a"})) for _ in range(3)]
            await until(lambda: visit.echo.runs == 3)
            door.stop()
            for answer in await asyncio.gather(*asking):
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["details"] == {"reason": "stopping"}
        assert not visit.logged("internal_error")


async def test_a_request_that_waits_in_the_backlog_is_served(visiting: Visiting) -> None:
    async with visiting() as visit, serving(visit, StopTimes(drain=SECONDS)) as door:
        port = int(door.url.rpartition(":")[2])
        loop = asyncio.get_running_loop()
        loop.remove_reader(door.running._listening[0].fileno())  # as if the loop were busy
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        door.stop()
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer


def seconds_to_end(process: Process) -> float:
    before = time.monotonic()
    process.process.wait(SECONDS)
    return time.monotonic() - before


def test_a_server_with_requests_that_wait_stops_within_10_seconds(start_gossamer: Start) -> None:
    """Also one that waits for a page that never comes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        gossamer = start_gossamer(egress_allow="127.0.0.0/8", egress_ports="*")
        body = json.dumps({"url": target, "timeout": 60_000}).encode()
        with socket.create_connection(("127.0.0.1", gossamer.port)) as asking:
            head = f"POST /fetch HTTP/1.1\r\nHost: a\r\nAuthorization: {AS_ADMIN['Authorization']}\r\n"
            fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            asking.sendall((head + fields).encode() + body)
            silent.settimeout(SECONDS)
            under_way, _ = silent.accept()
            gossamer.process.send_signal(signal.SIGTERM)
            asking.settimeout(SECONDS)
            answer = b"".join(iter(lambda: asking.recv(65_536), b""))
        under_way.close()
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer
        assert seconds_to_end(gossamer) < STOP_SECONDS
        assert gossamer.process.returncode == 0


def test_a_second_signal_ends_a_server_at_once(start_gossamer: Start) -> None:
    gossamer = start_gossamer(lame_duck_seconds=3600)
    httpx.get(f"http://127.0.0.1:{gossamer.port}{LIVE}")
    gossamer.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + SECONDS
    while httpx.get(f"http://127.0.0.1:{gossamer.port}{READY}").status_code != 503:
        assert time.monotonic() < deadline
    gossamer.process.send_signal(signal.SIGTERM)
    assert gossamer.process.wait(SECONDS) == 128 + signal.SIGTERM


def test_a_second_signal_ends_a_worker_at_once() -> None:
    stop = asyncio.Event()
    with pytest.MonkeyPatch.context() as patch:
        ended: list[int] = []
        patch.setattr("os._exit", ended.append)
        _stop(stop, signal.SIGTERM)
        assert (stop.is_set(), ended) == (True, [])
        _stop(stop, signal.SIGINT)
        assert ended == [130]


def test_an_interrupt_at_the_terminal_waits_for_no_load_balancer(start_gossamer: Start) -> None:
    gossamer = start_gossamer(lame_duck_seconds=3600)
    httpx.get(f"http://127.0.0.1:{gossamer.port}{LIVE}")
    gossamer.process.send_signal(signal.SIGINT)
    assert gossamer.process.wait(SECONDS) == 0


async def load(url: str, stop: asyncio.Event) -> list[int]:
    """One client after another, until told to stop: what each was answered."""
    statuses = []
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as client:
        while not stop.is_set():
            statuses.append((await client.get(LIVE)).status_code)
            statuses.append((await client.get("/api/me", headers=AS_ADMIN)).status_code)
    return statuses


async def ready(port: int) -> None:
    async with asyncio.timeout(SECONDS), httpx.AsyncClient() as client:
        while True:
            try:
                if (await client.get(f"http://127.0.0.1:{port}{READY}")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


async def test_a_rolling_restart_behind_nginx_fails_no_request(start_gossamer: Start, tmp_path: Path) -> None:
    """docs/scale.md says how nginx is set up for it."""
    limits: dict[str, Any] = {
        "limit_admin": "1000000000/60",
        "lame_duck_seconds": 0.5,
        "serve_worker": "no",
        "access_log": "no",
    }
    servers = [await asyncio.to_thread(start_gossamer, **limits) for _ in range(2)]
    ports = [server.port for server in servers]
    (tmp_path / "nginx").mkdir()
    # A client that is starved for a second must not find its idle connection closed.
    passing = "proxy_next_upstream error timeout http_503;"
    front = Nginx(tmp_path / "nginx", ports, location=passing, keepalive=60)
    front.start()
    stop = asyncio.Event()
    try:
        clients = [asyncio.create_task(load(f"http://127.0.0.1:{front.port}", stop)) for _ in range(4)]
        for number, port in enumerate(ports):
            servers[number].process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(servers[number].process.wait, SECONDS) == 0
            servers[number] = await asyncio.to_thread(start_gossamer, port=port, **limits)
            await ready(port)
        stop.set()
        answered = [status for statuses in await asyncio.gather(*clients) for status in statuses]
    finally:
        stop.set()
        front.kill()
    assert set(answered) == {200}
    assert len(answered) > 20
