"""Cycle: one request of a connection and its answer, as the application receives and sends them."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

from starlette.types import Message, Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gossamer.doors.http.core.exchange import Handover
from gossamer.doors.http.server.framing import Fields
from gossamer.doors.http.server.upgrading import SWITCHING, SwitchedSender, Upgrade
from gossamer.problems import Problem

CLOSING: Final = (b"connection", b"close")


class Cycle(RequestResponseCycle):
    """Sends an answer of known length in one write, where uvicorn needs two and checks each header.

    A 304 needs no length. Other answers (streams, HEAD, answers without a body) are sent by uvicorn itself.
    A faulty or late body raises its problem where it is read.
    """

    _head: Message | None = None  # of an answer, until its body comes
    _problem: Problem | None = None
    _switched: SwitchedSender | None = None

    def __init__(self, handover: Handover, upgrade: Upgrade | None = None, **of_connection: Any) -> None:
        super().__init__(**of_connection)
        self._handover = handover
        self._upgrade = upgrade
        self._is_undecided = upgrade is not None

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
        if self._switched is not None:
            await self._switched.send(message)
            return
        if self._is_undecided and await self._decide(message):
            return
        head, self._head = self._head, None
        if head is None:
            if message["type"] == "http.response.start":
                self._close_unless_body_comes(message["status"])
                if message["status"] == HTTPStatus.NOT_MODIFIED or _has_length(message):
                    self._head = message
                    return
        elif message.get("more_body") or not _is_whole(head, message, self.scope["method"]):
            await super().send(head)  # type: ignore[arg-type]
        else:
            if self.flow.write_paused and not self.disconnected:
                await self.flow.drain()
            if not self.disconnected:
                self._write(head, message.get("body", b""))
            return
        await super().send(message)

    async def _decide(self, message: Message) -> bool:
        """Whether the answer, which begins now, accepts the upgrade."""
        self._is_undecided = False
        assert self._upgrade is not None  # noqa: S101  (only an upgrade can be undecided)
        if message.get("status") != SWITCHING:
            self._upgrade.decline()
            return False
        self._upgrade.accepted = True
        self._switched = SwitchedSender(self)
        await self._switched.start(message)
        return True

    def _close_unless_body_comes(self, status: int) -> None:
        """A client that waits for 100 Continue and is answered otherwise may send its body, or the next
        request instead (RFC 9110, section 10.1.1): only a new connection can tell."""
        waits = self.waiting_for_100_continue and self.more_body
        if waits or status == HTTPStatus.REQUEST_TIMEOUT:
            self.keep_alive = False

    def _write(self, head: Message, body: bytes) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        own = head["headers"] if self.keep_alive else [*head["headers"], CLOSING]
        headers = [*self.default_headers, *own]
        lines = b"\r\n".join(map(b": ".join, headers))
        if lines.count(b"\n") != len(headers) - 1 or b"\0" in lines:
            raise RuntimeError("a header of the answer contains a line break")
        self.transport.write(b"%b%b\r\n\r\n%b" % (STATUS_LINE[head["status"]], lines, body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        if self._handover.on_answer is not None and self._handover.exchange is not None:
            self._handover.on_answer(self._handover.exchange, own, body)
        self.on_response()


def connection_scope(
    server: tuple[str, int | None] | None, client: tuple[str, int] | None, scheme: str | None
) -> Scope:
    """The part of an ASGI scope that all requests of a connection share."""
    asgi = {"version": "3.0", "spec_version": "2.3"}
    common = {"server": server, "client": client, "scheme": scheme}
    return {"type": "http", "asgi": asgi, "root_path": "", **common}


def request_scope(version: str, method: str, raw_path: bytes, query: bytes, fields: Fields) -> Scope:
    """The part that is the request's own."""
    path = raw_path.decode("ascii")
    return {
        "http_version": version,
        "method": method,
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": fields,
    }


def _is_whole(head: Message, message: Message, method: str) -> bool:
    return head["status"] == HTTPStatus.NOT_MODIFIED or (bool(message.get("body")) and method != "HEAD")


def _has_length(message: Message) -> bool:
    return any(name == b"content-length" for name, _ in message["headers"])
