"""Sends an answer, and closes the connection after it."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.types import Message
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gossamer.doors.http.core.exchange import Handover
from gossamer.doors.http.server.upgrading import SWITCHING, SwitchedSender, Upgrade

CLOSING: Final = (b"connection", b"close")


class OneWrite:
    """Sends an answer of known length in one write, where uvicorn needs two and checks each header.

    A 304 needs no length. Other answers (streams, HEAD, answers without a body) are sent by uvicorn itself.
    """

    def __init__(
        self, cycle: RequestResponseCycle, handover: Handover, upgrade: Upgrade | None = None
    ) -> None:
        self._cycle = cycle
        self._handover = handover
        self._upgrade = upgrade  # that is not decided yet
        self._switched: SwitchedSender | None = None
        self._send = cycle.send
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        if self._switched is not None:
            await self._switched.send(message)
            return
        if self._upgrade is not None and await self._decide(self._upgrade, message):
            return
        head, self._head = self._head, None
        if head is None:
            if message["type"] == "http.response.start":
                self._close_unless_body_comes(message["status"])
                if message["status"] == HTTPStatus.NOT_MODIFIED or _has_length(message):
                    self._head = message
                    return
        elif message.get("more_body") or not _is_whole(head, message, self._cycle.scope["method"]):
            await self._send(head)  # type: ignore[arg-type]
        else:
            await self._write(head, message.get("body", b""))
            return
        await self._send(message)  # type: ignore[arg-type]

    async def _decide(self, upgrade: Upgrade, message: Message) -> bool:
        """Whether the answer, which begins now, accepts the upgrade."""
        self._upgrade = None
        if message.get("status") != SWITCHING:
            upgrade.decline()
            return False
        upgrade.accepted = True
        self._switched = SwitchedSender(self._cycle)
        await self._switched.start(message)
        return True

    def _close_unless_body_comes(self, status: int) -> None:
        """A client that waits for 100 Continue and is answered otherwise may send its body, or the next
        request instead (RFC 9110, section 10.1.1): only a new connection can tell."""
        waits = self._cycle.waiting_for_100_continue and self._cycle.more_body
        if waits or status == HTTPStatus.REQUEST_TIMEOUT:
            self._cycle.keep_alive = False

    async def _write(self, head: Message, body: bytes) -> None:
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        own = head["headers"] if cycle.keep_alive else [*head["headers"], CLOSING]
        headers = [*cycle.default_headers, *own]
        lines = b"\r\n".join(map(b": ".join, headers))
        if lines.count(b"\n") != len(headers) - 1 or b"\0" in lines:
            raise RuntimeError("a header of the answer contains a line break")
        cycle.transport.write(b"%b%b\r\n\r\n%b" % (STATUS_LINE[head["status"]], lines, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        if self._handover.on_answer is not None and self._handover.exchange is not None:
            self._handover.on_answer(self._handover.exchange, own, body)
        cycle.on_response()


def _is_whole(head: Message, message: Message, method: str) -> bool:
    return head["status"] == HTTPStatus.NOT_MODIFIED or (bool(message.get("body")) and method != "HEAD")


def _has_length(message: Message) -> bool:
    return any(name == b"content-length" for name, _ in message["headers"])


class LingeringTransport:
    """A transport whose closing waits until the client has stopped sending.

    If it closed at once, bytes that still arrive would reset the connection, and the answer would be lost.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close
