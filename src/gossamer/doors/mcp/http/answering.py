"""Answering: one MCP request, from the message to the answer, as the SDK serves it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
import msgspec
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data, progress_token_from_params
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from starlette.responses import Response

from gossamer.client.transport import Transport
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.streaming import EVENTS, Streaming
from gossamer.doors.mcp.http.messages import (
    JSON,
    InboundMessage,
    RejectedMessage,
    as_event,
    error_answer,
    read_message,
    rejection_response,
    result_answer,
)
from gossamer.doors.mcp.http.plain_call import on_wire, plain_call
from gossamer.doors.mcp.payment import resource_of
from gossamer.doors.mcp.server import open_server
from gossamer.doors.mcp.tools.calling import call_tool

SILENCE_SECONDS: Final = 15.0  # after which a comment keeps the stream open
_BEAT: Final = b": still here\r\n\r\n"
_STREAM_HEADERS: Final = {
    "Content-Type": EVENTS,
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)


class MessageServer:
    """Answers messages, each in the rules of its revision."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._server: Server[Transport] = open_server()

    async def answer(self, exchange: Exchange, body: bytes) -> Response:
        try:
            message = read_message(exchange, body)
        except RejectedMessage as rejected:
            return rejection_response(rejected)
        if not message.is_request:
            return Response(status_code=202)
        answering = Answering(message, takes_events=EVENTS in (exchange.header(b"accept") or ""))
        answering.start(self._serve(exchange, message, answering))
        return await answering.respond(exchange)

    async def _serve(
        self, exchange: Exchange, message: InboundMessage, channel: "Answering"
    ) -> dict[str, Any]:
        asked = plain_call(message)
        if asked is not None:
            bought = resource_of(asked.tool.name)
            transport = self._relay.acting_for(exchange, resource=bought).transport
            result = await call_tool(transport, channel.progress, asked.tool, asked.arguments, asked.meta)
            return on_wire(result, message.revision)
        transport = self._relay.acting_for(exchange).transport
        runner = ServerRunner(self._server, message.connection(), transport)
        return await runner.on_request(channel, message.method, message.params)


@dataclass
class Answering:
    """One request that is being answered; for the SDK, the channel back to whoever sent it.

    An answer is JSON. Once there is progress to report, or nothing to report for a while, it is a stream of
    events with the answer as the last one.
    """

    message: InboundMessage
    takes_events: bool
    transport: TransportContext = _TRANSPORT
    message_metadata: MessageMetadata = None
    can_send_request: bool = False

    def __post_init__(self) -> None:
        self.request_id = self.message.id
        self.progress_token = progress_token_from_params(self.message.params)
        self._events: deque[bytes] = deque()
        self._stirring = asyncio.get_running_loop().create_future()

    @property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()  # a request is cancelled by leaving, which cancels its task

    def start(self, work: Any) -> None:
        self._working: asyncio.Task[dict[str, Any]] = asyncio.create_task(work)
        self._working.add_done_callback(lambda _: self._stir())

    async def respond(self, exchange: Exchange) -> Response:
        try:
            await exchange.unless_gone(self._stirred(SILENCE_SECONDS if self.takes_events else None))
        except BaseException:
            await self._give_up()
            raise
        if not self._working.done():
            return Streaming(self._stream(), headers=_STREAM_HEADERS)
        status, body = self._outcome()
        return Response(body, status, media_type=JSON)

    async def _stream(self) -> AsyncIterator[bytes]:
        try:
            while not self._working.done() or self._events:
                if not self._events:
                    await self._stirred(SILENCE_SECONDS)
                yield self._events.popleft() if self._events else _BEAT
            yield as_event(self._outcome()[1])
        finally:
            await self._give_up()

    async def _stirred(self, seconds: float | None) -> None:
        """Return when there is an event, or the answer, or after a silence."""
        loop = asyncio.get_running_loop()
        silence = loop.call_later(seconds, self._stir) if seconds is not None else None
        try:
            await self._stirring
        finally:
            if silence is not None:
                silence.cancel()
            self._stirring = loop.create_future()

    def _stir(self) -> None:
        if not self._stirring.done():
            self._stirring.set_result(None)

    def _outcome(self) -> tuple[int, bytes]:
        try:
            return 200, result_answer(self.message.id, self._working.result())
        except Exception as error:
            known = handler_exception_to_error_data(error)
            if known is None:
                raise
            status = ERROR_CODE_HTTP_STATUS.get(known.code, 200) if self.message.is_modern else 200
            return status, error_answer(self.message.id, known)

    async def _give_up(self) -> None:
        if not self._working.done():
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    # What the SDK asks of a channel.

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self.takes_events:
            sent = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
            self._events.append(as_event(msgspec.json.encode(sent)))
            self._stir()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self.progress_token is None:
            return
        known = {"total": total, "message": message}
        told = {name: value for name, value in known.items() if value is not None}
        await self.notify(
            "notifications/progress", {"progressToken": self.progress_token, "progress": progress, **told}
        )
