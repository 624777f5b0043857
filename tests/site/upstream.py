"""Proxies on loopback that note what they are asked for: HTTP CONNECT and SOCKS5."""

import asyncio
import base64
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class UpstreamProxy:
    """`names` has the addresses of names that it resolves. `refusal` is answered instead of connecting."""

    def __init__(self, scheme: Literal["http", "socks5"], credentials: tuple[str, str] | None) -> None:
        self.scheme = scheme
        self.port = 0
        self.asked: list[tuple[str, int]] = []
        self.names: dict[str, str] = {}
        self.refusal = 0
        self._credentials = credentials

    def url(self, options: str = "") -> str:
        user = f"{':'.join(self._credentials)}@" if self._credentials else ""
        return f"{self.scheme}://{user}127.0.0.1:{self.port}{options}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            negotiate = self._negotiate_http if self.scheme == "http" else self._negotiate_socks
            target = await negotiate(reader, writer)
            if target is not None:
                await _join((reader, writer), target)
        writer.close()

    async def _negotiate_http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Streams | None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        host, _, port = lines[0].split()[1].rpartition(":")
        self.asked.append((host.strip("[]"), int(port)))
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        wanted = base64.b64encode(":".join(self._credentials).encode()).decode() if self._credentials else ""
        if wanted and fields.get("proxy-authorization", "").split()[-1:] != [wanted.lower()]:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return None
        if self.refusal:
            writer.write(f"HTTP/1.1 {self.refusal} No\r\n\r\n".encode())
            return None
        target = await self._open(host.strip("[]"), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return target

    async def _negotiate_socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Streams | None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        method = 2 if self._credentials else 0
        writer.write(bytes([5, method if method in methods else 255]))
        if self._credentials and not await self._check_password(reader, writer):
            return None
        _, _, _, kind = await reader.readexactly(4)
        host = await _socks_host(reader, kind)
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        self.asked.append((host, port))
        if self.refusal:
            writer.write(bytes([5, self.refusal, 0, 1, 0, 0, 0, 0, 0, 0]))
            return None
        target = await self._open(host, port)
        writer.write(bytes([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
        return target

    async def _check_password(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readexactly(1)
        given = [(await reader.readexactly((await reader.readexactly(1))[0])).decode() for _ in range(2)]
        good = tuple(given) == self._credentials
        writer.write(bytes([1, 0 if good else 1]))
        return good

    async def _open(self, host: str, port: int) -> Streams:
        return await asyncio.open_connection(self.names.get(host, host), port)


async def _socks_host(reader: asyncio.StreamReader, kind: int) -> str:
    if kind == 3:
        return (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    family, size = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
    return socket.inet_ntop(family, await reader.readexactly(size))


async def _join(one: Streams, other: Streams) -> None:
    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    await asyncio.gather(copy(one[0], other[1]), copy(other[0], one[1]))


@asynccontextmanager
async def upstream_proxy(
    scheme: Literal["http", "socks5"], credentials: tuple[str, str] | None = None, port: int = 0
) -> AsyncIterator[UpstreamProxy]:
    proxy = UpstreamProxy(scheme, credentials)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", port)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await asyncio.wait_for(server.wait_closed(), 5)
