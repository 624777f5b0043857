"""The proxy's side towards the web: one origin's answer, read with bounds and told to the browser anew.

Nothing that frames a message is passed on as it came. Where a body ends is decided here, once, so the browser
and the proxy can never disagree about it, and an origin cannot speak into another's answer.
"""

import asyncio
from typing import TYPE_CHECKING, Final, cast

import httptools

from gossamer.problems import Problem
from gossamer.reach.failures import failed
from gossamer.reach.passes import Pass
from gossamer.reach.proxy_words import REFUSED, Fields, Target, end_to_end, head, values

if TYPE_CHECKING:
    from gossamer.reach.proxy_client import Client

HEAD_BYTES: Final = 128 * 1024
HEAD_FIELDS: Final = 256
MOST_INTERIM: Final = 8
BODILESS: Final = frozenset({204, 304})
LAST_CHUNK: Final = b"0\r\n\r\n"


class Refused(Exception):
    """Stops the parser; why is known already."""


class Origin(asyncio.Protocol):
    """A connection with an origin, for the requests of one connection of the browser."""

    def __init__(self, client: "Client", visit: Pass, target: Target) -> None:
        self.place = (target.host, target.port)
        self._client = client
        self._visit = visit
        self._transport: asyncio.Transport | None = None
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
        self._answering = False  # the head has been told to the browser
        self._chunked = False  # as we tell it
        self._until_close = False  # as it comes
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
        """The browser takes no more for now, or does again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading() if yes else self._transport.resume_reading()

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._client.hold_back(True)

    def resume_writing(self) -> None:
        self._client.hold_back(False)

    def data_received(self, data: bytes) -> None:
        self._visit.take(len(data))
        self._client.moved += len(data)
        if not self.asked:  # nobody did
            self.cut()
            return
        if not self._answering:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if not self._answering and self.asked and self._head_bytes > HEAD_BYTES:
                self._refuse(failed("headers_too_large"))
        except httptools.HttpParserUpgrade:
            self._fail(failed("unexpected_upgrade"))
        except httptools.HttpParserError as error:
            if not isinstance(error.__context__, Refused):
                self._fail(failed("not_http"))
        except Refused:
            pass

    def eof_received(self) -> None:
        self._end(clean=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(clean=error is None)
        self._client.origin_lost(self)

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answering:  # a trailer, which nobody asked for
            return
        self._fields.append((name.strip(), value.strip()))
        if len(self._fields) > HEAD_FIELDS:
            self._refuse(failed("headers_too_large"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or not self.asked:
            return
        if status == 407:  # only a proxy says this, and this one is not the origin's
            self._refuse(failed("not_http"))
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
        """How the browser will know where the body ends; a body that says nothing of it goes in chunks."""
        lengths = values(self._fields, b"content-length")
        codings = b",".join(values(self._fields, b"transfer-encoding")).lower()
        if codings not in (b"", b"chunked"):
            raise failed("unknown_encoding")
        if any(not length.isdigit() for length in lengths) or len(set(lengths)) > 1:
            raise failed("not_http")
        if self._method == b"HEAD" or status in BODILESS:
            return [(b"Content-Length", length) for length in lengths[:1] if status != 204]
        if lengths and not codings:
            return [(b"Content-Length", lengths[0])]
        self._until_close = not codings
        self._chunked = True
        return [(b"Transfer-Encoding", b"chunked")]

    def on_body(self, data: bytes) -> None:
        if self._answering and self.asked and data:
            self._client.tell(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def on_message_complete(self) -> None:
        if self._answering:
            if self.asked:
                self._finish(keep=self._parser.should_keep_alive())
            return
        self._interim += 1
        self._fields.clear()
        if self._interim > MOST_INTERIM:
            self._refuse(failed("not_http"))

    # How an answer ends.

    def _finish(self, *, keep: bool) -> None:
        self.asked = False
        if self._chunked:
            self._client.tell(LAST_CHUNK)
        if not keep:
            self._client.origin_used_up()
            self.cut()
        self._client.answered()

    def _end(self, *, clean: bool) -> None:
        """The origin sends nothing more."""
        if not self.asked:
            return
        if self._answering and self._until_close and clean:
            self._finish(keep=False)
        elif self._answering or self._exchanges > 1:
            # Incomplete, which the browser must notice; or never begun on a connection that had been used
            # before, which the browser tries again by itself.
            self.asked = False
            self._client.cut()
        else:
            self._fail(failed("connection_closed" if clean else "connection_reset"))

    def _refuse(self, problem: Problem) -> None:
        self._fail(problem)
        raise Refused

    def _fail(self, problem: Problem) -> None:
        if not self.asked:
            return
        self.asked = False
        self.cut()
        if self._answering:
            self._client.cut()
        else:
            self._client.refuse(problem, *self.place)
