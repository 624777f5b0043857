"""A connection that tries the fast path first: it passes plain requests to it, and writes its answers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from gossamer.doors.http.core.exchange import Handover
from gossamer.doors.http.server.cycle import request_scope
from gossamer.doors.http.server.dating import date_line
from gossamer.doors.http.server.fast_path import Fallback, FastAnswer, HitFastPath
from gossamer.doors.http.server.protocol import Protocol
from gossamer.doors.http.server.request_shape import (
    MAX_REQUEST_BYTES,
    RequestShape,
    awaits_body,
    read_bare,
    read_plain,
)

REST_SECONDS: Final = 0.02  # to wait for the body of a plain head: most clients send it apart, right after it


class FastPathProtocol(Protocol):
    """A plain request may take the fast path, if nothing else is under way."""

    def __init__(self, *arguments: Any, fast_path: HitFastPath, writes: "WriteBatcher", **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._fast_path = fast_path
        self._writes = writes
        self._between = True  # two requests: the last one has been received completely
        self._begun = 0  # requests that began in the bytes being read
        self._on_fast_path = False  # there is a request on it
        self._held: list[bytes] = []  # bytes that arrived meanwhile
        self._head = b""  # of a plain request whose body is awaited
        self._body_timer: asyncio.TimerHandle | None = None
        self._shut_down_later = False  # when that request has been answered

    def data_received(self, data: bytes) -> None:
        if self._on_fast_path:
            self._held.append(data)
            self.flow.pause_reading()
            return
        if self._head:
            data = self._take_head() + data
        if not self._is_alone(data):
            self._take_ordinary_path(data)
        elif data.startswith(b"GET ") and not self._fast_path.has_door(data):
            self._begin_bare_or_parse(data)
        elif (request := read_plain(data)) is None:
            self._take_ordinary_path(data)
        elif awaits_body(request):
            self._head = data
            self._body_timer = self.loop.call_later(REST_SECONDS, self._stop_waiting)
        elif (found := self._fast_path.find(request)) is None:
            self._take_ordinary_path(data, may_repeat=True)
        else:
            self._on_fast_path = True
            self._unwatch()  # the first request of the connection has come
            shape, prepared = found
            done = partial(self._end_fast_path, data, shape)
            self._fast_path.answer(prepared, self.client[0] if self.client else "", request, done)

    def _is_alone(self, data: bytes) -> bool:
        """Whether these bytes may be a whole request, and no other one is under way."""
        if len(data) > MAX_REQUEST_BYTES or not self._between or not self._idle() or self._unparsed:
            return False
        return not (self.flow.write_paused or self._refused or self._stopping.has_begun or not self.client)

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None
        return head

    def _stop_waiting(self) -> None:
        """The body does not come at once: the parser waits for it, within its own deadlines."""
        head = self._take_head()
        if head and not self.transport.is_closing():
            self._take_ordinary_path(head)

    def _begin_bare_or_parse(self, data: bytes) -> None:
        """Most GETs need no parser, which calls back for each part of a head. One that is refused does."""
        request = read_bare(data)
        if request is None:
            self._take_ordinary_path(data, may_repeat=True)
            return
        self._unwatch()
        path, query, self.headers = request
        self.expect_100_continue = False
        handover = Handover(on_answer=partial(self._fast_path.prepare, data))
        scope = request_scope(self.common, "1.1", "GET", path, query, self.headers)
        self.begin(scope, handover, self.transport, keep_alive=True)
        self.cycle.more_body = False

    def _take_ordinary_path(self, data: bytes, *, may_repeat: bool = False) -> None:
        """Parse, and run the layers. A request that was plain and alone may take the fast path next time."""
        self._begun = 0
        super().data_received(data)
        if may_repeat and self._begun == 1 and self._between and self.handover is not None:
            self.handover.on_answer = partial(self._fast_path.prepare, data)

    def _end_fast_path(self, data: bytes, shape: RequestShape, answer: FastAnswer | Fallback) -> None:
        if isinstance(answer, FastAnswer):
            self._writes.add(self, answer)
            return
        self._on_fast_path = False
        self._fast_path.discard(shape)
        if not self.transport.is_closing():
            self._take_ordinary_path(data, may_repeat=True)
            if self.handover is not None:
                self.handover.limit_statuses = answer.statuses
            self._read_held()

    def write(self, answer: FastAnswer, fields: bytes) -> None:
        """Send the answer, which lacks the `fields` that all answers have."""
        self._on_fast_path = False
        if not self.transport.is_closing():
            self.transport.writelines((b"%b%b\r\n" % (answer.head, fields), answer.body))
            self.server_state.total_requests += 1
            if answer.closes:
                self.transport.close()
                return
            self.flow.resume_reading()
            self._rest()
            self._read_held()

    def _is_resting(self) -> bool:
        return not self._on_fast_path and super()._is_resting()

    def _read_held(self) -> None:
        if self._shut_down_later:
            self.shutdown()
        held, self._held = b"".join(self._held), []
        if held:
            self.data_received(held)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._between = False
        self._begun += 1

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._between = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._take_head()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self._head:
            self._stop_waiting()
        if self._on_fast_path:
            self._shut_down_later = True
        else:
            super().shutdown()


class WriteBatcher:
    """Writes the answers that are ready in one turn of the event loop together, at its end.

    Written one by one, each would wake its client on another core, which takes longer than making the answer
    did. Together, half as many again leave in a second.
    """

    def __init__(self) -> None:
        self._ready: list[tuple[FastPathProtocol, FastAnswer]] = []

    def add(self, connection: FastPathProtocol, answer: FastAnswer) -> None:
        if not self._ready:
            connection.loop.call_soon(self._write)
        self._ready.append((connection, answer))

    def _write(self) -> None:
        ready, self._ready = self._ready, []
        fields = b"%b\r\n" % date_line()
        for connection, answer in ready:
            connection.write(answer, fields)


def fast_path_protocol(fast_path: HitFastPath) -> Callable[..., FastPathProtocol]:
    """The factory that a server makes its connections with."""
    return partial(FastPathProtocol, fast_path=fast_path, writes=WriteBatcher())
