"""An answered request leaves nothing behind that only the garbage collector would find."""

import asyncio
import gc
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.doors.services import ADMIN_KEY, Visiting

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.server.fast_path_protocol import fast_path_protocol
from gossamer.doors.http.server.server import server

SECONDS = 60
FIELDS = f"Host: a\r\nAuthorization: Bearer {ADMIN_KEY}\r\nConnection: close\r\n"
SEARCH = '{"query":"nothing"}'
JSON = f"Content-Type: application/json\r\nContent-Length: {len(SEARCH)}\r\n"


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def ask(port: int, sent: str) -> bytes:
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent.encode())
        answer = await reader.read()
        writer.close()
    return answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (f"GET /api/me HTTP/1.1\r\n{FIELDS}\r\n", b"200"),
        (f"GET /api/jobs?limit=1 HTTP/1.1\r\n{FIELDS}\r\n", b"200"),
        (f"GET /nothing/here HTTP/1.1\r\n{FIELDS}\r\n", b"404"),
        (f"POST /search HTTP/1.1\r\n{FIELDS}{JSON}\r\n{SEARCH}", b"200"),
        (f"POST /search HTTP/1.1\r\n{FIELDS}\r\n", b"415"),
    ],
)
async def test_no_exchange_waits_for_the_garbage_collector(
    visiting: Visiting, sent: str, status: bytes
) -> None:
    async with visiting() as visit:
        listening = socket.create_server(("127.0.0.1", 0))
        running = server(visit.service.app(), fast_path_protocol(visit.service.fast_path()))
        serving = asyncio.create_task(running.serve(sockets=[listening]))
        with no_collector():
            answer = await ask(listening.getsockname()[1], sent)
            running.stop()
            await serving
            left = [each for each in gc.get_objects() if type(each) is Exchange]
        assert answer.split(b" ")[1] == status
        assert left == []
