"""Servers on loopback that count who connects, and ports where nothing goes on.

A canary on an address that must not be reached is the proof that it was not.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port that nobody else gets on any address. Nobody listens there, except who is given the port."""
    dual = socket.has_dualstack_ipv6()
    with socket.socket(socket.AF_INET6 if dual else socket.AF_INET) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if dual:
            holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        holder.bind(("", 0))
        yield holder.getsockname()[1]


class Canary:
    """A server on one address; it counts who connects, greets them, and says goodbye."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0
        self.server_names: list[str | None] = []

    async def greet(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            writer.write(b"hello")
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def canary(address: str, port: int = 0, context: ssl.SSLContext | None = None) -> AsyncIterator[Canary]:
    bird = Canary(port)
    if context is not None:
        context.sni_callback = lambda _socket, name, _context: bird.server_names.append(name)
    server = await asyncio.start_server(bird.greet, address, port, ssl=context)
    bird.port = server.sockets[0].getsockname()[1]
    try:
        yield bird
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def canaries(*addresses: str) -> AsyncIterator[list[Canary]]:
    """Several, all on the same port."""
    async with AsyncExitStack() as stack:
        port = stack.enter_context(reserved_port())
        yield [await stack.enter_async_context(canary(address, port)) for address in addresses]


@asynccontextmanager
async def full(address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """A port where connecting hangs: nobody accepts, and the queue of those who wait is full."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = []
        for _ in range(16):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex((address, port))
        try:
            yield port
        finally:
            for each in waiting:
                each.close()


@asynccontextmanager
async def silent() -> AsyncIterator[int]:
    """A port that accepts and then says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield listener.getsockname()[1]
