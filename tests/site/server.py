"""One origin server of named misbehaviours, for everything that reaches out.

Plain sockets, so that it can misbehave at the level of bytes; in a thread of its own, so that it answers also
while a test blocks. What it can do is the table in `paths.py`; what it was asked is in `site.requests`.
"""

import asyncio
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import trustme

from tests.site.paths import answer, head

HOST = "127.0.0.1"
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]  # names in lower case
    connection: int  # the number of the connection that it came on
    origin: str
    raw: bytes  # the head as it came

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known == name), None)

    def query(self, name: str, default: str = "") -> str:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True).get(name, [default])[0]


class Reply:
    """What a handler writes to: whole answers, or single bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.closes = False

    async def send(self, body: bytes = b"", *fields: str, status: str = "200 OK") -> None:
        """An answer as it should be, kept alive; `fields` are whole header lines."""
        await self.raw(head(f"Content-Length: {len(body)}", *fields, status=status) + body)

    async def raw(self, data: bytes) -> None:
        if self._socket_transport().is_closing():
            raise ConnectionResetError  # which `drain` does not say of a TLS connection
        self._writer.write(data)
        await self._writer.drain()

    async def hang(self) -> None:
        """Do nothing until the client gives up."""
        await self._reader.read(1)
        self.closes = True

    def close(self) -> None:
        self.closes = True

    def half_close(self) -> None:
        """Say that nothing more will come, and leave the connection open."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
        else:
            self._writer.close()  # on TLS: `close_notify`, and then we wait for the client's

    def cut(self) -> None:
        """End TCP without a word: on TLS, without `close_notify`."""
        self._socket_transport().close()
        self.closes = True

    def reset(self) -> None:
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST instead of FIN
        self._writer.transport.abort()
        self.closes = True

    def _socket_transport(self) -> asyncio.WriteTransport:
        """What is below TLS, where there is TLS."""
        transport = self._writer.transport
        below: asyncio.WriteTransport | None = getattr(
            getattr(transport, "_ssl_protocol", None), "_transport", transport
        )
        return below or transport


class Site:
    def __init__(self, folder: Path) -> None:
        self.requests: list[Request] = []
        self.authority = folder / "authority.pem"  # what a client must trust to talk to `secure_url`
        self._tls = self._certified()
        # Not the loop of the tests: uvloop writes on and on to a TLS client that is gone.
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="site", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)

    def url(self, target: str) -> str:
        return self._origin + target

    def other_url(self, target: str) -> str:
        """The same at another origin."""
        return self._other_origin + target

    def secure_url(self, target: str) -> str:
        return self._secure_origin + target

    def origins(self, number: int) -> list[str]:
        """So many more origins of the same site."""
        return [self._run(self._listen()) for _ in range(number)]

    def seen(self, target: str) -> list[Request]:
        return [request for request in list(self.requests) if request.target == target]

    def start(self) -> None:
        self._thread.start()
        self._origin, self._other_origin = self.origins(2)
        self._secure_origin = self._run(self._listen(self._tls))

    def stop(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _certified(self) -> ssl.SSLContext:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.authority))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(HOST, "site.test").configure_cert(context)
        return context

    async def _listen(self, tls: ssl.SSLContext | None = None) -> str:
        server = await asyncio.start_server(self._accept, HOST, 0, ssl=tls, backlog=1024)
        self._servers.append(server)
        return f"{'https' if tls else 'http'}://{HOST}:{server.sockets[0].getsockname()[1]}"

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or we do
        finally:
            self._connections.discard(task)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self._numbers)
        reply = Reply(reader, writer)
        while not reply.closes:
            request = _parsed(await reader.readuntil(b"\r\n\r\n"), number)
            self.requests.append(request)
            await answer(self, request, reply)


def _parsed(raw: bytes, connection: int) -> Request:
    first, *lines = raw.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = tuple(
        (name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)
    )
    host = dict(headers).get("host", "")
    return Request(method, target, headers, connection, host, raw)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests; those that count requests ask for a target of their own (`/ok?mine`)."""
    site = Site(tmp_path_factory.mktemp("site"))
    site.start()
    yield site
    site.stop()
