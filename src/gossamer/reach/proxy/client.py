"""One connection of the browser to the proxy: one request after another.

    head ──→ visit? ──→ target? ──→ allowed? ──→ dial ──→ CONNECT: a tunnel, until either end ends it
              407         400          403       502, 504   http://: request and answer, then the next head

Each connection of the browser has at most one connection to an origin, and ends with it. The browser pools
its connections by origin, and handles one that was closed while it was idle.
"""

import asyncio
from typing import TYPE_CHECKING, Final, cast

import httptools

from gossamer import problems
from gossamer.observe.logs import concerning
from gossamer.problems import Problem
from gossamer.reach.http.failures import reason_of
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.reach.proxy.credentials import VisitCredentials, VisitRefusal
from gossamer.reach.proxy.origin import LAST_CHUNK, Origin
from gossamer.reach.proxy.splice import Tunnel
from gossamer.reach.proxy.wire import (
    Fields,
    RequestTarget,
    absolute_target,
    challenge,
    malformed,
    refusal,
    request_head,
    status_of,
    tunnel_target,
    values,
)

if TYPE_CHECKING:
    from gossamer.reach.proxy.proxy import Proxy

WRITE_BUFFER: Final = 256 * 1024


class ProxyClient(asyncio.Protocol):
    def __init__(self, proxy: "Proxy") -> None:
        self.moved = 0  # bytes in either direction
        self.head_since: float | None = None  # when the head that is being read began
        self._proxy = proxy
        self._transport: asyncio.Transport
        self._visit: VisitCredentials | None = None
        self._origin: Origin | None = None
        self._task: asyncio.Task[None] | None = None
        self._lost = False
        self._expect_head()

    def _expect_head(self) -> None:
        self._parser = httptools.HttpRequestParser(self)  # a new one: CONNECT leaves it at its end
        self._written = b""  # the target
        self._fields: Fields = []
        self._head_bytes = 0
        self._busy = False  # from the end of a head to the end of its answer
        self._complete = False  # the request has arrived in full
        self._chunked = False  # the body of the request is chunked
        self._answered = False
        self._early: list[bytes] = []  # parts of the body that came before there was an origin

    def cut(self) -> None:
        self._transport.abort()

    def hold_back(self, yes: bool) -> None:
        """Pause reading while the origin accepts no more, or resume it."""
        if not self._transport.is_closing():
            self._transport.pause_reading() if yes else self._transport.resume_reading()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(WRITE_BUFFER)
        if not self._proxy.add(self):
            self.cut()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._task is not None:
            self._task.cancel()
        self._leave_visit()
        self._proxy.remove(self)

    def pause_writing(self) -> None:
        if self._origin is not None:
            self._origin.hold_back(True)

    def resume_writing(self) -> None:
        if self._origin is not None:
            self._origin.hold_back(False)

    def data_received(self, data: bytes) -> None:
        self.moved += len(data)
        if self._complete:  # pipelining, which no browser does
            self.cut()
            return
        if not self._busy:
            self.head_since = self.head_since or self._proxy.now()
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if data[upgrade.args[0] :]:  # nothing may be sent before the tunnel stands
                self.cut()
            return
        except httptools.HttpParserError:
            self._refuse_nonsense()
            return
        if not self._busy and self._head_bytes > self._proxy.bounds.head_bytes:
            self._say(
                refusal(FetchReason.HEADERS_TOO_LARGE, 431, "The head is too large.", close=True), close=True
            )

    # Called by the parser.

    def on_url(self, piece: bytes) -> None:
        self._written += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._busy:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self._busy or self._transport.is_closing():
            self.cut()
            return
        self._busy = True
        self.head_since = None
        self._transport.pause_reading()
        self._task = asyncio.create_task(self._serve(self._parser.get_method()))

    def on_body(self, data: bytes) -> None:
        if self._origin is None or not self._origin.asked:
            self._early.append(data)
        else:
            self._origin.send(self._frame(data))

    def on_message_complete(self) -> None:
        self._complete = True
        if self._origin is not None and self._origin.asked and self._chunked:
            self._origin.send(LAST_CHUNK)
        self._next_if_done()

    # One request.

    async def _serve(self, method: bytes) -> None:
        target = RequestTarget("", 0)
        try:
            if not self._identify_visit():
                self._say(challenge(close=not self._complete), close=not self._complete)
                self.end_answer()
                return
            target = (tunnel_target if method == b"CONNECT" else absolute_target)(self._written)
            visit = self._allow(target)
            with concerning(visit.request_id):
                if method == b"CONNECT":
                    await self._open_tunnel(target)
                else:
                    await self._ask(method, target)
        except Problem as problem:
            self.refuse(problem, target.host, target.port)

    def _identify_visit(self) -> bool:
        """Find the visit whose credentials the request has. The connection then belongs to that visit."""
        given = values(self._fields, b"proxy-authorization")
        found = self._proxy.visits.find(given[0]) if len(given) == 1 else None
        if found is not self._visit:
            self._leave_visit()
            self._visit = found
            if found is not None:
                found.hold(self)
        return found is not None

    def _leave_visit(self) -> None:
        if self._origin is not None:
            self._origin.cut()
            self._origin = None
        if self._visit is not None:
            self._visit.let_go(self)
            self._visit = None

    def _allow(self, target: RequestTarget) -> VisitCredentials:
        assert self._visit is not None  # noqa: S101
        exceeded = self._visit.begin(target.host)
        if exceeded:
            raise Problem(
                problems.FETCH_FAILED, "The visit has used up its allowance.", details={"reason": exceeded}
            )
        return self._visit

    async def _open_tunnel(self, target: RequestTarget) -> None:
        assert self._visit is not None  # noqa: S101
        tunnel = Tunnel(self._visit, self._transport, self._proxy.remove)
        await self._proxy.dial(target, self._visit.tenant, lambda: tunnel.origin)
        self._visit.let_go(self)
        self._proxy.replace(self, tunnel)
        tunnel.join()

    async def _ask(self, method: bytes, target: RequestTarget) -> None:
        origin = await self._connect(target)
        self._chunked = bool(values(self._fields, b"transfer-encoding"))
        framing: Fields = [(b"Transfer-Encoding", b"chunked")] if self._chunked else []
        framing += [(b"Content-Length", length) for length in values(self._fields, b"content-length")]
        early = b"".join(map(self._frame, self._early))
        if self._chunked and self._complete:
            early += LAST_CHUNK
        self._early.clear()
        origin.ask(method, request_head(method, target, self._fields, framing) + early)
        self.hold_back(False)

    async def _connect(self, target: RequestTarget) -> Origin:
        assert self._visit is not None  # noqa: S101
        origin = self._origin
        if origin is not None and origin.usable and origin.place == (target.host, target.port):
            return origin
        if origin is not None:
            self._origin = None  # first, so that `origin_lost` does not close our connection
            origin.cut()
        origin = self._origin = Origin(self, self._visit, target)
        await self._proxy.dial(target, self._visit.tenant, lambda: origin)
        return origin

    def _frame(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data

    # Called by the origin, and the end of a request.

    def tell(self, data: bytes) -> None:
        if not self._transport.is_closing():  # uvloop refuses to write to a closing transport
            self._transport.write(data)

    def end_answer(self) -> None:
        self._answered = True
        self._next_if_done()

    def origin_used_up(self) -> None:
        """The answer is complete and the connection cannot be used again: the next request opens another."""
        self._origin = None

    def origin_lost(self, origin: Origin) -> None:
        if origin is self._origin:
            self._origin = None
            if not self._busy:
                self._transport.close()

    def refuse(self, problem: Problem, host: str, port: int) -> None:
        reason = reason_of(problem)
        if self._visit is not None:
            rule = problem.details.get("rule", "")
            self._visit.refuse(VisitRefusal(host, port, reason, problem.kind.code, rule))
        self._proxy.log_refusal(host, port, reason)
        close = not self._complete
        self._say(refusal(reason, status_of(problem), problem.detail, close=close), close=close)
        self.end_answer()

    def _refuse_nonsense(self) -> None:
        if self._busy:
            self.cut()
        else:
            self._say(refusal("malformed", 400, malformed("it is not HTTP").detail, close=True), close=True)

    def _say(self, answer: bytes, *, close: bool) -> None:
        self.tell(answer)
        if close:
            self._transport.close()

    def _next_if_done(self) -> None:
        """Expect the next request if this one and its answer are complete."""
        if self._complete and self._answered and not self._lost:
            self._expect_head()
            self.hold_back(False)
