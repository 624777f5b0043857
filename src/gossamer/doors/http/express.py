"""The express lane: a page from the hot tier, asked for in the very words that were answered with it before.

Bots, and the proxies before them, ask with the same bytes again and again. The first time, a request goes the
ordinary way through all the layers; if it is answered with a page from the hot tier, a ticket is kept under
the bytes that asked for it. With a ticket only what may have changed since is looked at: is the key still
good, is the caller within its limit, is this still the page, and fresh? That is one question to Hot, which
the ticket has ready.
Where any answer is unusual, the request goes the ordinary way after all, and is not counted twice.

Nothing is known here that the ordinary way does not know: the head of the answer is the one it gave, with the
fields of `CHANGING` said anew. A ticket is of no use without the key's secret, which is among the bytes.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gossamer.doors.http.exchange import Exchange, Headers, new_request_id
from gossamer.doors.http.limiting import limit_lines
from gossamer.flows.admit import Admission, Caller, key_record
from gossamer.flows.serve import HotPage, Serving, Wish
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.backoff import Backoff
from gossamer.state.cached_page import EDITION_BYTES
from gossamer.state.hot import Hot, Question
from gossamer.state.limits import Limits, Standing, tightest
from gossamer.state.page_cache import hot_name
from gossamer.state.tenants import key_hash

MOST_TICKETS: Final = 4_096
MOST_BYTES: Final = 64_000_000  # of their bodies
LONGEST_REQUEST: Final = 4_096  # bytes
CHANGING: Final = frozenset(
    {b"date", b"x-request-id", b"x-processing-time", b"x-cache-age"}
    | {b"ratelimit", b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"}
)


class Request(NamedTuple):
    """The bytes of a whole request, and whose they are."""

    peer: str
    words: bytes


class Ticket(NamedTuple):
    """What the ordinary way found out about a request that it answered with a page from the hot tier."""

    method: str
    endpoint: str  # the route's template
    status: int
    secret_hash: str
    caller: Caller
    asks: Sequence[tuple[str, str]]  # the limits that it counts under
    page: HotPage
    wish: Wish
    question: Question
    head: bytes  # of the answer, without what changes
    body: bytes
    tell: Callable[[str, float], None]  # the log of a ride, by its id and its milliseconds


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
        hot: Hot,
        serving: Serving,
        admission: Admission,
        limits: Limits,
        backoff: Backoff,
        log: Log,
        metrics: Metrics,
    ) -> None:
        self._hot = hot
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
        self.take_back(request)
        self._tickets[request] = self._ticket(exchange, *exchange.hot_page, headers, body)
        self._bytes += len(body)
        while len(self._tickets) > MOST_TICKETS or self._bytes > MOST_BYTES:
            self.take_back(next(iter(self._tickets)))

    def _ticket(self, exchange: Exchange, page: HotPage, wish: Wish, headers: Headers, body: bytes) -> Ticket:
        asks = [(standing.policy.name, standing.subject) for standing in exchange.standings]
        secret_hash = key_hash(exchange.secret)
        lasting = [b"%b: %b\r\n" % header for header in headers if header[0] not in CHANGING]
        return Ticket(
            method=exchange.method,
            endpoint=exchange.endpoint,
            status=exchange.status,
            secret_hash=secret_hash,
            caller=exchange.caller,
            asks=asks,
            page=page,
            wish=wish,
            question=self._hot.question(
                self._limits.windows(asks), key_record(secret_hash), hot_name(page.name), EDITION_BYTES
            ),
            head=b"".join([STATUS_LINE[exchange.status], *lasting]),
            body=body,
            tell=self._log.requests(
                endpoint=exchange.path,
                method=exchange.method,
                status=exchange.status,
                cache_hit=True,
                client=exchange.client,
                caller=exchange.caller.name,
            ),
        )

    async def ride(self, ticket: Ticket) -> Ride | Detour:
        if self._backoff.suspects(ticket.asks[0][1]):  # it may have to wait
            return Detour([])
        started = time.perf_counter()
        standings: list[Standing] = []
        try:
            heard = await ticket.question()
            standings = self._limits.counted(ticket.asks, heard.tallies)
            standing = tightest(standings)
            if not standing.tally.allowed:
                return Detour(standings)
            caller = await self._admission.recall(ticket.secret_hash, heard.value)
        except Unavailable:
            return Detour(standings)
        age = None
        if caller == ticket.caller:
            age = self._serving.again(ticket.caller, ticket.wish, ticket.page, heard.start)
        if age is None:
            return Detour(standings)
        request_id = new_request_id()
        seconds = time.perf_counter() - started
        self._metrics.request(ticket.endpoint, ticket.method, ticket.status, seconds)
        ticket.tell(request_id, seconds * 1000)
        changing = b"x-request-id: %b\r\nx-processing-time: %d\r\nx-cache-age: %d\r\n" % (
            request_id.encode(),
            round(seconds * 1000),
            age,
        )
        return Ride(ticket.head + changing + limit_lines(standing, standings), ticket.body)

    def take_back(self, request: Request) -> None:
        """It was good for nothing: the ordinary way may sell another."""
        ticket = self._tickets.pop(request, None)
        if ticket is not None:
            self._bytes -= len(ticket.body)
