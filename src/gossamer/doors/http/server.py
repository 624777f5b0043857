"""The server: uvicorn, with the limits that it leaves open, and refusals that are problems like all others."""

import asyncio
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gossamer import problems
from gossamer.problems import Problem

MOST_HEADERS: Final = 100
LARGEST_HEADERS: Final = 64 * 1024
LONGEST_TARGET: Final = 8 * 1024
REQUEST_HEAD_SECONDS: Final = 10.0
KEEP_ALIVE_SECONDS: Final = 15
GRACEFUL_SECONDS: Final = 10


class Protocol(HttpToolsProtocol):
    """Bounds the request line and headers in size and time, and hands what it refuses to the application.

    A refusal runs through the same layers as a request (`scope["refused"]`), so that it has an id, a log line,
    its count against the limits, and leaves as a problem document.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._refused = False
        self._in_head = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._in_head:
            self._wait_for_rest_of_head(len(data))

    def _wait_for_rest_of_head(self, received: int) -> None:
        """The parser reports whole fields only: a head that never ends is bounded by its bytes and its time."""
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

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

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
            transport=self.transport,
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


def _head_too_large(detail: str) -> Problem:
    return Problem(problems.HEADERS_TOO_LARGE, detail)


def server(app: ASGIApp) -> uvicorn.Server:
    """A server for sockets that are listening already."""
    config = uvicorn.Config(
        app,
        http=Protocol,
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
    return uvicorn.Server(config)
