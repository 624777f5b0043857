"""The server: uvicorn, with the limits that it leaves open, and refusals that are problems like any other."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from gossamer import problems
from gossamer.problems import Problem

MOST_HEADERS: Final = 100
LARGEST_HEADERS: Final = 64 * 1024
LONGEST_TARGET: Final = 8 * 1024
REQUEST_HEAD_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 2.0
MOST_PASSED_OVER: Final = 16_000_000
KEEP_ALIVE_SECONDS: Final = 15
GRACEFUL_SECONDS: Final = 10


class Protocol(HttpToolsProtocol):
    """Bounds the request line and headers in size and time, and hands what it refuses to the application.

    A refusal runs through the same layers as a request (`scope["refused"]`), so that it has an id, a log
    line, its count against the limits, and leaves as a problem document.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._refused = False
        self._passed_over = 0
        self._in_head = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._passed_over += len(data)
            if self._passed_over > MOST_PASSED_OVER:
                self.transport.close()
            return
        super().data_received(data)
        if self._in_head:
            self._wait_for_rest_of_head(len(data))

    def _wait_for_rest_of_head(self, received: int) -> None:
        """The parser reports whole fields only: a head that never ends is bounded in bytes and in time."""
        if self._head_timer is None:
            self._watch_head()
        self._head_bytes += received
        if self._head_bytes > LARGEST_HEADERS + LONGEST_TARGET:
            self._refuse(_head_too_large("The request's headers are larger than 64 KiB."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > LONGEST_TARGET:
            self._refuse(_head_too_large("The request's URL is longer than 8 KiB."))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MOST_HEADERS:
            self._refuse(_head_too_large(f"The request has more than {MOST_HEADERS} header fields."))
        elif len(name) + len(value) > LARGEST_HEADERS:
            self._refuse(_head_too_large("The request's headers are larger than 64 KiB."))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unwatch_head()
        if self._refused:
            return
        if sum(len(name) + len(value) + 4 for name, value in self.headers) > LARGEST_HEADERS:
            self._refuse(_head_too_large("The request's headers are larger than 64 KiB."))
            return
        super().on_headers_complete()
        self.cycle.send = OneWrite(self.cycle)  # type: ignore[method-assign, assignment]

    def on_body(self, body: bytes) -> None:
        if self._refused:
            return
        super().on_body(body)
        if self.cycle.response_complete:  # refused for its size: the rest is read past, up to a point
            self._passed_over += len(body)
            if self._passed_over > MOST_PASSED_OVER:
                self.transport.close()

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(problems.validation_error("The request is not valid HTTP.", hint="Use an HTTP client."))

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade that is not offered is ignored, as RFC 9110 allows; the request is answered plainly."""

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch_head(self) -> None:
        self._head_timer = self.loop.call_later(REQUEST_HEAD_SECONDS, self._head_is_late)

    def _unwatch_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._in_head:  # connected and said nothing
            self.transport.close()
            return
        self._refuse(
            Problem(
                problems.REQUEST_TIMEOUT,
                f"The request's headers did not arrive within {REQUEST_HEAD_SECONDS:g} seconds.",
            )
        )

    def _linger(self) -> None:
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _refuse(self, problem: Problem) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._unwatch_head()
        if not self._idle():  # an answer is on its way: it must not be mixed with another
            self.transport.close()
            return
        problem.headers["Connection"] = "close"
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": "GET",
            "root_path": self.root_path,
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [],
            "state": {},
            "refused": problem,
        }
        self.cycle = RequestResponseCycle(
            scope=scope,  # type: ignore[arg-type]
            transport=_Lingering(self.transport, self._linger),  # type: ignore[arg-type]
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )
        self.cycle.more_body = False
        self._start_asgi_task(self.cycle, self.app)


class OneWrite:
    """Sends an answer whose length is known in one write, where uvicorn takes two and looks at each header.

    What is sent otherwise (streams, HEAD, answers without a body) goes uvicorn's own way.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._send = cycle.send
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        head, self._head = self._head, None
        if head is None:
            if message["type"] == "http.response.start" and _has_length(message):
                self._head = message
                return
        elif message.get("more_body") or not message.get("body") or self._cycle.scope["method"] == "HEAD":
            await self._send(head)  # type: ignore[arg-type]
        else:
            await self._write(head, message["body"])
            return
        await self._send(message)  # type: ignore[arg-type]

    async def _write(self, head: Message, body: bytes) -> None:
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        headers = [*cycle.default_headers, *head["headers"]]
        if not cycle.keep_alive:
            headers.append((b"connection", b"close"))
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        if lines.count(b"\n") != len(headers) or b"\0" in lines:
            raise RuntimeError("a header of the answer contains a line break")
        cycle.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[head["status"]], lines, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        elif (sell := cast("Scope", cycle.scope).get("sell")) is not None:
            sell(cast("Scope", cycle.scope)["exchange"], head["headers"], body)
        cycle.on_response()


def _has_length(message: Message) -> bool:
    return any(name == b"content-length" for name, _ in message["headers"])


class _Lingering:
    """A transport whose closing waits until the client has stopped sending.

    Closed at once, the connection would be reset by what is still arriving, and the answer lost with it.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close


def _head_too_large(detail: str) -> Problem:
    return Problem(problems.HEADERS_TOO_LARGE, detail)


class Server(uvicorn.Server):
    """A signal that was heard is not raised again: the process closes what it opened, and ends with 0."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def server(app: ASGIApp, protocol: Callable[..., Protocol] = Protocol) -> Server:
    """A server for sockets that are listening already."""
    config = uvicorn.Config(
        app,
        http=protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    return Server(config)
