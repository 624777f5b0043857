"""Traffic: what a page asks of the network, told from the browser's events.

It knows which requests are under way, of those that a page's content may wait for; the main document's way
through redirects, and its answer; and how far the document is.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gossamer.reach.cdp import Gone
from gossamer.web.page import Hop

MOST_REQUESTS: Final = 5_000  # also of what never leaves the browser; what leaves, the proxy counts
MOST_HOPS: Final = 20
MOST_DOCUMENTS: Final = 6  # one after the other, each sending the visitor on
PATIENCE: Final = 5.0  # seconds; what takes longer to answer is a poll that waits for something to happen
STALLED: Final = 0.7  # seconds without a byte after an answer began; a body that nobody reads never ends
POLLS: Final = 3  # times that the same is asked for; more often, it is news and not content
SOON: Final = 3.0  # seconds; a document that sends its visitor on later than this is where they wanted to go

_CONTENT: Final = frozenset({"Document", "Fetch", "Script", "Stylesheet", "XHR"})
_PICTURE: Final = _CONTENT | {"Font", "Image"}
_STREAMS: Final = ("text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson")


class _Event(msgspec.Struct, rename="camel"):
    request_id: str = ""
    loader_id: str = ""
    frame_id: str = ""
    type: str = ""


class _Wanted(msgspec.Struct):
    url: str = ""
    method: str = "GET"


class _Response(msgspec.Struct, rename="camel"):
    url: str = ""
    status: int = 0
    headers: dict[str, str] = {}
    mime_type: str = ""


class _Sent(_Event):
    request: _Wanted = msgspec.field(default_factory=_Wanted)
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


class _Scheduled(msgspec.Struct, rename="camel"):
    frame_id: str
    delay: float = 0.0


_event: Final = msgspec.json.Decoder(_Event).decode
_sent: Final = msgspec.json.Decoder(_Sent).decode
_received: Final = msgspec.json.Decoder(_Received).decode
_data: Final = msgspec.json.Decoder(_Data).decode
_navigated: Final = msgspec.json.Decoder(_Navigated).decode
_scheduled: Final = msgspec.json.Decoder(_Scheduled).decode


class Answer:
    """The main document's."""

    def __init__(self, loader: str, url: str) -> None:
        self.loader = loader
        self.url = url
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.size = 0  # bytes of it that are here, decoded


@dataclass(slots=True)
class _UnderWay:
    loader: str  # of the document that wants it
    until: float  # when it is no longer waited for


