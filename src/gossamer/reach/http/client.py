"""The client side of HTTP/1.1: one connection, one exchange after another, with every part bounded.

It is written on httptools because a general client has no exact bounds on heads, bodies and rates, opens its
own sockets (ours come only from the dialer), and takes at least 50% more CPU for a page. There is no HTTP/2:
it would be one more parser to attack, every origin speaks HTTP/1.1 too, and a polite client does not need its
strength, which is many concurrent requests to one origin.
"""

import asyncio
from functools import partial
from typing import Final, NamedTuple, cast

import httptools
from msgspec import Struct, field

from gossamer.problems import Problem
from gossamer.reach.http.body_budget import Reservation, busy
from gossamer.reach.http.decode import Body, decoder_for
from gossamer.reach.http.failures import failed, timed_out, too_large
from gossamer.reach.http.intake import Intake
from gossamer.reach.net.fetch_reason import FetchReason

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
BODILESS: Final = frozenset({204, 304})
MAX_INTERIM_ANSWERS: Final = 8  # answers of status 1xx before the one that counts
ROOM_AHEAD: Final = 64 * 1024  # bytes of a body for which there is room before more of it is parsed
FRAMING_SHARE: Final = 8  # a chunked body may add an eighth of its largest size in chunk heads and trailers


class HttpBounds(Struct, frozen=True, kw_only=True):
    """Seconds, bytes and numbers that no target can make us exceed."""

    connect: float = 10.0  # name, connection and TLS handshake together
    first_byte: float = 20.0
    slow_after: float = 10.0  # seconds between checks of the rate, from the first byte on
    slowest: int = 1024  # bytes a second
    head_bytes: int = 64 * 1024
    head_fields: int = 100
    exchanges: int = 512  # at once
    exchanges_per_origin: int = 16
    idle_seconds: float = 15.0
    idle_connections: int = 256


class ExchangeTerms(NamedTuple):
    """Limits and options of one exchange."""

    deadline: float  # on the event loop's clock
    max_bytes: int
    head_only: bool = False
    once: bool = False  # do not send the request again, whatever happened to it
    reservation: Reservation | None = None  # of memory for the body; None for a trusted server
    beginning: bool = False  # once there is a head, what has come by then is the answer, whatever follows


class HttpResponse(Struct):
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case
    body: bytes = b""
    wire_bytes: int = 0
    opened: float = 0.0  # seconds that connecting took
    first_byte: float = 0.0  # seconds from the request to the first byte

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known == name), None)

    def joined_values(self, name: str) -> str:
        """All values of a field that is a list."""
        return ", ".join(value for known, value in self.headers if known == name)


class Stale(Exception):
    """A kept connection turned out to be closed when it was used again; there was no answer."""

    def __init__(self, *, sent: bool) -> None:
        super().__init__()
        self.sent = sent


class ResponseRefused(Exception):
    """Stops the parser; the reason is known already."""


class HttpExchange(Struct):
    """One request, and what has arrived of its answer."""

    result: asyncio.Future[HttpResponse]
    terms: ExchangeTerms
    started: float
    due: float  # deadline of the first byte; after that, time of the next check of the rate
    answer: HttpResponse = field(default_factory=HttpResponse)
    fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: Body | None = None  # from the end of the head on
    until_close: bool = False
    interim: int = 0
    received: int = 0  # bytes of any kind
    received_before: int = 0  # at the last check of the rate


