"""Answers repeated requests for a page of the hot tier without parsing them or running the layers.

Bots, and the proxies in front of them, send the same bytes again and again. The first such request takes the
ordinary path through all the layers. If it is answered with a page from the hot tier, a `PreparedAnswer` is
kept under the bytes of the request. The next time, one prepared question to Hot checks what may have changed:
is the key still good, is the caller within its limits, and is this still the page, and fresh? If anything is
unusual, the request takes the ordinary path after all, and is not counted twice.

The fast path decides nothing by itself: the head of the answer is the one that the ordinary path sent, with
the fields of `CHANGING` written again. A prepared answer is useless without the key's secret, because the
secret is part of the bytes.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gossamer.doors.http.core.exchange import Exchange, Headers, new_request_id
from gossamer.doors.http.layers.limiting import limit_lines
from gossamer.flows.render.serve import HotPage, RenderService
from gossamer.flows.tenants.admit import Admission, Caller, key_record
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.state.kv.hot import HitFacts, HitQuestion, Hot
from gossamer.state.pages.cached_page import EDITION_BYTES
from gossamer.state.pages.hot_pages import hot_name
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.limits import Limits, LimitStatus, tightest
from gossamer.state.tenants.tenants import key_hash
from gossamer.web.render.request import RenderRequest

MAX_PREPARED: Final = 4_096
MAX_PREPARED_BYTES: Final = 64_000_000  # of their bodies
MAX_REQUEST_BYTES: Final = 4_096
CHANGING: Final = frozenset(
    {b"date", b"x-request-id", b"x-processing-time", b"x-cache-age"}
    | {b"ratelimit", b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"}
)


class RawRequest(NamedTuple):
    """The bytes of a whole request, and the address that sent them."""

    peer: str
    data: bytes


class PreparedAnswer(NamedTuple):
    """The facts about a request that the ordinary path answered with a page from the hot tier."""

    method: str
    endpoint: str  # the route's template
    status: int
    secret_hash: str
    caller: Caller
    limits: Sequence[tuple[str, str]]  # the policies that it counts under, each with its subject
    page: HotPage
    request: RenderRequest
    question: HitQuestion
    head: bytes  # of the answer, without the fields that change
    body: bytes
    log: Callable[[str, float], None]  # writes the log line, given the request's id and its milliseconds


class FastAnswer(NamedTuple):
    """An answer that is ready to be written."""

    head: bytes
    body: bytes


class Fallback(NamedTuple):
    """The request must take the ordinary path; these limits have counted it already."""

    statuses: Sequence[LimitStatus] = ()


Done = Callable[[FastAnswer | Fallback], None]


@dataclass(slots=True)
class HitFastPath:
    """Prepared answers by the bytes of their requests; the least recently used ones leave first."""

    hot: Hot
    render_service: RenderService
    admission: Admission
    limits: Limits
    log: Log
    metrics: Metrics
    _prepared: OrderedDict[RawRequest, PreparedAnswer] = field(default_factory=OrderedDict)
    _bytes: int = 0  # of the bodies
    _lookups: set[asyncio.Task[None]] = field(default_factory=set)  # of keys that Hot has forgotten

    def find(self, request: RawRequest) -> PreparedAnswer | None:
        prepared = self._prepared.get(request)
        if prepared is not None:
            self._prepared.move_to_end(request)
        return prepared

    def prepare(self, request: RawRequest, exchange: Exchange, headers: Headers, body: bytes) -> None:
        """Keep what the ordinary path has just answered, if it was a page from the hot tier."""
        if exchange.hot_page is None or exchange.header(b"idempotency-key") is not None:
            return
        if exchange.caller.via is not Via.KEY:  # a session may end at any moment
            return
        self.discard(request)
        self._prepared[request] = self._prepare(exchange, *exchange.hot_page, headers, body)
        self._bytes += len(body)
        while len(self._prepared) > MAX_PREPARED or self._bytes > MAX_PREPARED_BYTES:
            self.discard(next(iter(self._prepared)))

    def discard(self, request: RawRequest) -> None:
        prepared = self._prepared.pop(request, None)
        if prepared is not None:
            self._bytes -= len(prepared.body)

    def _prepare(
        self, exchange: Exchange, page: HotPage, request: RenderRequest, headers: Headers, body: bytes
    ) -> PreparedAnswer:
        limits = [(status.policy.name, status.subject) for status in exchange.limit_statuses]
        secret_hash = key_hash(exchange.secret)
        lasting = [b"%b: %b\r\n" % header for header in headers if header[0] not in CHANGING]
        return PreparedAnswer(
            method=exchange.method,
            endpoint=exchange.endpoint,
            status=exchange.status,
            secret_hash=secret_hash,
            caller=exchange.caller,
            limits=limits,
            page=page,
            request=request,
            question=self.hot.hit_question(
                self.limits.windows(limits), key_record(secret_hash), hot_name(page.name), EDITION_BYTES
            ),
            head=b"".join([STATUS_LINE[exchange.status], *lasting]),
            body=body,
            log=self.log.requests(
                endpoint=exchange.path,
                method=exchange.method,
                status=exchange.status,
                cache_hit=True,
                client=exchange.client,
                caller=exchange.caller.name,
            ),
        )

    def answer(self, prepared: PreparedAnswer, done: Done) -> None:
        """Ask Hot, and call `done` once: before this returns, or when Hot has replied.

        Callbacks instead of a task: a task costs a turn of the event loop and a tenth of the whole answer.
        """
        prepared.question(_Attempt(self, prepared, done, time.perf_counter()).receive)

    def look_up(self, lookup: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(lookup)
        self._lookups.add(task)
        task.add_done_callback(self._lookups.discard)


@dataclass(slots=True)
class _Attempt:
    """One use of a prepared answer, from the question to Hot to the answer."""

    path: HitFastPath
    prepared: PreparedAnswer
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
        age = None
        if caller == prepared.caller:
            age = path.render_service.serve_again(
                prepared.caller, prepared.request, prepared.page, facts.page_start
            )
        if age is None:
            return Fallback(statuses)
        request_id = new_request_id()
        seconds = time.perf_counter() - self.started
        path.metrics.request(prepared.endpoint, prepared.method, prepared.status, seconds)
        prepared.log(request_id, seconds * 1000)
        if prepared.page.on_answer is not None:
            prepared.page.on_answer(seconds * 1000)
        changing = b"x-request-id: %b\r\nx-processing-time: %d\r\nx-cache-age: %d\r\n" % (
            request_id.encode(),
            round(seconds * 1000),
            age,
        )
        head = prepared.head + changing + limit_lines(tightest(statuses), statuses)
        return FastAnswer(head, prepared.body)
