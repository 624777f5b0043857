"""Where a request begins and ends: this server and a proxy in front of it must never see it differently."""

import asyncio
import json
import re
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.doors.http.server.framing_corpus import BODIES, CHUNKED, CORPUS, FORGING, SMUGGLED, Row
from tests.doors.services import ADMIN_KEY, Visit, Visiting
from tests.servers.fronts import Front, HAProxy, Nginx

from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.protocol import Protocol
from gossamer.doors.http.server.server import server
from gossamer.flows.render.render import page_key
from gossamer.state.pages.cached_page import CachedPage
from gossamer.web.url.url import Url

CLIENT = "127.0.0.2"  # not one of the proxies
AFTER = b"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
URL = "https://shop.example.com/product/123"
SECONDS = 60


def render(fields: bytes, body: bytes) -> bytes:
    key = f"Authorization: Bearer {ADMIN_KEY}\r\nContent-Type: application/json\r\n".encode()
    return b"POST /api/render HTTP/1.1\r\nHost: a\r\n%b%b\r\n%b" % (key, fields, body)


_WISH = json.dumps({"url": URL}).encode()
_CHUNK = b"%x\r\n%b\r\n0\r\n" % (len(_WISH), _WISH)
_LENGTH = b"Content-Length: %d\r\n" % len(_WISH)
# A page from the hot tier, which may take the fast path the second time.
HITS = (
    Row("a hit", render(_LENGTH, _WISH), (200,)),
    Row("a hit by chunks", render(CHUNKED, _CHUNK + b"\r\n"), (200,)),
    Row("a hit with trailers", render(CHUNKED, _CHUNK + FORGING + b"\r\n"), (200,)),
    Row("a hit with an upgrade", render(b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + _LENGTH, _WISH), (200,)),
    Row("a hit and another", render(_LENGTH, _WISH) + render(_LENGTH, _WISH), (200, 200)),
    Row("a hit with two hosts", render(b"Host: b\r\n" + _LENGTH, _WISH) + SMUGGLED, (400,), closes=True),
    Row("a hit with two lengths", render(_LENGTH + CHUNKED, _WISH) + SMUGGLED, (400,), closes=True),
)


@dataclass(frozen=True)
class Served:
    visit: Visit
    port: int

    def seen(self) -> list[str]:
        return [line["endpoint"] for line in self.visit.logged("request")]

    def clients(self) -> set[str]:
        """Of those that had a head. Half a head is counted as its sender's, be it a proxy."""
        return {line["client"] for line in self.visit.logged("request") if line["endpoint"] != "/"}


@asynccontextmanager
async def serving(visit: Visit, *, fast: bool) -> AsyncIterator[Served]:
    service = visit.service
    listening = socket.create_server(("127.0.0.1", 0))
    running = server(
        service.app(visit.echo.routes()), fast_path_protocol(service.fast_path()) if fast else Protocol
    )
    task = asyncio.create_task(running.serve(sockets=[listening]))
    caller = await service.admission.identify(ADMIN_KEY)
    page = CachedPage.of(
        b"<!doctype html><title>A shop</title>" * 20, url=URL, rendered_at=round(time.time() * 1000)
    )
    await service.page_cache.put(page_key(caller.tenant_id, Url.parse(URL)), page)
    try:
        yield Served(visit, listening.getsockname()[1])
    finally:
        running.stop()
        await task


@pytest.fixture(params=[False, True], ids=["ordinary", "fast"])
async def served(request: pytest.FixtureRequest, visiting: Visiting) -> AsyncIterator[Served]:
    async with (
        visiting(trusted_proxies="127.0.0.1") as visit,
        serving(visit, fast=request.param) as opened,
    ):
        yield opened


async def ask(port: int, sent: bytes) -> list[int]:
    """The statuses of all answers, until the server closes the connection."""
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(CLIENT, 0))
        received = b""
        try:
            writer.write(sent)
            while piece := await reader.read(65_536):
                received += piece
        except ConnectionResetError:  # a proxy may close before it has read what it refuses
            pass
        finally:
            writer.close()
        return statuses(received)


def statuses(received: bytes) -> list[int]:
    found = []
    while received.startswith(b"HTTP/1."):  # HAProxy understands HTTP/2 too
        head, _, received = received.partition(b"\r\n\r\n")
        found.append(int(head.split()[1]))
        length = re.search(rb"(?mi)^content-length: *(\d+)", head)
        received = received[int(length[1]) if length else 0 :]
    return found


def whole(row: Row) -> bytes:
    """After a request that leaves the connection open comes another, which must be the next."""
    return row.sent if row.closes else row.sent + AFTER


def wanted(row: Row) -> list[int]:
    return [*row.statuses, *([] if row.closes else [404])]


async def test_rfc9112_what_is_doubtful_is_refused_and_the_rest_understood(served: Served) -> None:
    for _ in range(2):  # the second one may take the fast path
        found = {row.name: await ask(served.port, whole(row)) for row in (*CORPUS, *BODIES, *HITS)}
        assert found == {row.name: wanted(row) for row in (*CORPUS, *BODIES, *HITS)}
    assert served.clients() == {CLIENT}
    assert "/smuggled" not in served.seen()


async def test_a_refusal_is_counted_and_logged_like_every_other(served: Served) -> None:
    refusals = [row for row in CORPUS if row.statuses[0] in (400, 414, 431)]
    for row in refusals:
        await ask(served.port, row.sent)
    logged = served.visit.logged("request")
    assert [line["status"] for line in logged] == [row.statuses[0] for row in refusals]
    assert all(line["requestId"] and line["error"] for line in logged)


@pytest.mark.parametrize("kind", [Nginx, HAProxy])
async def test_behind_a_proxy_each_request_is_one_request_of_its_client(
    visiting: Visiting, tmp_path: Path, kind: type[Front]
) -> None:
    async with visiting(trusted_proxies="127.0.0.1") as visit, serving(visit, fast=True) as served:
        folder = tmp_path / "front"
        folder.mkdir()
        front = kind(folder, [served.port])
        front.start()
        try:
            for _ in range(2):
                rows = (*CORPUS, *BODIES, *HITS)
                found = await asyncio.gather(*(ask(front.port, whole(row)) for row in rows))
                for row, answered in zip(rows, found, strict=True):
                    assert 500 not in answered, row.name
                    assert answered.count(200) <= wanted(row).count(200), row.name
            await until(lambda: len(served.seen()) == len(front.passed_on()))
            # Whatever is refused before there is a target is logged under "/".
            seen = Counter(path for path in served.seen() if path != "/")
            assert seen <= Counter(target.partition("?")[0] for target in front.passed_on())
            assert len(front.passed_on()) >= 20
            assert served.clients() == {CLIENT}
        finally:
            front.kill()
        assert len(served.seen()) == len(front.passed_on())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.02)
