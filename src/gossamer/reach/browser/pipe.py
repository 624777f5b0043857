"""Exchanges messages with a browser over a socket: JSON, each ended by NUL (`--remote-debugging-pipe`)."""

import asyncio
import socket
from collections import deque
from typing import Final, cast

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024  # of one message; a browser that sends more is broken
MAX_WAITING_BYTES: Final = 32 * 1024 * 1024  # of messages that were not received yet
READ: Final = 256 * 1024


class Pipe(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._messages: deque[bytes] = deque()
        self._parts: list[bytes] = []  # of the message that has not ended yet
        self._partial = 0
        self._waiting = 0
        self._lost = False
        self._arrival: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def send(self, message: bytes) -> None:
        """Send one message. Waits while the browser does not read."""
        while self._room is not None and not self._lost:
            await asyncio.shield(self._room)
        if not self._lost:
            self._transport.write(message + b"\0")

    async def receive(self) -> bytes | None:
        """The next message; None when the browser is gone. Only one task may wait at a time."""
        while not self._messages:
            if self._lost:
                return None
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        message = self._messages.popleft()
        self._waiting -= len(message)
        if self._waiting < MAX_WAITING_BYTES and not self._transport.is_closing():
            self._transport.resume_reading()
        return message

    def close(self) -> None:
        self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\0")
        for part in whole:
            self._messages.append(b"".join((*self._parts, part)))
            self._waiting += len(self._messages[-1])
            self._parts.clear()
            self._partial = 0
        if rest:
            self._parts.append(rest)
            self._partial += len(rest)
        if self._partial > MAX_MESSAGE_BYTES:
            self.close()
        if self._waiting > MAX_WAITING_BYTES:
            self._transport.pause_reading()
        if whole:
            self._wake(self._arrival)

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        self._wake(room)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self.resume_writing()
        self._wake(self._arrival)
        self.ended.set_result(None)

    @staticmethod
    def _wake(waiter: asyncio.Future[None] | None) -> None:
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


async def connect(end: socket.socket) -> Pipe:
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ)
    _, pipe = await asyncio.get_running_loop().create_connection(Pipe, sock=end)
    return pipe
