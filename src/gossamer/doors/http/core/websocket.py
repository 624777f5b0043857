"""WebSocket (RFC 6455): an answer that becomes a conversation, for routes that offer one.

The request passes the same layers as every other one. The answer is 101, and from then on the body of the
answer carries our frames, and the body of the request the client's.
"""

import asyncio
import base64
import binascii
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from websockets.frames import CloseCode
from websockets.protocol import SERVER, State
from websockets.protocol import Protocol as Framing
from websockets.utils import accept_key

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Problem, validation_error

VERSION: Final = "13"
MAX_MESSAGE_BYTES: Final = 64 * 1024  # that a client may send; its messages are not read
MAX_SOCKETS: Final = 100  # of one key at a time, in one process
CLOSING_SECONDS: Final = 2.0  # for the client to say goodbye
RETRY_SECONDS: Final = 5

Talk = Callable[["WebSocket"], Awaitable[None]]


def wants_websocket(exchange: Exchange) -> bool:
    return exchange.handover.may_upgrade


class WebSocket:
    """Our side of an open WebSocket."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._framing = Framing(SERVER, state=State.OPEN, max_size=MAX_MESSAGE_BYTES)
        self._receive = receive
        self._send = send
        self._turn = asyncio.Lock()

    async def tell(self, text: bytes) -> None:
        """Send a text message; nothing if the WebSocket is being closed."""
        if self._framing.state is State.OPEN:
            self._framing.send_text(text)
            await self._flush()

    async def close(self, code: CloseCode, reason: str = "") -> None:
        if self._framing.state is State.OPEN:
            self._framing.send_close(code, reason)
            await self._flush()

    async def listen(self) -> None:
        """Answer pings and ignore messages, until the client has gone or said goodbye."""
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                return
            self._framing.receive_data(message["body"])
            self._framing.events_received()
            await self._flush()
            if self._framing.close_rcvd is not None or self._framing.eof_sent:
                return

    async def _flush(self) -> None:
        async with self._turn:
            frames = b"".join(self._framing.data_to_send())
            if frames:
                await self._send({"type": "http.response.body", "body": frames, "more_body": True})


class WebSocketResponse(Response):
    """Accepts the upgrade, and talks until one side has had enough."""

    def __init__(self, exchange: Exchange, talk: Talk, at_end: Callable[[], None]) -> None:
        """Raises `Problem` for a handshake that is not one. `at_end` is always called."""
        super().__init__(status_code=HTTPStatus.SWITCHING_PROTOCOLS)
        self.raw_headers = _accepting(exchange)
        self._talk = talk
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            await self._converse(WebSocket(receive, send))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._at_end()

    async def _converse(self, socket: WebSocket) -> None:
        talking = asyncio.ensure_future(self._talk(socket))
        listening = asyncio.ensure_future(socket.listen())
        try:
            await asyncio.wait((talking, listening), return_when=asyncio.FIRST_COMPLETED)
            if talking.done():
                talking.result()
                await socket.close(CloseCode.NORMAL_CLOSURE)
                await asyncio.wait((listening,), timeout=CLOSING_SECONDS)
        finally:
            talking.cancel()
            listening.cancel()
            await asyncio.gather(talking, listening, return_exceptions=True)


class OpenSockets:
    """The WebSockets that are open in this process, counted by the caller's key."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def start(self, exchange: Exchange, talk: Talk) -> WebSocketResponse:
        caller = exchange.caller.key_id or exchange.client
        if self._open[caller] >= MAX_SOCKETS:
            raise _too_many_sockets()
        response = WebSocketResponse(exchange, talk, lambda: self._end(caller))
        self._open[caller] += 1
        return response

    def _end(self, caller: str) -> None:
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]


def offered_protocols(exchange: Exchange) -> list[str]:
    """What `Sec-WebSocket-Protocol` offers."""
    header = exchange.header(b"sec-websocket-protocol") or ""
    return [name for part in header.split(",") if (name := part.strip())]


def _accepting(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    key = exchange.header(b"sec-websocket-key") or ""
    with contextlib.suppress(binascii.Error, ValueError):
        if (
            exchange.header(b"sec-websocket-version") == VERSION
            and len(base64.b64decode(key, validate=True)) == 16
        ):
            chosen = [(b"sec-websocket-protocol", name.encode()) for name in offered_protocols(exchange)[:1]]
            return [
                (b"upgrade", b"websocket"),
                (b"connection", b"Upgrade"),
                (b"sec-websocket-accept", accept_key(key).encode()),
                *chosen,
            ]
    raise validation_error(
        "The request is not a WebSocket handshake.", hint=f"Send Sec-WebSocket-Version: {VERSION} and a key."
    )


def _too_many_sockets() -> Problem:
    return Problem(
        problems.RATE_LIMITED,
        f"{MAX_SOCKETS} WebSockets are open with this key, which is the maximum.",
        hint="Close those that you no longer read, or ask for the status instead.",
        headers={"Retry-After": str(RETRY_SECONDS)},
        retryAfter=RETRY_SECONDS,
        details={"reason": "too_many_sockets"},
        limit=MAX_SOCKETS,
        used=MAX_SOCKETS,
    )
