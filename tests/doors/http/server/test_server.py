"""The server's own bounds: what never becomes a request still gets an id, a count and a problem document."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest
from tests.doors.processes import processes_in, started_server
from tests.doors.services import Visit, Visiting

from gossamer.doors.http.server import framing
from gossamer.doors.http.server import protocol as protocol_module
from gossamer.doors.http.server import server as server_module


class Raw:
    """A socket, and the answer that comes back on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(60):
            head = await self.reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            lines = head.decode("latin-1").split("\r\n")[1:]
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
            return status, headers, await self.reader.readexactly(int(headers["content-length"]))


Connect = Callable[[int], Awaitable[Raw]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    opened: list[Raw] = []

    async def open_connection(port: int) -> Raw:
        opened.append(Raw(*await asyncio.open_connection("127.0.0.1", port)))
        return opened[-1]

    yield open_connection
    for raw in opened:
        raw.writer.close()
        with contextlib.suppress(OSError):
            await raw.writer.wait_closed()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """One server for all that is sent to it: none of it may keep it from answering the next."""
    with processes_in(tmp_path_factory.mktemp("server")) as processes:
        yield started_server(processes).port


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"NONSENSE\r\n\r\n", "VALIDATION_ERROR"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", "VALIDATION_ERROR"),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", "VALIDATION_ERROR"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "VALIDATION_ERROR"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "VALIDATION_ERROR",
        ),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(150)) + b"\r\n",
            "HEADERS_TOO_LARGE",
        ),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", "HEADERS_TOO_LARGE"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000, "HEADERS_TOO_LARGE"),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", "URI_TOO_LONG"),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(70)) + b"\r\n",
            "HEADERS_TOO_LARGE",
        ),
    ],
)
async def test_what_the_protocol_refuses_is_a_problem_like_all_others(
    port: int, sent: bytes, code: str, connect: Connect
) -> None:
    raw = await connect(port)
    raw.writer.write(sent)
    status, headers, body = await raw.answer()
    document = json.loads(body)
    assert headers["content-type"] == "application/problem+json"
    assert (document["code"], document["status"]) == (code, status)
    assert document["requestId"] == headers["x-request-id"]
    assert "x-ratelimit-remaining" in headers
    assert headers["connection"] == "close"
    assert await raw.reader.read() == b""


async def test_a_head_that_does_not_arrive_in_time(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setattr(protocol_module, "HEAD_SECONDS", 0.5)
    async with visiting() as visit, serving(visit) as port:
        slow = await connect(port)
        slow.writer.write(b"GET / HTTP/1.1\r\nHost:")
        status, _, body = await slow.answer()
        assert (status, json.loads(body)["code"]) == (408, "REQUEST_TIMEOUT")
        silent = await connect(port)
        assert await silent.reader.read() == b""


ECHO = b"POST /test/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"Content-Length: 99\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"],
    ids=["length", "chunks"],
)
async def test_a_body_that_does_not_arrive_in_time(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch, connect: Connect, sent: bytes
) -> None:
    monkeypatch.setattr(protocol_module, "BODY_SECONDS", 0.2)
    async with visiting() as visit, serving(visit) as port:
        stopped = await connect(port)
        stopped.writer.write(ECHO + sent)
        status, headers, body = await stopped.answer()
        assert (status, json.loads(body)["code"]) == (408, "REQUEST_TIMEOUT")
        assert headers["connection"] == "close"
        assert await stopped.reader.read() == b""
        assert visit.logged("request")[-1]["status"] == 408


