"""nginx and Caddy in front, over TLS: who asks is known, streams flow, cookies are bound to the host."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.deploy.proxies import HOST, CaddyFile, NginxFile, TlsProxy
from tests.doors.processes import processes_in
from tests.doors.services import AS_ADMIN
from tests.servers.daemon import free_port

SECONDS = 30.0
CLIENT = "127.0.0.5"  # an address of ours that is not the proxy's
MAX_BYTES = 2_000_000


@dataclass
class Fronted:
    proxy: TlsProxy
    log: Path  # of the server behind it

    def client(self, **headers: str) -> httpx.AsyncClient:
        """A client that comes from `CLIENT` and calls the server by its name."""
        transport = httpx.AsyncHTTPTransport(verify=self.proxy.trust, local_address=CLIENT)
        return httpx.AsyncClient(
            transport=transport,
            base_url=f"https://127.0.0.1:{self.proxy.port}",
            headers={"Host": HOST, **headers},
            timeout=SECONDS,
        )

    async def client_of(self, request_id: str) -> str:
        """The address that the server has logged for a request."""
        async with asyncio.timeout(SECONDS):
            while True:
                for line in self.log.read_text().splitlines():
                    if request_id in line:
                        return str(json.loads(line)["client"])
                await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    log = folder / "log"
    settings = {
        "port": port,
        "public_url": f"https://{HOST}",
        "trusted_proxies": "127.0.0.1",
        "max_request_bytes": MAX_BYTES,
        "serve_worker": "no",
        "log_format": "json",
    }
    with processes_in(folder) as start, log.open("w") as said:
        process = start("gossamer", "serve", output=said, **settings)
        _wait_until_alive(port)
        assert process.process.poll() is None
        yield port, log


def _wait_until_alive(port: int) -> None:
    deadline = time.monotonic() + SECONDS
    with socket.socket() as probe:
        while probe.connect_ex(("127.0.0.1", port)) != 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=SECONDS).status_code == 200


@pytest.fixture(scope="module", params=[NginxFile, CaddyFile], ids=["nginx", "caddy"])
def fronted(
    request: pytest.FixtureRequest, backend: tuple[int, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fronted]:
    port, log = backend
    proxy: TlsProxy = request.param(tmp_path_factory.mktemp("proxy"), [port])
    proxy.start()
    yield Fronted(proxy, log)
    proxy.kill()


@pytest.fixture
async def client(fronted: Fronted) -> AsyncIterator[httpx.AsyncClient]:
    async with fronted.client() as opened:
        yield opened


async def test_the_clients_address_is_seen_and_cannot_be_claimed(fronted: Fronted) -> None:
    async with fronted.client(**{"X-Forwarded-For": "203.0.113.9"}) as client:
        answer = await client.get("/api/me", headers=AS_ADMIN)
    assert answer.status_code == 200
    assert await fronted.client_of(answer.headers["x-request-id"]) == CLIENT


async def test_events_arrive_while_the_stream_is_open(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(SECONDS):
        headers = {**AS_ADMIN, "Accept": "text/event-stream"}
        async with client.stream("GET", "/api/stats/stream", headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            parts = answer.aiter_bytes()
            assert await anext(parts)  # and nobody has closed it


async def test_a_session_is_bound_to_the_host_over_tls(client: httpx.AsyncClient, fronted: Fronted) -> None:
    email = f"{type(fronted.proxy).__name__.lower()}@example.com"
    added = await client.post("/api/admin/users", json={"email": email}, headers=AS_ADMIN)
    link = added.json()["link"]
    assert link.startswith(f"https://{HOST}/app/link?token=")
    given = {"token": link.partition("token=")[2], "password": "correct horse battery"}
    cookie = (await client.post("/api/auth/link", json=given)).headers["set-cookie"]
    assert cookie.startswith("__Host-gossamer-session=")
    assert "; Secure" in cookie


async def test_large_bodies_are_judged_by_gossamer_alone(client: httpx.AsyncClient) -> None:
    urls = {"urls": ["https://example.com/" + "a" * 2_000] * (MAX_BYTES // 2_100)}
    accepted = await client.post("/batch/fetch", json=urls, headers=AS_ADMIN)
    assert accepted.status_code == 202
    refused = await client.post("/batch/fetch", content=b" " * (MAX_BYTES + 1), headers=AS_ADMIN)
    assert refused.status_code == 413
    assert refused.headers["content-type"].startswith("application/problem+json")


async def test_metrics_are_not_for_everybody(client: httpx.AsyncClient) -> None:
    assert (await client.get("/metrics")).status_code == 403


async def test_browsers_are_told_to_stay_with_tls(client: httpx.AsyncClient) -> None:
    assert "max-age" in (await client.get("/health/live")).headers["strict-transport-security"]
