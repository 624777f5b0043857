"""Upgrade: a request to speak another protocol on the connection, from its head to the answer.

undecided ──▶ accepted   the answer is 101, and bytes pass both ways as they are
    └───────▶ declined   any other answer: the upgrade is ignored, as RFC 9110 allows, and HTTP continues
"""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import Message
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gossamer.doors.http.server.framing import Fields, body_framing

SWITCHING: Final = 101
MAX_HELD_BYTES: Final = 64 * 1024  # that have arrived and are not read yet


def is_websocket(version: str, method: str, fields: Fields) -> bool:
    """Whether a head asks for the one protocol that is offered (RFC 6455, section 4.2.1)."""
    asked = [value.strip().lower() for name, value in fields if name == b"upgrade"]
    return version == "1.1" and method == "GET" and asked == [b"websocket"] and body_framing(fields) is None


class Upgrade:
    """Holds what the client sends after the head, until it is clear who reads it."""

    def __init__(self, transport: asyncio.Transport, continue_http: Callable[[bytes], None]) -> None:
        self._transport = transport
        self._continue_http = continue_http
        self._held = bytearray()
        self._changed = asyncio.Event()
        self._gone = False
        self.accepted = False

    def feed(self, data: bytes | memoryview) -> None:
        self._held += data
        self._changed.set()
        if len(self._held) > MAX_HELD_BYTES:
            self._transport.pause_reading()

    def end(self) -> None:
        """The client has gone."""
        self._gone = True
        self._changed.set()

    def decline(self) -> None:
        self._continue_http(self._take())

    async def receive(self) -> Message:
        while not self._held and not self._gone:
            self._changed.clear()
            await self._changed.wait()
        if not self._held:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self._take(), "more_body": True}

    def _take(self) -> bytes:
        taken = bytes(self._held)
        self._held.clear()
        if len(taken) > MAX_HELD_BYTES and not self._transport.is_closing():
            self._transport.resume_reading()
        return taken


class SwitchedSender:
    """The application's `send` after it has accepted an upgrade: bytes leave as they are."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    async def start(self, message: Message) -> None:
        cycle = self._cycle
        cycle.response_started = True
        cycle.keep_alive = False
        fields = [*cycle.default_headers, *message["headers"]]
        lines = b"".join([b"%b: %b\r\n" % field for field in fields])
        if lines.count(b"\n") != len(fields) or b"\0" in lines:
            raise RuntimeError("a header of the answer contains a line break")
        await self._write(b"%b%b\r\n" % (STATUS_LINE[SWITCHING], lines))

    async def send(self, message: Message) -> None:
        if message.get("body"):
            await self._write(message["body"])
        if not message.get("more_body"):
            self._end()

    async def _write(self, data: bytes) -> None:
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if not cycle.disconnected:
            cycle.transport.write(data)

    def _end(self) -> None:
        self._cycle.response_complete = True
        self._cycle.transport.close()
        self._cycle.on_response()