class HttpConnection(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, bounds: HttpBounds) -> None:
        self.lost: asyncio.Future[None] = loop.create_future()
        self.idle_since = 0.0
        self._loop = loop
        self._bounds = bounds
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            # As browsers read them: lines that end in LF alone, folded fields, junk after the last answer.
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_data_after_close=True,
        )
        self._intake = Intake(self._parse, self._hold_back)
        self._transport: asyncio.Transport | None = None
        self._exchange: HttpExchange | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._used = False
        self._in_step = True  # every answer so far was read to its end, and nothing came after it

    async def exchange(self, request: bytes, terms: ExchangeTerms) -> HttpResponse:
        """Send `request` and wait for its answer. The answer to a HEAD, or a redirect, is the head alone."""
        if self._transport is None or self._transport.is_closing():
            raise Stale(sent=False)
        now = self._loop.time()
        self._exchange = exchange = HttpExchange(
            self._loop.create_future(), terms, now, now + self._bounds.first_byte
        )
        self._in_step = False
        self._watch_by(min(terms.deadline, exchange.due, now + self._bounds.slow_after))
        self._transport.write(request)
        try:
            return await exchange.result
        finally:
            self._exchange = None
            self._used = True

    @property
    def reusable(self) -> bool:
        return self._in_step and self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:  # an answer without a request
            self.abort()
            return
        if not exchange.received:
            now = self._loop.time()
            exchange.answer.first_byte = now - exchange.started
            exchange.due = now + self._bounds.slow_after
        exchange.received += len(data)
        self._intake.take(data)

    def _parse(self, data: memoryview) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        try:
            self._parser.feed_data(data)
            self._bound(exchange)
            self._make_room(exchange)
        except httptools.HttpParserUpgrade:
            self._fail(failed(FetchReason.UNEXPECTED_UPGRADE))
        except httptools.HttpParserError as error:
            self._refuse_nonsense(error)
        except ResponseRefused:
            pass

    # Memory for the body: the next bytes are parsed only when there is room for the decoded result.

    def _make_room(self, exchange: HttpExchange) -> None:
        body, reservation = exchange.body, exchange.terms.reservation
        if body is None or reservation is None or exchange.result.done():
            return
        wanted = min(body.size + ROOM_AHEAD, exchange.terms.max_bytes)
        if not reservation.try_grow(wanted):
            self._intake.stop()
            reservation.wait(wanted, partial(self._go_on, exchange))

    def _go_on(self, exchange: HttpExchange, has_room: bool) -> None:
        if exchange is not self._exchange or exchange.result.done():
            return
        if not has_room:
            self._fail(busy())
            return
        exchange.due = (
            self._loop.time() + self._bounds.slow_after
        )  # the target was not slow: it had to wait for us
        exchange.received_before = exchange.received
        self._intake.go_on()

    def _hold_back(self, yes: bool) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading() if yes else self._transport.resume_reading()

    def eof_received(self) -> None:
        self._end(clean=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(clean=error is None)
        self._intake.close()
        if self._timer is not None:
            self._timer.cancel()
        if not self.lost.done():
            self.lost.set_result(None)

    # One timer for all exchanges: if it is set early enough it is left alone, and checks again when it fires.

    def _watch_by(self, alarm: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= alarm:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(alarm, self._watch)

    def _watch(self) -> None:
        self._timer = None
        exchange, bounds, now = self._exchange, self._bounds, self._loop.time()
        if exchange is None or exchange.result.done():
            return
        if now >= exchange.terms.deadline:
            self._fail(timed_out(FetchReason.WHOLE_TIMEOUT))
            return
        if now >= exchange.due:
            if not exchange.received:
                self._fail(timed_out(FetchReason.FIRST_BYTE_TIMEOUT))
                return
            if exchange.received - exchange.received_before < bounds.slowest * bounds.slow_after:
                self._fail(timed_out(FetchReason.TOO_SLOW))
                return
            exchange.received_before = exchange.received
            exchange.due = now + bounds.slow_after
        self._watch_by(min(exchange.terms.deadline, exchange.due))

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._in_step = False

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._exchange
        if exchange is None or exchange.body is not None or exchange.result.done():  # a trailer, or junk
            return
        exchange.fields.append((name, value))
        if len(exchange.fields) > self._bounds.head_fields:
            self._refuse(
                failed(FetchReason.HEADERS_TOO_LARGE, f"more than {self._bounds.head_fields} fields")
            )

    def on_headers_complete(self) -> None:
        exchange = self._exchange
        if exchange is None or exchange.result.done():
            return
        answer = exchange.answer
        answer.status = self._parser.get_status_code()
        if answer.status < 200:
            return
        try:
            answer.headers = _decode_fields(exchange.fields, self._bounds.head_bytes)
            exchange.body = self._body(exchange, dict(answer.headers))
        except Problem as problem:
            self._refuse(problem)
        if exchange.terms.head_only or _is_redirect(answer):
            exchange.result.set_result(answer)

    def _body(self, exchange: HttpExchange, fields: dict[str, str]) -> Body:
        if exchange.terms.head_only or exchange.terms.beginning or _is_redirect(exchange.answer):
            return Body(None, exchange.terms.max_bytes)  # it is not looked at
        coding, length = fields.get("transfer-encoding"), fields.get("content-length")
        if coding and exchange.answer.joined_values("transfer-encoding").lower() != "chunked":
            raise failed(FetchReason.UNKNOWN_ENCODING, f"the transfer coding {coding[:100]}")
        if length is not None and exchange.answer.status not in BODILESS:
            if not length.isdecimal():
                raise failed(FetchReason.NOT_HTTP, "Content-Length is no number")
            if int(length) > exchange.terms.max_bytes:
                raise too_large(exchange.terms.max_bytes)
        exchange.until_close = not coding and length is None
        encoding = exchange.answer.joined_values("content-encoding") if "content-encoding" in fields else ""
        decoder = decoder_for(encoding) if encoding else None
        return Body(decoder, exchange.terms.max_bytes, exchange.terms.reservation)

    def on_body(self, data: bytes) -> None:
        self._intake.report()
        exchange = self._exchange
        if exchange is None or exchange.body is None or exchange.result.done():
            return
        if exchange.terms.beginning:
            self._keep_beginning(exchange, data)
            return
        try:
            exchange.body.feed(data)
        except Problem as problem:
            self._refuse(problem)

    def _keep_beginning(self, exchange: HttpExchange, data: bytes) -> None:
        most = exchange.terms.max_bytes
        exchange.answer.body = (exchange.answer.body + data)[:most]
        if len(exchange.answer.body) == most:
            self._refuse(too_large(most))

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        if exchange.body is None:  # of status 1xx
            exchange.interim += 1
            exchange.fields.clear()
            if exchange.interim > MAX_INTERIM_ANSWERS:
                self._refuse(failed(FetchReason.NOT_HTTP, "too many interim answers"))
            return
        self._in_step = self._parser.should_keep_alive()
        self._finish(exchange)

    # The end of an exchange.

    def _finish(self, exchange: HttpExchange) -> None:
        if exchange.result.done() or exchange.body is None:
            return
        if exchange.terms.beginning:
            exchange.result.set_result(exchange.answer)
            return
        try:
            exchange.answer.body = exchange.body.finish()
        except Problem as problem:
            self._fail(problem)
            return
        exchange.answer.wire_bytes = exchange.body.wire_bytes
        exchange.result.set_result(exchange.answer)

    def _end(self, *, clean: bool) -> None:
        """The target sends nothing more."""
        exchange = self._exchange
        self._in_step = False
        if exchange is None or exchange.result.done():
            return
        if exchange.body is not None and exchange.until_close and clean:
            self._finish(exchange)
        elif exchange.received:
            self._fail(failed(FetchReason.INCOMPLETE))
        elif self._used:
            exchange.result.set_exception(Stale(sent=True))
        else:
            self._fail(failed(FetchReason.CONNECTION_CLOSED if clean else FetchReason.CONNECTION_RESET))

    def _fail(self, problem: Problem) -> None:
        self._in_step = False
        exchange = self._exchange
        if exchange is not None and not exchange.result.done():
            if exchange.terms.beginning and exchange.body is not None:
                exchange.result.set_result(exchange.answer)
            else:
                exchange.result.set_exception(problem)
        self._intake.close()
        self.abort()

    def _refuse(self, problem: Problem) -> None:
        self._fail(problem)
        raise ResponseRefused

    def _refuse_nonsense(self, error: httptools.HttpParserError) -> None:
        if not isinstance(error.__context__, ResponseRefused):  # else the reason is set already
            self._fail(failed(FetchReason.NOT_HTTP, str(error)[:100]))

    def _bound(self, exchange: HttpExchange) -> None:
        """The parser reports only whole fields, so a head that never ends is bounded by its bytes."""
        bounds = self._bounds
        if exchange.body is None:
            if exchange.received > bounds.head_bytes:
                self._refuse(failed(FetchReason.HEADERS_TOO_LARGE, f"more than {bounds.head_bytes:,} bytes"))
        elif (
            exchange.received
            > exchange.terms.max_bytes + exchange.terms.max_bytes // FRAMING_SHARE + 2 * bounds.head_bytes
        ):
            self._refuse(too_large(exchange.terms.max_bytes))


def _is_redirect(answer: HttpResponse) -> bool:
    return answer.status in REDIRECTS and bool(answer.header("location"))


def _decode_fields(fields: list[tuple[bytes, bytes]], max_bytes: int) -> tuple[tuple[str, str], ...]:
    whole = b"\0".join([part for pair in fields for part in pair])  # once for all: half of the time
    if len(whole) > max_bytes:
        raise failed(FetchReason.HEADERS_TOO_LARGE, f"more than {max_bytes:,} bytes")
    parts = whole.decode("latin-1").split("\0")
    if len(parts) > 2 * len(fields) > 0:
        raise failed(FetchReason.NOT_HTTP, "a NUL in a header")
    names = [name.strip().lower() for name in parts[::2]]
    return tuple(zip(names, map(str.strip, parts[1::2]), strict=False))
