"""A GET that needs no parser reaches the application as it would have come from the parser."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from tests.doors.services import Visiting

from gossamer.doors.http.core.exchange import Handover
from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.request_shape import read_bare
from gossamer.doors.http.server.server import server

SECONDS = 60
PARSED = b"Content-Length: 0\r\n"  # with it, the parser reads the request


def head(target: bytes = b"/", fields: bytes = b"", host: bytes = b"Host: a\r\n") -> bytes:
    return b"GET %b HTTP/1.1\r\n%b%b\r\n" % (target, host, fields)


@dataclass(frozen=True)
class Served:
    port: int
    scopes: list[Scope]

    async def ask(self, sent: bytes) -> dict[str, Any]:
        """The scope of a request, and what comes back."""
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(sent)
            answer = await reader.readexactly(len(b"HTTP/1.1 200 OK\r\n"))
            writer.close()
        scope = {name: value for name, value in self.scopes.pop().items() if name not in UNLIKE}
        scope["headers"] = [field for field in scope["headers"] if field != (b"content-length", b"0")]
        return {**scope, "answer": answer}


UNLIKE = (Handover.KEY, "client")  # each connection has its own


@pytest.fixture
async def served(visiting: Visiting) -> AsyncIterator[Served]:
    scopes: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)
        message = await receive()
        assert (message["body"], message["more_body"]) == (b"", False)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async with visiting() as visit:
        listening = socket.create_server(("127.0.0.1", 0))
        running = server(app, fast_path_protocol(visit.service.fast_path()))
        task = asyncio.create_task(running.serve(sockets=[listening]))
        yield Served(listening.getsockname()[1], scopes)
        running.stop()
        await task


BARE = (
    head(),
    head(b"/a/b.c?d=e&f=%20"),
    head(b"/?"),
    head(b"/a??b"),
    head(b"//a//b"),
    head(b"/%C3%A9/%2e%2E/%zz"),
    head(b"/a:b@c;d=(e),*+'!$&~"),
    head(fields=b"X-A:b\r\nx-b: \t c d \t\r\nX-EMPTY:\r\nX-A: e\r\nX-Byte: \xe9\r\n"),
    head(fields=b"Connection: Keep-Alive\r\n".lower()),
)


@pytest.mark.parametrize("sent", BARE)
async def test_the_application_cannot_tell_them_apart(served: Served, sent: bytes) -> None:
    assert read_bare(sent) is not None
    parsed = sent[:-2] + PARSED + b"\r\n"
    assert read_bare(parsed) is None
    assert await served.ask(sent) == await served.ask(parsed)


@pytest.mark.parametrize(
    "sent",
    [
        head() + b"G",
        head() + head(),
        head().replace(b"GET", b"HEAD"),
        head().replace(b"1.1", b"1.0"),
        head().replace(b"\r\n", b"\n"),
        head(host=b""),
        head(b"*"),
        head(b"http://a/"),
        head(b"/#a"),
        head(b"/a[b]"),
        head(b"/\xe9"),
        head(fields=b"Transfer-Encoding: chunked\r\n"),
        head(fields=b"Content-Length: 5\r\n"),
        head(fields=b"Connection: close\r\n"),
        head(fields=b"Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n"),
        head(fields=b"Proxy-Connection: close\r\n"),
        head(fields=b"Expect: 100-continue\r\n"),
        head(fields=b"X-A : b\r\n"),
        head(fields=b"X-A: b\r\n c\r\n"),
        head(fields=b"X-A: b\x00\r\n"),
        head(fields=b"X-A: b\r\n" * 100),
    ],
)
def test_everything_else_is_for_the_parser(sent: bytes) -> None:
    assert read_bare(sent) is None
