"""Cycle: one request of a connection and its answer, as the application receives and sends them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

from starlette.types import Message, Scope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gossamer.doors.http.core.exchange import Exchange, Handover
from gossamer.doors.http.server.dating import date_fields, date_line
from gossamer.doors.http.server.framing import Fields
from gossamer.doors.http.server.upgrading import SWITCHING, SwitchedSender, Upgrade
from gossamer.problems import Problem

CLOSING: Final = (b"connection", b"close")
_NOT_MODIFIED: Final = 304  # as plain numbers: a member of HTTPStatus takes longer to find
_REQUEST_TIMEOUT: Final = 408


class Cycle(RequestResponseCycle):
    """Sends an answer of known length in one write, where uvicorn needs two and checks each header.

    A 304 needs no length. Other answers (streams, HEAD, answers without a body) are sent by uvicorn itself.
    A faulty or late body raises its problem where it is read.
    """

    scope: Any
    # What most requests never change, and so is the class's.
    access_log = disconnected = response_started = response_complete = False
    more_body = True
    chunked_encoding: bool | None = None
    expected_content_length = 0
    _head: Message | None = None  # of an answer, until its body comes
    _problem: Problem | None = None
    _switched: SwitchedSender | None = None
    _arrival: asyncio.Event | None = None

    def __init__(
        self,
        scope: Scope,
        handover: Handover,
        transport: asyncio.Transport,
        flow: FlowControl,
        logger: logging.Logger,
        on_response: Callable[[], None],
        upgrade: Upgrade | None = None,
        *,
        awaits_continue: bool,
        keep_alive: bool,
    ) -> None:
        # Not uvicorn's own, which sets all of this for every request.
        self.scope = scope
        self.transport = transport
        self.flow = flow
        self.logger = logger
        self.on_response = on_response
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = awaits_continue
        self.body = bytearray()
        self._handover = handover
        self._upgrade = upgrade

    @property
    def default_headers(self) -> Fields:  # type: ignore[override]
        return date_fields()

    @property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """Made for whoever waits: most requests have come completely."""
        if self._arrival is None:
            self._arrival = asyncio.Event()
            if not self.more_body:
                self._arrival.set()
        return self._arrival

    async def run_asgi(self, app: Any) -> None:
        try:
            await super().run_asgi(app)
        finally:
            self.scope.pop(Exchange.KEY, None)

    # Receiving.

    async def receive(self) -> Any:
        if self._upgrade is not None and self._upgrade.accepted:
            return await self._upgrade.receive()
        message = await super().receive() if self._problem is None else None
        if self._problem is not None:
            raise self._problem
        return message

    def refuse(self, problem: Problem) -> None:
        self._problem = problem
        self.message_event.set()

    # Sending.

    async def send(self, message: Any) -> None:
        if self._upgrade is not None and await self._switch(self._upgrade, message):
            return
        head, self._head = self._head, None
        if head is None:
            if message["type"] == "http.response.start":
                status = message["status"]
                if self.waiting_for_100_continue or status == _REQUEST_TIMEOUT:
                    self._close_unless_body_comes(status)
                if status == _NOT_MODIFIED or b"content-length" in dict(message["headers"]):
                    self._head = message
                    return
            await super().send(message)
            return
        body: bytes = message.get("body", b"")
        is_whole = head["status"] == _NOT_MODIFIED or (body and self.scope["method"] != "HEAD")
        if message.get("more_body") or not is_whole:
            await super().send(head)  # type: ignore[arg-type]
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if not self.disconnected:
            self._write(head, body)

    async def _switch(self, upgrade: Upgrade, message: Message) -> bool:
        """Whether the message is of another protocol, which the answer has accepted, or accepts now."""
        if self._switched is not None:
            await self._switched.send(message)
            return True
        if message.get("status") != SWITCHING:
            self._upgrade = None
            upgrade.decline()
            return False
        upgrade.accepted = True
        self._switched = SwitchedSender(self)
        await self._switched.start(message)
        return True

    def _close_unless_body_comes(self, status: int) -> None:
        """A client that waits for 100 Continue and is answered otherwise may send its body, or the next
        request instead (RFC 9110, section 10.1.1): only a new connection can tell."""
        waits = self.waiting_for_100_continue and self.more_body
        if waits or status == _REQUEST_TIMEOUT:
            self.keep_alive = False

    def _write(self, head: Message, body: bytes) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        own = head["headers"] if self.keep_alive else [*head["headers"], CLOSING]
        lines = b"\r\n".join([date_line(), *map(b": ".join, own)])
        if lines.count(b"\n") != len(own) or b"\0" in lines:
            raise RuntimeError("a header of the answer contains a line break")
        self.transport.write(b"%b%b\r\n\r\n%b" % (STATUS_LINE[head["status"]], lines, body))
        if self._arrival is not None:
            self._arrival.set()
        if not self.keep_alive:
            self.transport.close()
        exchange = self.scope.get(Exchange.KEY)
        if self._handover.on_answer is not None and exchange is not None:
            self._handover.on_answer(exchange, own, body)
        self.on_response()


def connection_scope(
    server: tuple[str, int | None] | None, client: tuple[str, int] | None, scheme: str | None
) -> Scope:
    """The part of an ASGI scope that all requests of a connection share."""
    asgi = {"version": "3.0", "spec_version": "2.3"}
    common = {"server": server, "client": client, "scheme": scheme}
    return {"type": "http", "asgi": asgi, "root_path": "", **common}


def request_scope(
    common: Scope, version: str, method: str, raw_path: bytes, query: bytes, fields: Fields
) -> Scope:
    path = raw_path.decode("ascii")
    return {
        **common,
        "http_version": version,
        "method": method,
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": fields,
        "state": {},
    }
