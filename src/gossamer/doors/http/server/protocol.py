"""Protocol: uvicorn's connection, with bounds that it lacks and refusals that are problems."""

import asyncio
import contextlib
from typing import Any, Final, cast

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.doors.http.core.exchange import Handover
from gossamer.doors.http.server import framing
from gossamer.doors.http.server.cycle import Cycle, connection_scope, request_scope
from gossamer.doors.http.server.flow import Flow, LingeringTransport
from gossamer.doors.http.server.upgrading import Upgrade, is_websocket
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.problems import Problem

HEAD_SECONDS: Final = 10.0
BODY_SECONDS: Final = 10.0
MIN_BODY_BYTES: Final = 10_000  # bytes that have to arrive in BODY_SECONDS
LINGER_SECONDS: Final = 2.0
MAX_SKIPPED_BYTES: Final = 16_000_000
SLICE: Final = (
    4_096  # bytes that are parsed in one turn of the event loop; they may be hundreds of tiny chunks
)


class Protocol(HttpToolsProtocol):
    """Bounds a request in size and time, and the work that its bytes make at a time.

    A refused head becomes a request all the same (`Handover.refusal`). It runs through the same layers, so
    that it has an id and a log line, counts against the limits, and is answered with a problem document. An
    error in a body is raised where the body is read. Trailers are dropped: a client must not be able to add
    to what a proxy has written into the head.
    """

    def __init__(self, *arguments: Any, stopping: Stopping | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.parser = self._new_parser()
        self._stopping = stopping or Stopping()
        self._unparsed: memoryview | bytes = b""
        self._turn: asyncio.Handle | None = None  # the next one in which bytes are parsed
        self.handover: Handover | None = None  # of the last request
        self._refused = False
        self._skipped = 0
        self._in_head = False
        self._in_body = False
        self._is_priming = False
        self._head_bytes = 0
        self._overhead = 0  # bytes of the body's framing
        self._content = 0  # bytes of the body
        self._content_before = 0  # when its deadline was last set
        self._timer: asyncio.TimerHandle | None = None
        self._rests_since = 0.0
        self._upgrade: Upgrade | None = None  # undecided, or accepted
        self.common: Scope = {}  # what the scopes of all requests of the connection have in common

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport, self._resume_reading)
        self.common = connection_scope(self.server, self.client, self.scheme)
        self._watch(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._unparsed = b""
        if self._upgrade is not None:
            self._upgrade.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._skip(len(data))
        elif self._unparsed:
            self._unparsed = bytes(self._unparsed) + data
        else:
            self._parse(data)

    def _parse(self, data: bytes | memoryview) -> None:
        """Parse a slice now, and the rest in the next turns of the event loop, or when there is room."""
        if len(data) > SLICE:
            whole = memoryview(data)
            data, self._unparsed = whole[:SLICE], whole[SLICE:]
            self.transport.pause_reading()
        self._parse_slice(data)
        if self._unparsed and not self.flow.read_paused:
            self._parse_later()

    def _parse_later(self) -> None:
        if self._turn is None:
            self._turn = self.loop.call_soon(self._parse_next)

    def _parse_next(self) -> None:
        self._turn = None
        if self.transport.is_closing() or self.flow.read_paused or self._refused:
            return
        unparsed, self._unparsed = self._unparsed, b""
        self._parse(unparsed)
        if not self._unparsed and not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _resume_reading(self) -> None:
        if self._unparsed:
            self._parse_later()
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    def _parse_slice(self, data: bytes | memoryview) -> None:
        if self._upgrade is not None:
            self._upgrade.feed(data)
            return
        if self._in_body:
            self._overhead += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._hold_or_ignore(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(framing.malformed("The request is not valid HTTP."))
        self._wait_for_rest(len(data))

    def _wait_for_rest(self, received: int) -> None:
        """Bound a head that never ends, in bytes and in time: the parser reports whole fields only."""
        if self._refused:
            return
        if self._in_head:
            self._head_bytes += received
            if self._head_bytes > framing.MAX_FIELDS_BYTES + framing.MAX_TARGET_BYTES:
                self._refuse(framing.fields_too_large())
            elif self._timer is None:
                self._watch(HEAD_SECONDS)
        elif self._in_body:
            if framing.is_overhead_too_large(self._overhead, self._content):
                self._refuse(framing.malformed("The body has too many small chunks, or too large trailers."))
            elif self._timer is None:
                self._content_before = self._content
                self._watch(BODY_SECONDS)
        elif self._idle() and self._timer is None:
            self._rest()

    # Resting between two requests, for as long as a connection may be idle. There is no new timer for each
    # answer, as in uvicorn: the timer goes off, and is set again if there was an answer since.

    def on_response_complete(self) -> None:
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
        else:
            self.server_state.total_requests += 1
            if self.flow.read_paused:
                self.flow.resume_reading()
            self._rest()

    def _rest(self) -> None:
        self._rests_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_rest_timer(self.timeout_keep_alive)

    def _set_rest_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        left = self._rests_since + self.timeout_keep_alive - self.loop.time()
        if self._is_resting() and left <= 0:
            super().timeout_keep_alive_handler()
        elif self._is_resting():
            self._set_rest_timer(left)

    def _is_resting(self) -> bool:
        return self._idle() and not self._in_head and not self._in_body and self._upgrade is None

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._is_priming:
            return
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._in_head = True
        self._head_bytes = self._overhead = self._content = 0

    def on_url(self, url: bytes) -> None:
        if self._is_priming:
            return
        self.url += url
        if len(self.url) > framing.MAX_TARGET_BYTES:
            self._refuse(framing.target_too_long())

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:  # a trailer
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))
        if len(self.headers) > framing.MAX_FIELDS:
            self._refuse(framing.too_many_fields())
        elif len(name) + len(value) > framing.MAX_FIELDS_BYTES:
            self._refuse(framing.fields_too_large())

    def on_headers_complete(self) -> None:
        if self._is_priming or self._refused:
            return
        self._in_head = False
        self._unwatch()
        version, method = self.parser.get_http_version(), self.parser.get_method().decode()
        target = framing.origin_form(method, self.url)
        problem = framing.check_head(version, target, self.headers) or self._check_stopping()
        if problem is not None:
            self._refuse(problem)
            return
        self.expect_100_continue = self.expect_100_continue and version == "1.1"
        upgrades = (
            self._idle() and self.parser.should_upgrade() and is_websocket(version, method, self.headers)
        )
        parsed = httptools.parse_url(cast("bytes", target))
        self._in_body = True
        if upgrades:
            self._upgrade = Upgrade(self.transport, self._continue_http)
        self.begin(
            request_scope(self.common, version, method, parsed.path, parsed.query or b"", self.headers),
            Handover(may_upgrade=upgrades),
            self.transport,
            self._upgrade,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
        )

    def on_body(self, body: bytes) -> None:
        self._overhead -= len(body)
        self._content += len(body)
        if self._refused:
            return
        super().on_body(body)
        if self.cycle.response_complete:  # refused for its size: the rest is skipped, up to a bound
            self._skip(len(body))

    def on_message_complete(self) -> None:
        if self._refused or (self.parser.should_upgrade() and framing.body_framing(self.headers)):
            return
        self._in_body = False
        self._unwatch()
        super().on_message_complete()

    def begin(
        self,
        scope: Scope,
        handover: Handover,
        transport: asyncio.Transport,
        upgrade: Upgrade | None = None,
        *,
        keep_alive: bool,
    ) -> None:
        """Run the application for a request, in turn: after the requests that came before."""
        self.handover = scope[Handover.KEY] = handover
        before = self.cycle
        self.cycle = Cycle(
            scope,
            handover,
            transport,
            self.flow,
            self.logger,
            self.on_response_complete,
            upgrade,
            awaits_continue=self.expect_100_continue,
            keep_alive=keep_alive and not self._stopping.has_begun,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
            return
        self.pipeline.appendleft((self.cycle, self.app))
        if handover.refusal is None:  # what follows a refused head is read, and skipped
            self.flow.pause_reading()

    # Upgrades.

    def _hold_or_ignore(self, rest: bytes | memoryview) -> None:
        if self._upgrade is None:
            self._ignore_upgrade(rest)
        elif rest:
            self._upgrade.feed(rest)

    def _continue_http(self, held: bytes) -> None:
        """The upgrade was declined; what the client has sent since is the next request."""
        self._upgrade = None
        if self.transport.is_closing():
            return
        self._ignore_upgrade(b"")
        self._unparsed = held + bytes(self._unparsed)
        if self._unparsed:
            self._parse_later()

    def _ignore_upgrade(self, rest: bytes | memoryview) -> None:
        """Ignore an upgrade that is not offered, as RFC 9110 allows, and answer the request plainly.

        The parser takes everything after the head for another protocol, including the body. So a new parser
        continues, which gets only the length of the body.
        """
        if self._refused:
            return
        self.parser = self._new_parser()
        body = framing.body_framing(self.headers)
        if body is not None:
            self._is_priming = True
            self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % body)
            self._is_priming = False
        if rest:
            self._parse_slice(rest)

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)  # it is skipped
        return parser

    # Time.

    def _watch(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._is_late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_late(self) -> None:
        self._timer = None
        if self._in_head:
            self._refuse(framing.late("headers", HEAD_SECONDS))
        elif not self._in_body:  # connected and silent
            self.transport.close()
        elif self._is_arriving():
            self._content_before = self._content
            self._watch(BODY_SECONDS)
        else:
            self._refuse(framing.late("body", BODY_SECONDS))

    def _is_arriving(self) -> bool:
        """Whether the body arrives fast enough, or waits for us."""
        held_up = self.flow.read_paused or bool(self._unparsed)
        return held_up or self._content - self._content_before >= MIN_BODY_BYTES

    # Refusing.

    def _check_stopping(self) -> Problem | None:
        return self._stopping.problem() if self._stopping.is_cutting else None

    def _skip(self, received: int) -> None:
        self._skipped += received
        if self._skipped > MAX_SKIPPED_BYTES:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._unwatch()
        self._unparsed = b""
        if self._in_body:
            self._refuse_body(problem)
        else:
            self._answer(problem)
        self._resume_reading()  # to skip the rest

    def _refuse_body(self, problem: Problem) -> None:
        """Never mix the refusal with an answer that has begun, or is complete."""
        if self.cycle.response_started:
            self.transport.close()
            return
        self.cycle.keep_alive = False
        self.cycle.transport = self._lingering()
        cast("Cycle", self.cycle).refuse(problem)

    def _answer(self, problem: Problem) -> None:
        # Half a head may lack what a proxy would have added.
        fields = [] if self._in_head or self.headers is None else self.headers
        self.expect_100_continue = False
        scope = request_scope(self.common, "1.1", "GET", b"/", b"", fields)
        self.begin(scope, Handover(refusal=problem), self._lingering(), keep_alive=False)
        self.cycle.more_body = False

    def _lingering(self) -> asyncio.Transport:
        return cast("asyncio.Transport", LingeringTransport(self.transport, self._linger))

    def _linger(self) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            if self.transport.can_write_eof() and not self.transport.is_closing():
                self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete
