"""HTTP/1.1, the client's side: one connection, one exchange after another, all of it bounded.

Written by hand on httptools because a general client holds no exact bounds on heads, bodies and rates, opens
its own sockets, where ours come from the dialer alone, and costs at best half as much CPU again for a page.
There is no HTTP/2: it is one more parser with attacks of its own, every origin speaks HTTP/1.1 too, and what
it is good at, many requests to one origin at once, is what a polite client does not do.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

import httptools

from gossamer.problems import Problem
from gossamer.reach.decode import Body, decoder_for
from gossamer.reach.failures import failed, timed_out, too_large

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
BODILESS: Final = frozenset({204, 304})
MOST_INTERIM: Final = 8  # answers of status 1xx before the one that counts
FRAMING: Final = 8  # a chunked body may add an eighth of its largest size in chunk heads and trailers


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Seconds, bytes and numbers that no target makes us exceed."""

    connect: float = 10.0  # name, connection and TLS handshake together
    first_byte: float = 20.0
    slow_after: float = 10.0  # from the first byte on; then, in every such span of time,
    slowest: int = 1024  # bytes a second
    head_bytes: int = 64 * 1024
    head_fields: int = 100
    exchanges: int = 512  # at once
    exchanges_per_place: int = 16
    idle_seconds: float = 15.0
    idle_connections: int = 256


class Terms(NamedTuple):
    """What one exchange may take."""

    deadline: float  # on the event loop's clock
    max_bytes: int
    head_only: bool = False
    once: bool = False  # what was sent is not sent again, whatever became of it


@dataclass(slots=True)
class Answer:
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case
    body: bytes = b""
    wire_bytes: int = 0
    opened: float = 0.0  # seconds that connecting took
    first_byte: float = 0.0  # seconds from the request to the first byte

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known == name), None)

    def joined(self, name: str) -> str:
        """All values of a field that is a list."""
        return ", ".join(value for known, value in self.headers if known == name)


class Stale(Exception):
    """A kept connection turned out to be closed when it was used again; nothing was answered."""

    def __init__(self, *, sent: bool) -> None:
        super().__init__()
        self.sent = sent


class Refused(Exception):
    """Stops the parser; why is known already."""


@dataclass(slots=True)
class Exchange:
    """One request, and how far its answer has come."""

    result: asyncio.Future[Answer]
    terms: Terms
    started: float
    due: float  # when the first byte must be there; then, when the rate is looked at next
    answer: Answer = field(default_factory=Answer)
    fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: Body | None = None  # from the end of the head on
    until_close: bool = False
    interim: int = 0
    received: int = 0  # bytes of any kind
    received_before: int = 0  # when the rate was last looked at


