"""Serves MCP over standard input and output, with the SDK, until the input ends."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import msgspec
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from gossamer.client.transport import Call, Reply, StreamedReply, Transport
from gossamer.doors.mcp.server import open_server
from gossamer.doors.mcp.stdio.greeting import StandardStreams

OpenTransport = Callable[[], Awaitable[Transport]]
_CHUNK: Final = 65_536
_WAITING_LINES: Final = 100
LAST_ANSWERS_SECONDS: Final = 30.0  # after the input has ended


class LateTransport:
    """A transport that is opened while the client reads the list of tools."""

    def __init__(self, opened: OpenTransport) -> None:
        self._opening = asyncio.ensure_future(opened())

    async def send(self, call: Call) -> Reply:
        return await (await self._opened()).send(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        async with (await self._opened()).stream(call) as streamed:
            yield streamed

    async def close(self) -> None:
        with suppress(Exception):  # whoever called has been told
            await (await self._opening).close()

    async def _opened(self) -> Transport:
        return await asyncio.shield(self._opening)


class OpenRequests:
    """The requests that are not answered yet. A client that has said everything still gets its answers."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._changed = asyncio.Event()

    def note(self, line: str) -> None:
        """Note a message of either side."""
        try:
            message = msgspec.json.decode(line, type=_JsonRpcMessage)
        except msgspec.DecodeError:
            return  # the SDK says so
        if message.id is None:
            return
        if message.method is not None:
            self._ids.add(message.id)
        else:
            self._ids.discard(message.id)
            self._changed.set()

    async def answered(self) -> None:
        while self._ids:
            self._changed.clear()
            await self._changed.wait()


class _JsonRpcMessage(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None


class InputLines:
    """Lines of the input. They are read by a thread, which nobody needs to wait for at the end."""

    def __init__(self, wire: StandardStreams, requests: OpenRequests) -> None:
        self._wire = wire
        self._requests = requests
        self._is_ended = False
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._places = threading.Semaphore(_WAITING_LINES)  # so that a flood waits outside
        threading.Thread(target=self._read, daemon=True, name="mcp-input").start()

    def end(self) -> None:
        """At once, whatever is not answered."""
        self._is_ended = True
        self._lines.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._places.release()
            self._requests.note(line)
            yield line
        if not self._is_ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_ANSWERS_SECONDS):
                    await self._requests.answered()

    def _read(self) -> None:
        rest = self._wire.received
        while True:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                self._places.acquire()
                self._tell(line.decode("utf-8", "replace"))
            piece = os.read(self._wire.incoming, _CHUNK)
            if not piece:
                break
            rest += piece
        if rest:
            self._tell(rest.decode("utf-8", "replace"))
        self._tell(None)

    def _tell(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class AnswerOutput:
    """Where the SDK writes. Its answer to the request that was answered already is dropped."""

    def __init__(self, wire: StandardStreams, requests: OpenRequests) -> None:
        self._wire = wire
        self._requests = requests
        self._drops = wire.has_greeted

    async def write(self, text: str) -> None:
        if self._drops:
            self._drops = False
        else:
            await asyncio.to_thread(self._wire.write, text.encode())
        self._requests.note(text)

    async def flush(self) -> None:
        """Nothing is kept back."""


async def serve(wire: StandardStreams, opened: OpenTransport) -> None:
    @asynccontextmanager
    async def lifespan(_server: Server[Transport]) -> AsyncIterator[Transport]:
        transport = LateTransport(opened)
        try:
            yield transport
        finally:
            await transport.close()

    server = open_server(lifespan)
    requests = OpenRequests()
    lines = InputLines(wire, requests)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, lines.end)
    streams = stdio_server(cast("Any", lines), cast("Any", AnswerOutput(wire, requests)))
    with suppress(BrokenPipeError):  # the client has gone
        async with streams as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
