"""Answers repeated requests for a page of the hot tier without running the layers.

The first request takes the ordinary path through all the layers. If it is answered with a page from the hot
tier, a `PreparedAnswer` is kept under the shape of the request: the part of it that the answer depends on.
For the next request of that shape, one prepared question to Hot checks what may have changed: is the key
still good, is the caller within its limits, and is this still the page, and fresh? If anything is unusual,
the request takes the ordinary path after all, and is not counted twice.

The fast path decides nothing by itself: the head of the answer is the one that the ordinary path sent, with
the fields of `CHANGING` written again. A prepared answer is useless without the key's secret, because the
secret is part of the shape.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gossamer.doors.http.core.exchange import Exchange, Headers, new_request_id
from gossamer.doors.http.core.repeating import GappedBody, RepeatableAnswer, RepeatableRender
from gossamer.doors.http.layers.clients import Network, subject
from gossamer.doors.http.layers.limiting import limit_lines
from gossamer.doors.http.server.cycle import CLOSING
from gossamer.doors.http.server.request_shape import (
    OF_CONNECTION,
    PlainRequest,
    RequestShape,
    door_of,
    read_plain,
    shape_of,
)
from gossamer.flows.render.serve import RenderService
from gossamer.flows.tenants.admit import Admission, Caller, key_record
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.state.cache import START_BYTES, Cache, CachedAnswer
from gossamer.state.kv.hot import HitFacts, HitQuestion, Hot
from gossamer.state.pages.cached_page import EDITION_BYTES
from gossamer.state.pages.hot_pages import hot_name
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.limits import Limits, LimitStatus, tightest
from gossamer.state.tenants.tenants import key_hash

MAX_PREPARED_BYTES: Final = 64_000_000
PREPARED_BYTES: Final = 3_000  # of a prepared answer beside its request, head and body
KEPT_LONGER: Final = 16  # one of so many new answers, while there is no room for all
MAX_DOORS: Final = 256
CHANGING: Final = frozenset(
    {b"date", b"content-length", b"x-request-id", b"x-processing-time", b"x-cache-age"}
    | {b"ratelimit", b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"}
)


class PreparedAnswer(NamedTuple):
    """The facts about a request that the ordinary path answered with a page from the hot tier."""

    method: str
    endpoint: str  # the route's template
    status: int
    secret_hash: str
    caller: Caller
    limits: Sequence[tuple[str, str]]  # the policies that it counts under, each with its subject
    is_bare: bool  # without our own header fields
    repeatable: RepeatableRender | RepeatableAnswer
    question: HitQuestion
    head: bytes  # of the answer, without the fields that change
    body: GappedBody
    has_length: bool  # a 304 has none
    size: int  # bytes of memory, about
    closes: bool  # the connection, because its request says so
    log: Callable[[str, float, str], None]  # writes the line, given the request's id, milliseconds and client


class FastAnswer(NamedTuple):
    """An answer that is ready to be written."""

    head: bytes
    body: bytes
    closes: bool


class Fallback(NamedTuple):
    """The request must take the ordinary path; these limits have counted it already."""

    statuses: Sequence[LimitStatus] = ()


Done = Callable[[FastAnswer | Fallback], None]


class HitFastPath(Struct):
    """Prepared answers by the shapes of their requests.

    The first to leave is the one that was not used for longest. While there is no room for all, new ones are
    put there, and move away from it when they are used: more shapes than fit, asked for in turns, would
    otherwise push each other out before any is used again. Every 16th is kept longer, so that what is asked
    for changes what is kept.
    """

    hot: Hot
    render_service: RenderService
    cache: Cache
    admission: Admission
    limits: Limits
    log: Log
    metrics: Metrics
    trusted_proxies: tuple[Network, ...] | str = ()
    _deciding: dict[bytes, frozenset[bytes]] = field(default_factory=dict)  # fields that decide, by door
    _prepared: OrderedDict[RequestShape, PreparedAnswer] = field(default_factory=OrderedDict)
    _bytes: int = 0  # of them
    _crowded: int = 0  # answers that were prepared while there was no room for all
    _lookups: set[asyncio.Task[None]] = field(default_factory=set)  # of keys that Hot has forgotten

    def find(self, request: PlainRequest) -> tuple[RequestShape, PreparedAnswer] | None:
        names = self._deciding.get(request.door)
        if names is None:
            return None
        shape = shape_of(request, names)
        prepared = self._prepared.get(shape)
        if prepared is None:
            return None
        self._prepared.move_to_end(shape)
        return shape, prepared

    def has_door(self, data: bytes) -> bool:
        """Whether any answer is prepared where this request goes, which is cheap to tell."""
        door = door_of(data)
        return door is None or door in self._deciding

    def prepare(self, data: bytes, exchange: Exchange, headers: Headers, body: bytes) -> None:
        """Keep what the ordinary path has just answered, if it was a page from the hot tier."""
        if exchange.repeatable is None or exchange.header(b"idempotency-key") is not None:
            return
        request = read_plain(data)
        if request is None:
            return
        if (exchange.relayed or exchange).caller.via is not Via.KEY:  # a session may end at any moment
            return
        shape = shape_of(request, self._decide_by(request.door, exchange.deciding))
        self.discard(shape)
        self._keep(shape, self._prepare(exchange, exchange.repeatable, headers, body, len(data)))

    def _keep(self, shape: RequestShape, prepared: PreparedAnswer) -> None:
        if prepared.size > MAX_PREPARED_BYTES:
            return
        is_crowded = self._bytes + prepared.size > MAX_PREPARED_BYTES
        while self._bytes + prepared.size > MAX_PREPARED_BYTES:
            self.discard(next(iter(self._prepared)))
        self._prepared[shape] = prepared
        self._bytes += prepared.size
        if is_crowded:
            self._crowded += 1
            self._prepared.move_to_end(shape, last=self._crowded % KEPT_LONGER == 0)

    def _decide_by(self, door: bytes, read: Set[bytes]) -> frozenset[bytes]:
        """All fields that were read for any answer of this door. More than an answer needs do no harm."""
        known = self._deciding.get(door, OF_CONNECTION)
        if not read <= known:
            if len(self._deciding) >= MAX_DOORS:
                self._deciding.clear()  # their answers are found again when they are prepared again
            known = self._deciding[door] = known | read
        return known

    def discard(self, shape: RequestShape) -> None:
        prepared = self._prepared.pop(shape, None)
        if prepared is not None:
            self._bytes -= prepared.size

    def _prepare(
        self,
        exchange: Exchange,
        repeatable: RepeatableRender | RepeatableAnswer,
        headers: Headers,
        body: bytes,
        request_bytes: int,
    ) -> PreparedAnswer:
        if isinstance(repeatable, RepeatableRender):
            page, start, gapped = hot_name(repeatable.page.name), EDITION_BYTES, GappedBody([body])
        else:
            page, start = repeatable.part.stored, START_BYTES
            gapped = GappedBody.of(body, exchange.request_id, repeatable)
        admitted = exchange.relayed or exchange
        limits = [(status.policy.name, status.subject) for status in admitted.limit_statuses]
        secret_hash = key_hash(admitted.secret)
        changing = CHANGING
        if isinstance(repeatable, RepeatableAnswer) and repeatable.shows_lifetime:
            changing |= {b"cache-control"}
        lasting = [b"%b: %b\r\n" % header for header in headers if header[0] not in changing]
        head = b"".join([STATUS_LINE[exchange.status], *lasting])
        return PreparedAnswer(
            method=exchange.method,
            endpoint=exchange.endpoint,
            status=exchange.status,
            secret_hash=secret_hash,
            caller=admitted.caller,
            limits=limits,
            is_bare=exchange.dialect is not None and not exchange.dialect.adds_headers,
            repeatable=repeatable,
            question=self.hot.hit_question(self.limits.windows(limits), key_record(secret_hash), page, start),
            head=head,
            body=gapped,
            has_length=any(name == b"content-length" for name, _ in headers),
            size=PREPARED_BYTES + request_bytes + len(head) + len(body),
            closes=CLOSING in headers,
            log=self.log.requests(
                endpoint=exchange.path,
                method=exchange.method,
                status=exchange.status,
                cache_hit=True,
                caller=admitted.caller.name,
            ),
        )

    def answer(self, prepared: PreparedAnswer, peer: str, request: PlainRequest, done: Done) -> None:
        """Ask Hot, and call `done` once: before this returns, or when Hot has replied.

        Callbacks instead of a task: a task costs a turn of the event loop and a tenth of the whole answer.
        """
        prepared.question(_Attempt(self, prepared, peer, request, done, time.perf_counter()).receive)

    def client(self, peer: str, request: PlainRequest) -> str:
        forwarded = b",".join(request.values(b"x-forwarded-for")) if self.trusted_proxies else b""
        return subject(peer, forwarded.decode("latin-1"), self.trusted_proxies)

    def serve_again(self, prepared: PreparedAnswer, start: bytes | None) -> float | None:
        """The age of what the answer was made from, if that is fresh and Hot still has it: `start` is how it
        begins there."""
        repeatable = prepared.repeatable
        if isinstance(repeatable, RepeatableRender):
            page, request = repeatable
            return self.render_service.serve_again(prepared.caller, request, page, start)
        part = repeatable.part
        kept = CachedAnswer(part.since or 0.0, part.until or 0.0, b"")
        return self.cache.serve_again(part.stored, kept, repeatable.max_age, start)

    def look_up(self, lookup: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(lookup)
        self._lookups.add(task)
        task.add_done_callback(self._lookups.discard)


class _Attempt(Struct):
    """One use of a prepared answer, from the question to Hot to the answer."""

    path: HitFastPath
    prepared: PreparedAnswer
    peer: str
    request: PlainRequest
    done: Done
    started: float
    statuses: Sequence[LimitStatus] = ()

    def receive(self, facts: HitFacts | Exception) -> None:
        """Take the reply of Hot."""
        try:
            answer = self._check(facts)
        except Exception:  # noqa: BLE001  (the ordinary path gets it too, and turns it into a problem)
            answer = Fallback(self.statuses)
        if answer is not None:
            self.done(answer)

    def _check(self, facts: HitFacts | Exception) -> FastAnswer | Fallback | None:
        """None if the key has to be looked up first."""
        if isinstance(facts, Exception):
            return Fallback()
        self.statuses = self.path.limits.to_statuses(self.prepared.limits, facts.tallies)
        if not tightest(self.statuses).tally.allowed:
            return Fallback(self.statuses)
        if facts.key_record is None:
            self.path.look_up(self._look_up(facts))
            return None
        return self._answer(self.path.admission.recall(facts.key_record), facts)

    async def _look_up(self, facts: HitFacts) -> None:
        """Hot has forgotten the key. All requests that use it at this moment share one database lookup."""
        answer: FastAnswer | Fallback
        try:
            answer = self._answer(await self.path.admission.look_up(self.prepared.secret_hash), facts)
        except Exception:  # noqa: BLE001  (as above)
            answer = Fallback(self.statuses)
        self.done(answer)

    def _answer(self, caller: Caller | None, facts: HitFacts) -> FastAnswer | Fallback:
        path, prepared, statuses = self.path, self.prepared, self.statuses
        age = path.serve_again(prepared, facts.page_start) if caller == prepared.caller else None
        if age is None:
            return Fallback(statuses)
        request_id = new_request_id()
        seconds = time.perf_counter() - self.started
        path.metrics.request(prepared.endpoint, prepared.method, prepared.status, seconds)
        prepared.log(request_id, seconds * 1000, path.client(self.peer, self.request))
        repeatable = prepared.repeatable
        if isinstance(repeatable, RepeatableRender):
            body, own = prepared.body.pieces[0], b"x-cache-age: %d\r\n" % age
            if repeatable.page.on_answer is not None:
                repeatable.page.on_answer(seconds * 1000)
        else:
            body, own = prepared.body.fill(request_id, age, seconds, repeatable.new_boundary), b""
        head = prepared.head
        if prepared.has_length:
            head += b"content-length: %d\r\n" % len(body)
        if isinstance(repeatable, RepeatableAnswer) and repeatable.shows_lifetime:
            head += b"cache-control: %b\r\n" % repeatable.lifetime(age)
        if not prepared.is_bare:
            head += b"x-request-id: %b\r\n" % request_id.encode()
            head += b"x-processing-time: %d\r\n%b" % (round(seconds * 1000), own)
            head += limit_lines(tightest(statuses), statuses)
        return FastAnswer(head, body, prepared.closes)
