"""InProcess: calls to the API within the process, through the same layers as every request."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Receive, Scope

from gossamer.client.transport import Call, Reply, StreamedReply
from gossamer.doors.http.core.exchange import Exchange, Handover
from gossamer.flows.tenants.admit import Caller
from gossamer.state.tenants.limits import LimitStatus

_WAITING_PIECES: Final = 4  # of a body, before the application has to wait


class InProcess(Struct, frozen=True):
    """A transport to the application in this process.

    `caller` acts without a key, as the owner of the machine does. `outer` is the request on whose behalf the
    calls are made: they have its client and its id. `resource` names what its sender buys by them.
    """

    app: ASGIApp
    caller: Caller | None = None
    outer: Exchange | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  # of every call
    resource: str = ""

    async def send(self, call: Call) -> Reply:
        """Without a task of its own, so whoever is cancelled here cancels the work."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        scope = self._scope(call)
        await self.app(scope, _receiving(call), keep)
        exchange = scope.pop(Exchange.KEY, None)
        if not messages:
            raise RuntimeError(f"{call.method} {call.path} got no answer")
        body = b"".join(message.get("body", b"") for message in messages[1:])
        if self.outer is not None:
            self.outer.relayed = exchange
        return Reply(messages[0]["status"], _joined(messages[0]["headers"]), body)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        """Leaving the block early cancels the work for the answer."""
        messages: asyncio.Queue[Message | None] = asyncio.Queue(_WAITING_PIECES)

        async def run() -> None:
            scope = self._scope(call)
            try:
                await self.app(scope, _receiving(call), messages.put)
            finally:
                scope.pop(Exchange.KEY, None)
                await messages.put(None)

        working = asyncio.create_task(run())
        try:
            start = await messages.get()
            if start is None:
                await working
                raise RuntimeError(f"{call.method} {call.path} got no answer")
            headers = _joined(start["headers"])
            async with aclosing(_body(messages, working)) as body:
                yield StreamedReply(start["status"], headers, body)
        finally:
            working.cancel()
            while not working.done():
                while not messages.empty():  # so that it can put what it still has
                    messages.get_nowait()
                await asyncio.wait([working], timeout=0.01)
            await asyncio.gather(working, return_exceptions=True)

    async def close(self) -> None:
        """The application is closed by its owner."""

    def _handover(self) -> Handover:
        """What the fast path has counted for the outer request is counted for the first call."""
        counted: Sequence[LimitStatus] = ()
        if self.outer is not None:
            self.outer.relays += 1
            counted, self.outer.handover.limit_statuses = self.outer.handover.limit_statuses, ()
        return Handover(caller=self.caller, outer=self.outer, resource=self.resource, limit_statuses=counted)

    def _scope(self, call: Call) -> Scope:
        raw_path, _, query = call.path.partition("?")
        headers = {"host": "localhost", **_lowered(self.headers), **_lowered(call.headers)}
        if call.body:
            headers.setdefault("content-type", "application/json")
        outer = self.outer.scope if self.outer is not None else {}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": call.method,
            "scheme": outer.get("scheme", "http"),
            "path": unquote(raw_path),
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
            "client": outer.get("client", ("127.0.0.1", 0)),
            "server": outer.get("server", ("127.0.0.1", 0)),
            Handover.KEY: self._handover(),
        }


def _receiving(call: Call) -> Receive:
    pieces, is_sent = call.pieces(), False

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            await asyncio.Event().wait()  # the client stays until it cancels
        piece = await anext(pieces, None)
        is_sent = piece is None or call.file is None
        return {"type": "http.request", "body": piece or b"", "more_body": not is_sent}

    return receive


async def _body(
    messages: "asyncio.Queue[Message | None]", working: "asyncio.Task[None]"
) -> AsyncGenerator[bytes]:
    while (message := await messages.get()) is not None:
        if message.get("body"):
            yield message["body"]
    await working  # raises what went wrong


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
