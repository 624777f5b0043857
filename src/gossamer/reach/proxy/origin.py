"""One connection of the proxy to an origin. Its answer is bounded, and framed again for the browser.

The framing of an answer is never passed on. The end of a body is decided here, once, so the browser and the
proxy can never disagree about it, and an origin cannot write into another's answer.
"""

import asyncio
from typing import TYPE_CHECKING, Final, cast

import httptools

from gossamer.problems import Problem
from gossamer.reach.http.failures import failed
from gossamer.reach.http.intake import Intake
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.reach.proxy.credentials import VisitCredentials
from gossamer.reach.proxy.wire import REFUSED, Fields, RequestTarget, end_to_end, head, values

if TYPE_CHECKING:
    from gossamer.reach.proxy.client import ProxyClient

HEAD_BYTES: Final = 128 * 1024
HEAD_FIELDS: Final = 256
MAX_INTERIM: Final = 8
BODILESS: Final = frozenset({204, 304})
LAST_CHUNK: Final = b"0\r\n\r\n"


class OriginRefused(Exception):
    """Stops the parser; the reason is known already."""


class Origin(asyncio.Protocol):
    """A connection to an origin, for the requests of one connection of the browser."""

    def __init__(self, client: "ProxyClient", visit: VisitCredentials, target: RequestTarget) -> None:
        self.place = (target.host, target.port)
        self._client = client
        self._visit = visit
        self._transport: asyncio.Transport | None = None
        self._intake = Intake(self._parse, self._rest)
        self._held_back = False  # by the browser
        self._resting = False  # until the event loop's next turn
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            # As browsers read them: lines that end in LF alone, folded fields, junk after the last answer.
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_data_after_close=True,
        )
        self.asked = False
        self._exchanges = 0
        self._begin(b"")

    def _begin(self, method: bytes) -> None:
        self._method = method
        self._fields: Fields = []
        self._head_bytes = 0
        self._answering = False  # the head has been sent to the browser
        self._chunked = False  # as sent to the browser
        self._until_close = False  # the body ends with the connection
        self._interim = 0

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and not self.asked

    def ask(self, method: bytes, request: bytes) -> None:
        self._begin(method)
        self.asked = True
        self._exchanges += 1
        self.send(request)

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._visit.give(len(data))
            self._transport.write(data)

    def hold_back(self, yes: bool) -> None:
        """Pause reading while the browser accepts no more, or resume it."""
        self._held_back = yes
        self._read_or_not()

    def _rest(self, yes: bool) -> None:
        self._resting = yes
        self._read_or_not()

    def _read_or_not(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            wait = self._held_back or self._resting
            self._transport.pause_reading() if wait else self._transport.resume_reading()

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._client.hold_back(True)

    def resume_writing(self) -> None:
        self._client.hold_back(False)

    def data_received(self, data: bytes) -> None:
        self._visit.take(len(data))
        self._client.moved += len(data)
        if not self.asked:  # an answer without a request
            self.cut()
            return
        self._intake.take(data)

    def _parse(self, data: memoryview) -> None:
        if not self._answering:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if not self._answering and self.asked and self._head_bytes > HEAD_BYTES:
                self._refuse(failed(FetchReason.HEADERS_TOO_LARGE))
        except httptools.HttpParserUpgrade:
            self._fail(failed(FetchReason.UNEXPECTED_UPGRADE))
        except httptools.HttpParserError as error:
            if not isinstance(error.__context__, OriginRefused):
                self._fail(failed(FetchReason.NOT_HTTP))
        except OriginRefused:
            pass

    def eof_received(self) -> None:
        self._end(clean=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(clean=error is None)
        self._intake.close()
        self._client.origin_lost(self)

    # Called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answering:  # a trailer
            return
        self._fields.append((name.strip(), value.strip()))
        if len(self._fields) > HEAD_FIELDS:
            self._refuse(failed(FetchReason.HEADERS_TOO_LARGE))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or not self.asked:
            return
        if status == 407:  # only a proxy answers this, and the origin must not pose as one
            self._refuse(failed(FetchReason.NOT_HTTP))
        try:
            framing = self._framing(status)
        except Problem as problem:
            self._refuse(problem)
        self._answering = True
        fields = end_to_end(self._fields, b"content-length", REFUSED)
        self._client.tell(head(b"HTTP/1.1 %d " % status, fields + framing))
        if self._method == b"HEAD":  # the parser would wait for the body
            self._finish(keep=False)

    def _framing(self, status: int) -> Fields:
        """The fields that tell the browser where the body ends. A body of unknown length goes in chunks."""
        lengths = values(self._fields, b"content-length")
        codings = b",".join(values(self._fields, b"transfer-encoding")).lower()
        if codings not in (b"", b"chunked"):
            raise failed(FetchReason.UNKNOWN_ENCODING)
        if any(not length.isdigit() for length in lengths) or len(set(lengths)) > 1:
            raise failed(FetchReason.NOT_HTTP)
        if self._method == b"HEAD" or status in BODILESS:
            return [(b"Content-Length", length) for length in lengths[:1] if status != 204]
        if lengths and not codings:
            return [(b"Content-Length", lengths[0])]
        self._until_close = not codings
        self._chunked = True
        return [(b"Transfer-Encoding", b"chunked")]

    def on_body(self, data: bytes) -> None:
        self._intake.report()
        if self._answering and self.asked and data:
            self._client.tell(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def on_message_complete(self) -> None:
        if self._answering:
            if self.asked:
                self._finish(keep=self._parser.should_keep_alive())
            return
        self._interim += 1
        self._fields.clear()
        if self._interim > MAX_INTERIM:
            self._refuse(failed(FetchReason.NOT_HTTP))

    # The end of an answer.

    def _finish(self, *, keep: bool) -> None:
        self.asked = False
        if self._chunked:
            self._client.tell(LAST_CHUNK)
        if not keep:
            self._client.origin_used_up()
            self.cut()
        self._client.end_answer()

    def _end(self, *, clean: bool) -> None:
        """The origin sends nothing more."""
        if not self.asked:
            return
        if self._answering and self._until_close and clean:
            self._finish(keep=False)
        elif self._answering or self._exchanges > 1:
            # The answer is incomplete, which the browser must notice. Or it never began, on a connection that
            # was used before; then the browser tries again by itself.
            self.asked = False
            self._client.cut()
        else:
            self._fail(failed(FetchReason.CONNECTION_CLOSED if clean else FetchReason.CONNECTION_RESET))

    def _refuse(self, problem: Problem) -> None:
        self._fail(problem)
        raise OriginRefused

    def _fail(self, problem: Problem) -> None:
        if not self.asked:
            return
        self.asked = False
        self._intake.close()
        self.cut()
        if self._answering:
            self._client.cut()
        else:
            self._client.refuse(problem, *self.place)