async def test_a_body_that_trickles_in_is_late_too(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setattr(protocol_module, "BODY_SECONDS", 0.3)
    async with visiting() as visit, serving(visit) as port:
        slow = await connect(port)
        slow.writer.write(ECHO + b"Content-Length: 99999\r\n\r\n")
        answering = asyncio.create_task(slow.answer())
        while not answering.done():
            slow.writer.write(b" ")
            await asyncio.sleep(0.01)
        assert (await answering)[0] == 408


async def test_a_body_that_nobody_waits_for_does_not_keep_the_connection(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setattr(protocol_module, "BODY_SECONDS", 0.2)
    async with visiting() as visit, serving(visit) as port:
        answered = await connect(port)
        answered.writer.write(b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{")
        assert (await answered.answer())[0] == 404
        assert await answered.reader.read() == b""


class Counting(protocol_module.Protocol):
    """Counts the pieces of bodies that are handed over in one turn of the event loop."""

    most = 0

    def _parse(self, data: bytes | memoryview) -> None:
        self.pieces = 0
        super()._parse(data)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self.pieces += 1
        Counting.most = max(Counting.most, self.pieces)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.pieces += 1
        Counting.most = max(Counting.most, self.pieces)


async def test_chunks_of_one_byte_never_hold_the_event_loop(visiting: Visiting, connect: Connect) -> None:
    """What was 400 ms at a time is a few hundred pieces, however many arrive at once."""
    words = json.dumps({"text": "a", "times": 1}).encode() + b" " * 60_000
    async with visiting() as visit, serving(visit, Counting) as port:
        raw = await connect(port)
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in words)
        raw.writer.write(ECHO + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        assert (await raw.answer())[0] == 200
        raw.writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n" * 3_000)
        for _ in range(3_000):
            assert (await raw.answer())[0] == 200
    assert 100 < Counting.most <= protocol_module.SLICE // 6 + 1


async def test_chunks_that_are_almost_all_framing_are_refused(
    visiting: Visiting, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "MAX_OVERHEAD_BYTES", 50_000)
    async with visiting() as visit, serving(visit) as port:
        for body in (b"1\r\n \r\n" * 20_000, b"1\r\n \r\n0\r\nX: " + b"a" * 100_000):
            raw = await connect(port)
            raw.writer.write(ECHO + b"Transfer-Encoding: chunked\r\n\r\n" + body)
            status, _, said = await raw.answer()
            assert (status, json.loads(said)["code"]) == (400, "VALIDATION_ERROR")


async def test_a_connection_goes_on_after_a_refused_body(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        refused = await client.post(
            "/test/echo", content=b"a" * 5_000_000, headers={"Content-Type": "application/json"}
        )
        assert refused.json()["code"] == "PAYLOAD_TOO_LARGE"
        assert (await client.get("/health/live")).status_code == 200


async def test_pipelined_requests_are_answered_in_order(port: int, connect: Connect) -> None:
    raw = await connect(port)
    raw.writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (await raw.answer())[0] == 200
    assert (await raw.answer())[0] == 404


async def test_an_upgrade_that_is_not_offered_is_ignored(port: int, connect: Connect) -> None:
    raw = await connect(port)
    raw.writer.write(
        b"GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: YQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert (await raw.answer())[0] == 200


async def test_an_answer_that_is_cut_short_is_seen_to_be_cut_short(port: int) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"http://127.0.0.1:{port}/test/cut")


async def test_a_client_that_goes_away_leaves_nothing_behind(visiting: Visiting, connect: Connect) -> None:
    async with visiting() as visit, serving(visit) as port:
        raw = await connect(port)
        raw.writer.write(
            b"POST /test/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99\r\n\r\n{"
        )
        await raw.writer.drain()
        raw.writer.close()
        async with asyncio.timeout(60):
            while not visit.logged("request"):
                await asyncio.sleep(0.01)
        assert visit.logged("request")[0]["error"] == "CLIENT_GONE"
        assert not visit.logged("internal_error")


async def test_p10_every_answer_has_an_id_and_a_time(visit: Visit) -> None:
    ids = set()
    for path in ("/health", "/nowhere", "/docs", "/test/client", "/test/user"):
        headers = (await visit.client.get(path)).headers
        assert re.fullmatch(r"wl_[0-9a-z]{8,9}_[0-9a-z]{6}", headers["x-request-id"])
        assert re.fullmatch(r"\d+", headers["x-processing-time"])
        ids.add(headers["x-request-id"])
    assert len(ids) == 5


@asynccontextmanager
async def serving(
    visit: Visit, protocol: type[protocol_module.Protocol] = protocol_module.Protocol
) -> AsyncIterator[int]:
    """The visit's service behind a real socket, in this process."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    running = server_module.server(visit.service.app(visit.echo.routes()), protocol)
    task = asyncio.create_task(running.serve(sockets=[listening]))
    while not running.started:
        await asyncio.sleep(0.005)
    try:
        yield listening.getsockname()[1]
    finally:
        running.stop()
        await task
