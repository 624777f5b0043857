"""A connection that tries the fast path first: it passes whole requests to it, and writes its answers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.server import ServerState

from gossamer.doors.http.server.fast_path import (
    MAX_REQUEST_BYTES,
    Fallback,
    FastAnswer,
    HitFastPath,
    RawRequest,
)
from gossamer.doors.http.server.protocol import Protocol


class FastPathProtocol(Protocol):
    """A request that came in one piece may take the fast path, if nothing else is under way."""

    def __init__(self, *arguments: Any, fast_path: HitFastPath, writes: "WriteBatcher", **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._fast_path = fast_path
        self._writes = writes
        self._between = True  # two requests: the last one has been received completely
        self._begun = 0  # requests that began in the bytes being read
        self._on_fast_path = False  # there is a request on it
        self._held: list[bytes] = []  # bytes that arrived meanwhile
        self._shut_down_later = False  # when that request has been answered
        self._idle_since = 0.0  # when the last answer of the fast path was written

    def data_received(self, data: bytes) -> None:
        if self._on_fast_path:
            self._held.append(data)
            self.flow.pause_reading()
            return
        request = self._whole_request(data)
        prepared = self._fast_path.find(request) if request is not None else None
        if request is None or prepared is None:
            self._take_ordinary_path(data, request)
        else:
            self._on_fast_path = True
            self._fast_path.answer(prepared, partial(self._end_fast_path, request))

    def _whole_request(self, data: bytes) -> RawRequest | None:
        """Bytes that may be a whole request, and the only one under way."""
        alone = self._between and self._idle() and not self._unparsed and not self.flow.write_paused
        alone = alone and not self._refused and not self._stopping.has_begun
        if not alone or len(data) > MAX_REQUEST_BYTES or not self.client:
            return None
        return RawRequest(self.client[0], data)

    def _take_ordinary_path(self, data: bytes, request: RawRequest | None) -> None:
        """Parse, and run the layers. A request that was whole and alone may take the fast path next time."""
        self._begun = 0
        super().data_received(data)
        if request is not None and self._begun == 1 and self._between and self.handover is not None:
            self.handover.on_answer = partial(self._fast_path.prepare, request)

    def _end_fast_path(self, request: RawRequest, answer: FastAnswer | Fallback) -> None:
        if isinstance(answer, FastAnswer):
            self._writes.add(self, answer)
            return
        self._on_fast_path = False
        self._fast_path.discard(request)
        if not self.transport.is_closing():
            self._take_ordinary_path(request.data, request)
            if self.handover is not None:
                self.handover.limit_statuses = answer.statuses
            self._read_held()

    def write(self, answer: FastAnswer, fields: bytes) -> None:
        """Send the answer, which lacks the `fields` that all answers have."""
        self._on_fast_path = False
        if not self.transport.is_closing():
            self.transport.writelines((b"%b%b\r\n" % (answer.head, fields), answer.body))
            self._become_idle()
            self._read_held()

    def _become_idle(self) -> None:
        """Do what uvicorn does after an answer, without a new timer each time: the timer goes off, and is set
        again if there was an answer since."""
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_idle_timer(self.timeout_keep_alive)

    def _set_idle_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self._on_fast_path or left > 0:
            self._set_idle_timer(self.timeout_keep_alive if self._on_fast_path else left)
        else:
            super().timeout_keep_alive_handler()

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

    def shutdown(self) -> None:
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
            connection.loop.call_soon(self._write, connection.server_state)
        self._ready.append((connection, answer))

    def _write(self, server: ServerState) -> None:
        ready, self._ready = self._ready, []
        fields = b"".join([b"%b: %b\r\n" % field for field in server.default_headers])
        for connection, answer in ready:
            connection.write(answer, fields)


def fast_path_protocol(fast_path: HitFastPath) -> Callable[..., FastPathProtocol]:
    """The factory that a server makes its connections with."""
    return partial(FastPathProtocol, fast_path=fast_path, writes=WriteBatcher())