class Traffic:
    def __init__(
        self,
        frame: str,
        clock: Callable[[], float],
        lose: Callable[[str], None],
        *,
        pictures: bool,
        largest: int,
    ) -> None:
        self.answer: Answer | None = None  # of the document that is shown
        self.hops: list[Hop] = []
        self.parsed = False  # the document is, to its end
        self.loaded = False  # and everything that it names
        self.live = False  # something other than the document may still bring content
        self.scripts = 0
        self.moves = 0  # beginnings and ends of what content may wait for
        self.asked = ""  # the document that was asked for last
        self.too_large = False  # it has more bytes than it may
        self._frame = frame
        self._clock = clock
        self._lose = lose  # is told why this leads nowhere
        self._counted = _PICTURE if pictures else _CONTENT
        self._largest = largest  # bytes of a document
        self._left = MOST_REQUESTS
        self._under_way: dict[str, _UnderWay] = {}
        self._times: Counter[str] = Counter()  # that something was asked for
        self._coming: Answer | None = None  # a document that is asked for
        self._documents = 0
        self._over = False  # nothing more will be heard
        self._leaving = 0.0  # when the document will send its visitor on
        self._changed = asyncio.Event()
        self._heard: dict[str, Callable[[msgspec.Raw], None]] = {
            "Network.requestWillBeSent": self._on_sent,
            "Network.responseReceived": self._on_received,
            "Network.dataReceived": self._on_data,
            "Network.loadingFinished": self._on_ended,
            "Network.loadingFailed": self._on_failed,
            "Network.webSocketCreated": self._on_live,
            "Page.frameNavigated": self._on_navigated,
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
            heard(params)

    async def until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Wait for something to be so; whether it came to be. Gone if it never will."""
        while not condition():
            if self._over:
                raise Gone
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
        """Nothing is under way that the content may wait for."""
        now = self._clock()
        waiting = any(now < request.until for request in self._under_way.values())
        return not waiting and self._coming is None and self._leaving <= now

    def _next(self) -> float:
        """When the answer to `idle` may change by itself."""
        now = self._clock()
        moments = [request.until for request in self._under_way.values()]
        return min((moment for moment in [*moments, self._leaving] if moment > now), default=float("inf"))

    # Requests.

    def _on_sent(self, params: msgspec.Raw) -> None:
        sent = _sent(params)
        self._left -= 1
        if self._left <= 0:
            self._lose("The page makes too many requests")
        if sent.type == "Document" and sent.frame_id == self._frame:
            self._on_document(sent)
        elif sent.redirect_response is None:
            self._on_resource(sent)

    def _on_resource(self, sent: _Sent) -> None:
        self.scripts += sent.type == "Script"
        self.live = self.live or sent.type == "EventSource"
        if sent.frame_id == self._frame and sent.type in self._counted:
            self._times[sent.request.url] += 1
            is_poll = sent.request.method == "GET" and self._times[sent.request.url] > POLLS
            if not is_poll and not sent.request.url.startswith(("data:", "blob:")):
                self.moves += 1
                self._under_way[sent.request_id] = _UnderWay(sent.loader_id, self._clock() + PATIENCE)

    def _on_document(self, sent: _Sent) -> None:
        if sent.redirect_response is not None:
            self.hops.append(Hop(_plain(sent.redirect_response.url), sent.redirect_response.status))
            if len(self.hops) > MOST_HOPS:
                self._lose("The page redirects too often")
        else:
            self._documents += 1
            if self._documents > MOST_DOCUMENTS:
                self._lose("The page sends its visitors on in a circle")
        self.asked = sent.request.url
        self._coming = Answer(sent.loader_id, sent.request.url)
        self._changed.set()

    def _on_received(self, params: msgspec.Raw) -> None:
        received = _received(params)
        response = received.response
        for answer in (self._coming, self.answer):
            if answer is not None and answer.loader == received.request_id:
                answer.url, answer.status = response.url, response.status
                answer.headers = tuple(_fields(response.headers))
                self._weigh(_announced(answer.headers))
        if response.mime_type == "application/wasm":
            self.live = True
        if response.mime_type in _STREAMS:
            self._end(received.request_id)
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
            request.until = self._clock() + STALLED
            self._changed.set()

    def _weigh(self, size: int) -> None:
        """Nobody waits for a browser to lay out what will be refused."""
        if size > self._largest and not self.too_large:
            self.too_large = True
            self._lose("The document is too large")

    def _on_ended(self, params: msgspec.Raw) -> None:
        request = _event(params).request_id
        if self._coming is not None and self._coming.loader == request:
            self._coming = None  # failed, or turned into a download; what is shown stays
        self._end(request)

    def _on_failed(self, params: msgspec.Raw) -> None:
        if self.answer is not None and self.answer.loader == _event(params).request_id:
            self.parsed = True  # as far as it came
        self._on_ended(params)

    def _on_live(self, params: msgspec.Raw) -> None:
        self.live = True

    def _end(self, request: str) -> None:
        self.moves += self._under_way.pop(request, None) is not None
        self._changed.set()

    # The document.

    def _on_navigated(self, params: msgspec.Raw) -> None:
        frame = _navigated(params).frame
        if frame.id != self._frame or frame.parent_id:
            return
        if self.answer is not None:
            self.hops.append(Hop(_plain(self.answer.url), self.answer.status))
        arrived = self._coming if self._coming and self._coming.loader == frame.loader_id else None
        self.answer = arrived or Answer(frame.loader_id, frame.url)
        self._coming = None
        self._leaving = 0.0
        self.parsed = self.loaded = self.live = False
        self.scripts = 0
        self._under_way = {
            name: request for name, request in self._under_way.items() if request.loader == frame.loader_id
        }
        self._changed.set()

    def _on_scheduled(self, params: msgspec.Raw) -> None:
        scheduled = _scheduled(params)
        if scheduled.frame_id == self._frame and scheduled.delay <= SOON:
            self._leaving = self._clock() + scheduled.delay + 0.5  # the time it takes to set out
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
    """A field that came several times has a line for each."""
    return [(name.lower(), value) for name, lines in headers.items() for value in lines.split("\n")]


def _announced(headers: tuple[tuple[str, str], ...]) -> int:
    """Bytes on the wire: what is compressed has more."""
    return next((int(value) for name, value in headers if name == "content-length" and value.isdecimal()), 0)
