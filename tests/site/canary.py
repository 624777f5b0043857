"""Servers on loopback that count who connects, and ports where nothing goes on.

A canary on an address that must not be reached is the proof that it was not.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager


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
        birds = [await stack.enter_async_context(canary(addresses[0]))]
        for address in addresses[1:]:
            birds.append(await stack.enter_async_context(canary(address, birds[0].port)))
        yield birds


@asynccontextmanager
async def full(address: str = "127.0.0.1") -> AsyncIterator[int]:
    """A port where connecting hangs: nobody accepts, and the queue of those who wait is full."""
    with socket.socket() as listener:
        listener.bind((address, 0))
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
