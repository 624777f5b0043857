"""The express lane: a page from the hot tier, asked for in the very words that were answered with it before.

Bots, and the proxies before them, ask with the same bytes again and again. The first time, a request goes the
ordinary way through all the layers; if it is answered with a page from the hot tier, a ticket is kept under
the bytes that asked for it. With a ticket only what may have changed since is looked at: is the key still
good, is the caller within its limit, is this still the page, and fresh? All of that is asked of Hot at once.
Where any answer is unusual, the request goes the ordinary way after all, and is not counted twice.

Nothing is known here that the ordinary way does not know: the head of the answer is the one it gave, with the
fields of `CHANGING` said anew. A ticket is of no use without the key's secret, which is among the bytes.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gossamer.doors.http.exchange import Exchange, Headers, new_request_id
from gossamer.doors.http.limiting import limit_headers
from gossamer.flows.admit import Admission, Caller
from gossamer.flows.serve import Serving, Wish
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.backoff import Backoff
from gossamer.state.limits import Limits, Standing, tightest
from gossamer.state.page_cache import PageKey
from gossamer.state.tenants import key_hash

MOST_TICKETS: Final = 4_096
MOST_BYTES: Final = 64_000_000  # of their bodies
LONGEST_REQUEST: Final = 4_096  # bytes
CHANGING: Final = frozenset(
    {b"date", b"x-request-id", b"x-processing-time", b"x-cache-age", b"ratelimit", b"ratelimit-policy"}
    | {b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"}
)


class Request(NamedTuple):
    """The bytes of a whole request, and whose they are."""

    peer: str
    words: bytes


class Ticket(NamedTuple):
    """What the ordinary way found out about a request that it answered with a page from the hot tier."""

    method: str
    path: str
    endpoint: str  # the route's template
    client: str
    secret_hash: str
    caller: Caller
    asks: Sequence[tuple[str, str]]  # the limits that it counts under
    key: PageKey
    wish: Wish
    etag: str
    status: int
    head: bytes  # of the answer, without what changes
    body: bytes


class Detour(NamedTuple):
    """It goes the ordinary way after all. So far it was counted like this."""

    standings: list[Standing]


class Ride(NamedTuple):
    """An answer on its way out."""

    head: bytes
    body: bytes


class Lane:
    def __init__(
        self,
        serving: Serving,
        admission: Admission,
        limits: Limits,
        backoff: Backoff,
        log: Log,
        metrics: Metrics,
    ) -> None:
        self._serving = serving
        self._admission = admission
        self._limits = limits
        self._backoff = backoff
        self._log = log
        self._metrics = metrics
        self._tickets: OrderedDict[Request, Ticket] = OrderedDict()
        self._bytes = 0

    def ticket(self, request: Request) -> Ticket | None:
        ticket = self._tickets.get(request)
        if ticket is not None:
            self._tickets.move_to_end(request)
        return ticket

    def sell(self, request: Request, exchange: Exchange, headers: Headers, body: bytes) -> None:
        """After an answer of the ordinary way: the next time it may go faster."""
        if exchange.hot_page is None or exchange.header(b"idempotency-key") is not None:
            return
        key, wish, etag = exchange.hot_page
        self.take_back(request)
        self._tickets[request] = Ticket(
            method=exchange.method,
            path=exchange.path,
            endpoint=exchange.endpoint,
            client=exchange.client,
            secret_hash=key_hash(exchange.secret),
            caller=exchange.caller,
            asks=[(standing.policy.name, standing.subject) for standing in exchange.standings],
            key=key,
            wish=wish,
            etag=etag,
            status=exchange.status,
            head=STATUS_LINE[exchange.status]
            + b"".join([b"%b: %b\r\n" % header for header in headers if header[0] not in CHANGING]),
            body=body,
        )
        self._bytes += len(body)
        while len(self._tickets) > MOST_TICKETS or self._bytes > MOST_BYTES:
            self.take_back(next(iter(self._tickets)))

    async def ride(self, ticket: Ticket) -> Ride | Detour:
        if self._backoff.suspects(ticket.asks[0][1]):  # it may have to wait
            return Detour([])
        started = time.perf_counter()
        asked = self._serving.ask_hot(ticket.key)
        try:
            kept = self._admission.ask(ticket.secret_hash)
            standings = await self._limits.take(ticket.asks)
            caller = self._admission.recall(await kept)
        except Unavailable:
            asked.withdraw()
            return Detour([])
        standing = tightest(standings)
        if caller != ticket.caller or not standing.tally.allowed:
            asked.withdraw()
            return Detour(standings)
        age = await self._serving.hot(ticket.caller, ticket.wish, ticket.etag, asked)
        if age is None:
            return Detour(standings)
        request_id = new_request_id()
        seconds = time.perf_counter() - started
        self._record(ticket, request_id, seconds)
        changing = [
            (b"x-request-id", request_id.encode()),
            (b"x-processing-time", b"%d" % round(seconds * 1000)),
            (b"x-cache-age", b"%d" % age),
            *limit_headers(standing, standings),
        ]
        return Ride(ticket.head + b"".join([b"%b: %b\r\n" % header for header in changing]), ticket.body)

    def _record(self, ticket: Ticket, request_id: str, seconds: float) -> None:
        self._metrics.request(ticket.endpoint, ticket.method, ticket.status, seconds)
        self._log.request(
            request_id=request_id,
            endpoint=ticket.path,
            method=ticket.method,
            status=ticket.status,
            duration=seconds * 1000,
            cache_hit=True,
            client=ticket.client,
            caller=ticket.caller.name,
        )

    def take_back(self, request: Request) -> None:
        """It was good for nothing: the ordinary way may sell another."""
        ticket = self._tickets.pop(request, None)
        if ticket is not None:
            self._bytes -= len(ticket.body)