class Connection(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, bounds: Bounds) -> None:
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
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._used = False
        self._in_step = True  # every answer so far was read to its end, and nothing came after it

    async def exchange(self, request: bytes, terms: Terms) -> Answer:
        """Send `request` and wait for its answer. Of a redirect or a HEAD, it is the head alone."""
        if self._transport is None or self._transport.is_closing():
            raise Stale(sent=False)
        now = self._loop.time()
        self._exchange = exchange = Exchange(
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

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:  # nobody asked
            self.abort()
            return
        if not exchange.received:
            now = self._loop.time()
            exchange.answer.first_byte = now - exchange.started
            exchange.due = now + self._bounds.slow_after
        exchange.received += len(data)
        try:
            self._parser.feed_data(data)
            self._bound(exchange)
        except httptools.HttpParserUpgrade:
            self._fail(failed("unexpected_upgrade"))
        except httptools.HttpParserError as error:
            self._refuse_nonsense(error)
        except Refused:
            pass

    def eof_received(self) -> None:
        self._end(clean=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(clean=error is None)
        if self._timer is not None:
            self._timer.cancel()
        if not self.lost.done():
            self.lost.set_result(None)

    # One timer for all exchanges: one that is set early enough is left alone, and looks again when it rings.

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
            self._fail(timed_out("whole_timeout"))
            return
        if now >= exchange.due:
            if not exchange.received:
                self._fail(timed_out("first_byte_timeout"))
                return
            if exchange.received - exchange.received_before < bounds.slowest * bounds.slow_after:
                self._fail(timed_out("too_slow"))
                return
            exchange.received_before = exchange.received
            exchange.due = now + bounds.slow_after
        self._watch_by(min(exchange.terms.deadline, exchange.due))

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._in_step = False

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._exchange
        if exchange is None or exchange.body is not None or exchange.result.done():  # a trailer, or junk
            return
        exchange.fields.append((name, value))
        if len(exchange.fields) > self._bounds.head_fields:
            self._refuse(failed("headers_too_large", f"more than {self._bounds.head_fields} fields"))

    def on_headers_complete(self) -> None:
        exchange = self._exchange
        if exchange is None or exchange.result.done():
            return
        answer = exchange.answer
        answer.status = self._parser.get_status_code()
        if answer.status < 200:
            return
        try:
            answer.headers = _read(exchange.fields, self._bounds.head_bytes)
            exchange.body = self._body(exchange, dict(answer.headers))
        except Problem as problem:
            self._refuse(problem)
        if exchange.terms.head_only or _leads_on(answer):
            exchange.result.set_result(answer)

    def _body(self, exchange: Exchange, fields: dict[str, str]) -> Body:
        if exchange.terms.head_only or _leads_on(exchange.answer):
            return Body(None, exchange.terms.max_bytes)  # which nobody will look at
        coding, length = fields.get("transfer-encoding"), fields.get("content-length")
        if coding and exchange.answer.joined("transfer-encoding").lower() != "chunked":
            raise failed("unknown_encoding", f"the transfer coding {coding[:100]}")
        if length is not None and exchange.answer.status not in BODILESS:
            if not length.isdecimal():
                raise failed("not_http", "Content-Length is no number")
            if int(length) > exchange.terms.max_bytes:
                raise too_large(exchange.terms.max_bytes)
        exchange.until_close = not coding and length is None
        encoding = exchange.answer.joined("content-encoding") if "content-encoding" in fields else ""
        return Body(decoder_for(encoding) if encoding else None, exchange.terms.max_bytes)

    def on_body(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None or exchange.body is None or exchange.result.done():
            return
        try:
            exchange.body.feed(data)
        except Problem as problem:
            self._refuse(problem)

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        if exchange.body is None:  # of status 1xx
            exchange.interim += 1
            exchange.fields.clear()
            if exchange.interim > MOST_INTERIM:
                self._refuse(failed("not_http", "too many interim answers"))
            return
        self._in_step = self._parser.should_keep_alive()
        self._finish(exchange)

    # How an exchange ends.

    def _finish(self, exchange: Exchange) -> None:
        if exchange.result.done() or exchange.body is None:
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
            self._fail(failed("incomplete"))
        elif self._used:
            exchange.result.set_exception(Stale(sent=True))
        else:
            self._fail(failed("connection_closed" if clean else "connection_reset"))

    def _fail(self, problem: Problem) -> None:
        self._in_step = False
        if self._exchange is not None and not self._exchange.result.done():
            self._exchange.result.set_exception(problem)
        self.abort()

    def _refuse(self, problem: Problem) -> None:
        self._fail(problem)
        raise Refused

    def _refuse_nonsense(self, error: httptools.HttpParserError) -> None:
        if not isinstance(error.__context__, Refused):  # else it has been said why
            self._fail(failed("not_http", str(error)[:100]))

    def _bound(self, exchange: Exchange) -> None:
        """The parser reports whole fields only: a head that never ends is bounded by its bytes."""
        bounds = self._bounds
        if exchange.body is None:
            if exchange.received > bounds.head_bytes:
                self._refuse(failed("headers_too_large", f"more than {bounds.head_bytes:,} bytes"))
        elif (
            exchange.received
            > exchange.terms.max_bytes + exchange.terms.max_bytes // FRAMING + 2 * bounds.head_bytes
        ):
            self._refuse(too_large(exchange.terms.max_bytes))


def _leads_on(answer: Answer) -> bool:
    return answer.status in REDIRECTS and bool(answer.header("location"))


def _read(fields: list[tuple[bytes, bytes]], most_bytes: int) -> tuple[tuple[str, str], ...]:
    whole = b"\0".join([part for pair in fields for part in pair])  # once for all: half of the time
    if len(whole) > most_bytes:
        raise failed("headers_too_large", f"more than {most_bytes:,} bytes")
    parts = whole.decode("latin-1").split("\0")
    if len(parts) > 2 * len(fields) > 0:
        raise failed("not_http", "a NUL in a header")
    names = [name.strip().lower() for name in parts[::2]]
    return tuple(zip(names, map(str.strip, parts[1::2]), strict=False))
