"""Follows the network traffic of a page by the browser's events.

It knows the pending requests that content may depend on, the redirects and the response of the main document,
and how far the document is loaded.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.reach.browser.cdp import CdpGone
from gossamer.reach.page.visit import PageTrouble
from gossamer.web.pages.page import Hop

MAX_REQUESTS: Final = 5_000  # including those that never leave the browser; the proxy counts the others
MAX_HOPS: Final = 20
MAX_DOCUMENTS: Final = 6  # in a row, each of which leads to the next
PATIENCE: Final = 5.0  # seconds; a slower response is taken for a long poll
STALLED: Final = 0.7  # seconds without a byte in a response; a body that no script reads never ends
POLLS: Final = 3  # requests for the same URL; further ones are taken for polling
BEGIN: Final = 0.5  # seconds that a navigation takes to begin
SOON: Final = 3.0  # seconds; a document that redirects later than this is taken for the page itself

_CONTENT: Final = frozenset({"Document", "Fetch", "Script", "Stylesheet", "XHR"})
_PICTURE: Final = _CONTENT | {"Font", "Image"}
_BRINGING: Final = _CONTENT | {"EventSource"}
_STREAMS: Final = ("text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson")


class _Event(msgspec.Struct, rename="camel"):
    request_id: str = ""
    loader_id: str = ""
    frame_id: str = ""
    type: str = ""


class _WantedEvent(msgspec.Struct):
    url: str = ""
    method: str = "GET"


class _Response(msgspec.Struct, rename="camel"):
    url: str = ""
    status: int = 0
    headers: dict[str, str] = {}
    mime_type: str = ""


class _Sent(_Event):
    request: _WantedEvent = msgspec.field(default_factory=_WantedEvent)
    redirect_response: _Response | None = None


class _Data(_Event):
    data_length: int = 0  # decoded


class _Received(_Event):
    response: _Response = msgspec.field(default_factory=_Response)


class _Frame(msgspec.Struct, rename="camel"):
    id: str
    loader_id: str
    url: str
    parent_id: str = ""


class _Navigated(msgspec.Struct):
    frame: _Frame


class _Requested(msgspec.Struct, rename="camel"):
    frame_id: str
    disposition: str = "currentTab"


class _Scheduled(msgspec.Struct, rename="camel"):
    frame_id: str
    delay: float = 0.0


_event: Final = msgspec.json.Decoder(_Event).decode
_sent: Final = msgspec.json.Decoder(_Sent).decode
_received: Final = msgspec.json.Decoder(_Received).decode
_data: Final = msgspec.json.Decoder(_Data).decode
_navigated: Final = msgspec.json.Decoder(_Navigated).decode
_requested: Final = msgspec.json.Decoder(_Requested).decode
_scheduled: Final = msgspec.json.Decoder(_Scheduled).decode


class DocumentResponse:
    """The response with a main document."""

    def __init__(self, loader: str, url: str) -> None:
        self.loader = loader
        self.url = url
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.size = 0  # decoded bytes so far
        self.ended = False  # the body is complete


class _UnderWay(Struct):
    loader: str  # of the document that requested it
    begun: float
    until: float  # when waiting for it ends


class PageTraffic:
    def __init__(
        self,
        frame: str,
        clock: Callable[[], float],
        give_up: Callable[[PageTrouble], None],
        *,
        pictures: bool,
        max_bytes: int,
    ) -> None:
        self.answer: DocumentResponse | None = None  # of the current document
        self.hops: list[Hop] = []
        self.parsed = False  # the document is parsed to its end
        self.loaded = False  # and its resources are loaded
        self.live = False  # a stream, a socket or WebAssembly may still add content
        self.scripts = 0
        self.moves = 0  # starts and ends of requests that content may depend on
        self.moved = clock()  # when one of them was last started or ended, or brought something
        self.asked = ""  # the document that was requested last
        self.stirred = clock()  # time of the last network event
        self._frame = frame
        self._clock = clock
        self._give_up = give_up
        self._counted = _PICTURE if pictures else _CONTENT
        self._max_bytes = max_bytes  # bytes of a document
        self._left = MAX_REQUESTS
        self._under_way: dict[str, _UnderWay] = {}
        self._open: dict[
            str, str
        ] = {}  # requests that may still add content, however late, with their documents
        self._times: Counter[str] = Counter()  # requests by URL
        self._coming: DocumentResponse | None = None  # the document that is being requested
        self._documents = 0
        self._stepping = False  # steps are taken on the page, which may lead on from it
        self._over = False  # there will be no more events
        self._leaving = 0.0  # when the document will redirect
        self._changed = asyncio.Event()
        self._heard: dict[str, Callable[[msgspec.Raw], None]] = {
            "Network.requestWillBeSent": self._on_sent,
            "Network.responseReceived": self._on_received,
            "Network.dataReceived": self._on_data,
            "Network.loadingFinished": self._on_ended,
            "Network.loadingFailed": self._on_failed,
            "Network.webSocketCreated": self._on_socket,
            "Network.webSocketFrameReceived": self._on_frame,
            "Network.webSocketClosed": self._on_ended,
            "Page.frameNavigated": self._on_navigated,
            "Page.frameRequestedNavigation": self._on_requested,
            "Page.frameScheduledNavigation": self._on_scheduled,
            "Page.frameClearedScheduledNavigation": self._on_cleared,
            "Page.domContentEventFired": self._on_parsed,
            "Page.loadEventFired": self._on_loaded,
        }

    def hear(self, method: str, params: msgspec.Raw) -> None:
        if not method:
            self._over = True
            self._changed.set()
            return
        heard = self._heard.get(method)
        if heard is not None:
            self.stirred = self._clock()
            heard(params)

    async def until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Wait for a condition; returns whether it holds. Raises `CdpGone` if no more events will come."""
        while not condition():
            if self._over:
                raise CdpGone
            self._changed.clear()
            moment = min(deadline, self._next())
            try:
                async with asyncio.timeout_at(moment):
                    await self._changed.wait()
            except TimeoutError:
                if moment >= deadline:
                    return condition()
        return True

    def idle(self) -> bool:
        """Whether no request is pending that content may depend on."""
        now = self._clock()
        waiting = any(now < request.until for request in self._under_way.values())
        return not waiting and self._coming is None and self._leaving <= now

    @property
    def navigating(self) -> bool:
        """Whether another document is on its way, or will be in a moment."""
        return self._coming is not None or self._leaving > self._clock()

    def begin_step(self) -> None:
        """Count redirects anew: from here on the page is led on by a step."""
        self.hops = []
        self._documents = 0
        self._stepping = True

    @property
    def arriving(self) -> bool:
        """Whether the current document is still arriving."""
        return not self.parsed and self.answer is not None and not self.answer.ended

    def expects(self) -> bool:
        """Whether anything is pending, including polls, streams and sockets."""
        return bool(self._open) or not self.idle()

    def expects_since(self, moment: float) -> bool:
        """Whether a request since then is pending that content may depend on."""
        return any(request.begun >= moment for request in self._under_way.values())

    def _next(self) -> float:
        """When `idle` may change without an event."""
        now = self._clock()
        moments = [request.until for request in self._under_way.values()]
        return min((moment for moment in [*moments, self._leaving] if moment > now), default=float("inf"))

    # Requests.

    def _on_sent(self, params: msgspec.Raw) -> None:
        sent = _sent(params)
        self._left -= 1
        if self._left <= 0:
            self._give_up(PageTrouble.TOO_MANY_REQUESTS)
        if sent.type == "Document" and sent.frame_id == self._frame:
            self._on_document(sent)
        elif sent.redirect_response is None:
            self._on_resource(sent)

    def _on_resource(self, sent: _Sent) -> None:
        self.scripts += sent.type == "Script"
        self.live = self.live or sent.type == "EventSource"
        if sent.frame_id == self._frame and sent.type in _BRINGING:
            self._open[sent.request_id] = sent.loader_id
        if sent.frame_id == self._frame and sent.type in self._counted:
            self._times[sent.request.url] += 1
            is_poll = sent.request.method == "GET" and self._times[sent.request.url] > POLLS
            if not is_poll and not sent.request.url.startswith(("data:", "blob:")):
                self.moves += 1
                now = self.moved = self._clock()
                self._under_way[sent.request_id] = _UnderWay(sent.loader_id, now, now + PATIENCE)

    def _on_document(self, sent: _Sent) -> None:
        if sent.redirect_response is not None:
            self.hops.append(Hop(_plain(sent.redirect_response.url), sent.redirect_response.status))
            if len(self.hops) > MAX_HOPS:
                self._give_up(PageTrouble.TOO_MANY_REDIRECTS)
        else:
            self._documents += 1
            if self._documents > MAX_DOCUMENTS:
                self._give_up(PageTrouble.REDIRECT_LOOP)
        self.asked = sent.request.url
        self._coming = DocumentResponse(sent.loader_id, sent.request.url)
        self._changed.set()

    def _on_received(self, params: msgspec.Raw) -> None:
        received = _received(params)
        response = received.response
        for answer in (self._coming, self.answer):
            if answer is not None and answer.loader == received.request_id:
                answer.url, answer.status = response.url, response.status
                answer.headers = tuple(_fields(response.headers))
                self._weigh(_content_length(answer.headers))
        if response.mime_type == "application/wasm":
            self.live = True
        if response.mime_type in _STREAMS:
            self._leave(received.request_id)
        self._on_moved(received.request_id)

    def _on_data(self, params: msgspec.Raw) -> None:
        data = _data(params)
        for answer in (self._coming, self.answer):
            if answer is not None and answer.loader == data.request_id:
                answer.size += data.data_length
                self._weigh(answer.size)
        self._on_moved(data.request_id)

    def _on_moved(self, name: str) -> None:
        request = self._under_way.get(name)
        if request is not None:
            self.moved = self._clock()
            request.until = self.moved + STALLED
            self._changed.set()

    def _weigh(self, size: int) -> None:
        """Give up early, because laying out a page that will be refused takes time."""
        if size > self._max_bytes:
            self._give_up(PageTrouble.TOO_LARGE)

    def _on_ended(self, params: msgspec.Raw) -> None:
        request = _event(params).request_id
        if self.answer is not None and self.answer.loader == request:
            self.answer.ended = True
        if self._coming is not None and self._coming.loader == request:
            self._coming = None  # it failed or became a download; the current document stays
        self._end(request)

    def _on_failed(self, params: msgspec.Raw) -> None:
        if self.answer is not None and self.answer.loader == _event(params).request_id:
            self.parsed = True  # as far as it arrived
        self._on_ended(params)

    def _on_socket(self, params: msgspec.Raw) -> None:
        self.live = True
        self._open[_event(params).request_id] = self.answer.loader if self.answer else ""

    def _on_frame(self, params: msgspec.Raw) -> None:
        """Does nothing: `hear` has noted the time."""

    def _end(self, request: str) -> None:
        self._open.pop(request, None)
        self._leave(request)

    def _leave(self, request: str) -> None:
        """Stop waiting for a request."""
        if self._under_way.pop(request, None) is not None:
            self.moves += 1
            self.moved = self._clock()
        self._changed.set()

    # The document.

    def _on_navigated(self, params: msgspec.Raw) -> None:
        frame = _navigated(params).frame
        if frame.id != self._frame or frame.parent_id:
            return
        if self.answer is not None:
            self.hops.append(Hop(_plain(self.answer.url), self.answer.status))
        arrived = self._coming if self._coming and self._coming.loader == frame.loader_id else None
        self.answer = arrived or DocumentResponse(frame.loader_id, frame.url)
        self._coming = None
        self._leaving = 0.0
        self.parsed = self.loaded = self.live = False
        self.scripts = 0
        self._under_way = {
            name: request for name, request in self._under_way.items() if request.loader == frame.loader_id
        }
        self._open = {name: loader for name, loader in self._open.items() if loader == frame.loader_id}
        self._changed.set()

    def _on_requested(self, params: msgspec.Raw) -> None:
        requested = _requested(params)
        if self._stepping and requested.frame_id == self._frame and requested.disposition == "currentTab":
            self._leave_after(0.0)

    def _on_scheduled(self, params: msgspec.Raw) -> None:
        scheduled = _scheduled(params)
        if scheduled.frame_id == self._frame and scheduled.delay <= SOON:
            self._leave_after(scheduled.delay)

    def _leave_after(self, delay: float) -> None:
        self._leaving = self._clock() + delay + BEGIN
        self._changed.set()

    def _on_cleared(self, params: msgspec.Raw) -> None:
        if _scheduled(params).frame_id == self._frame:
            self._leaving = 0.0
            self._changed.set()

    def _on_parsed(self, params: msgspec.Raw) -> None:
        self.parsed = True
        self._changed.set()

    def _on_loaded(self, params: msgspec.Raw) -> None:
        self.loaded = True
        self._changed.set()


def _plain(url: str) -> str:
    return url.partition("#")[0]


def _fields(headers: dict[str, str]) -> list[tuple[str, str]]:
    """The browser joins repeated fields with line feeds."""
    return [(name.lower(), value) for name, lines in headers.items() for value in lines.split("\n")]


def _content_length(headers: tuple[tuple[str, str], ...]) -> int:
    """Bytes on the wire; a compressed body has more."""
    return next((int(value) for name, value in headers if name == "content-length" and value.isdecimal()), 0)
