"""Counts requests against rate limits, and puts the state of the limits into the headers of the answer.

A request is counted by the work that it causes. If a cache may answer, this is known only after the lookup,
so there are two steps. First the request is counted as a hit. Before the endpoint does work that the cache
could not save, it calls `exchange.admit_work`: the request is then counted as work instead, or refused. A
caller with no work left is still served from the cache.
"""

import math
from collections.abc import Awaitable, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.doors.http.core.exchange import Exchange, Headers
from gossamer.doors.http.layers.failure_backoff import FailurePauses
from gossamer.flows.pages.caching import admit_always
from gossamer.flows.pay.quotes import UNPAID
from gossamer.flows.render.serve import LimitReached
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem
from gossamer.state.tenants.backoff import FailureHistory
from gossamer.state.tenants.limits import (
    Limits,
    LimitStatus,
    limit_problem,
    seconds_to_wait,
    tightest,
)
from gossamer.state.tenants.tenants import Role

T = TypeVar("T")


class Limiting:
    """Counts the request, and reports the limits of its caller on every answer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        pauses: FailurePauses,
        log: Log,
        metrics: Metrics,
        upgrade_url: str,
        paying: bool = False,
    ) -> None:
        self.app = app
        self._paying = paying
        self._limits = limits
        self._pauses = pauses
        self._log = log
        self._metrics = metrics
        self._upgrade_url = upgrade_url or None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        route = exchange.route
        counts = route is None or route.counted
        # A request with a price is counted once it is known whether it is paid; see `paying`.
        pays = self._paying and _is_priced(exchange)
        cost = 1 if counts and not pays else 0
        is_control = _is_control(exchange)
        own = (UNPAID, exchange.client) if pays else _own(exchange, is_control=is_control)
        asks = [own] if pays or route is None else [own, *((name, own[1]) for name in route.policies)]
        # Asked together with the limits; the subject of the first limit is the caller.
        watched = counts and self._pauses.is_on and not is_control
        asked = self._pauses.ask(own[1]) if watched else None
        statuses = list(exchange.handover.limit_statuses) or await self._limits.take(asks, cost=cost)
        past = await self._pauses.recall(own[1], asked) if watched else None
        exchange.limit_statuses = statuses
        status = tightest(statuses)
        exchange.headers.extend(limit_headers(status, statuses))
        if cost and not status.tally.allowed:
            raise self._refuse(status, exchange)
        app = self.app if past is None else self._pauses.around(self.app, own[1], past)
        if route is None or route.peek is None:
            await app(scope, receive, send)
        else:
            await self._admit(app, past, scope, receive, send)

    async def _admit(
        self, app: ASGIApp, past: FailureHistory | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request that a cache may answer."""
        exchange: Exchange = scope["exchange"]
        counted = Counted(self._limits, exchange)
        exchange.admit_work = partial(self._admit_work, counted, past)

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                await counted.settle()
            await send(message)

        try:
            await app(scope, receive, reply)
        except Problem:  # of a layer: it becomes an answer further out
            if not exchange.answered:
                await counted.settle()
            raise
        finally:
            exchange.admit_work = admit_always

    async def _admit_work(self, counted: "Counted", past: FailureHistory | None) -> None:
        if counted.is_work:
            return
        counted.is_known = True
        if past is not None:
            await self._pauses.check_target(counted.exchange, past)
        full = await counted.as_work()
        if full is not None:
            raise self._refuse(full, counted.exchange)

    def _refuse(self, status: LimitStatus, exchange: Exchange) -> Problem:
        tally = status.tally
        self._metrics.count_refusal(status.policy.name)
        self._log.warning(
            "rate_limited",
            "a caller is over its limit",
            requestId=exchange.request_id,
            client=exchange.client,
            policy=status.policy.name,
            remaining=tally.remaining,
        )
        return limit_problem(status, self._upgrade_url)


class Counted:
    """A request that counts as a hit until it is known to be work.

    A request that fails before its first work is not a hit: it counts as work if there is room. A request
    that is refused as work stays a hit, so that every lookup in the cache is counted. Only requests with a
    key have these limits.
    """

    def __init__(self, limits: Limits, exchange: Exchange) -> None:
        self.exchange = exchange
        self.is_known = False  # whether it is a hit or work
        self.is_work = False
        self._limits = limits
        self._hit = exchange.limit_statuses[0] if exchange.caller.role is not Role.NOBODY else None

    async def as_work(self) -> LimitStatus | None:
        """Count it as work instead of as a hit. Returns the limit that does not allow it, if there is one."""
        if self._hit is not None:
            work = (await self._limits.take([self.exchange.caller.work]))[0]
            if not work.tally.allowed:
                count_also(self.exchange, work)
                return work
            await self._limits.give_back(self._hit)
            report_limits(self.exchange, [work, *self.exchange.limit_statuses[1:]])
        self.is_work = True
        return None

    async def settle(self) -> None:
        """Count a request that has failed."""
        if not self.is_known:
            self.is_known = True
            await self.as_work()


async def within_limits(exchange: Exchange, upgrade_url: str | None, work: Awaitable[T]) -> T:
    """Return the result of `work`, or raise the refusal if it exceeds a limit that it counts under itself."""
    try:
        return await work
    except LimitReached as reached:
        count_also(exchange, reached.status)
        raise limit_problem(reached.status, upgrade_url) from None


def count_also(exchange: Exchange, status: LimitStatus) -> None:
    """Add to the answer's headers a policy that an endpoint has counted under itself."""
    report_limits(exchange, [*exchange.limit_statuses, status])


def report_limits(exchange: Exchange, statuses: list[LimitStatus]) -> None:
    """Put these policies into the answer's headers."""
    exchange.limit_statuses = statuses
    renewed = limit_headers(tightest(statuses), statuses)
    names = {name for name, _ in renewed}
    exchange.headers[:] = [field for field in exchange.headers if field[0] not in names] + renewed


def _is_priced(exchange: Exchange) -> bool:
    return exchange.route is not None and bool(exchange.route.price) and exchange.caller.role is Role.NOBODY


def _own(exchange: Exchange, *, is_control: bool) -> tuple[str, str]:
    """The policy of this kind of request, with its subject; if a cache may answer, that of a hit."""
    caller = exchange.caller
    if caller.role is Role.NOBODY:
        reads = exchange.method in ("GET", "HEAD", "OPTIONS")
        return "anonymous-read" if reads else "anonymous-post", exchange.client
    if exchange.route is not None and exchange.route.peek is not None:
        return caller.hits
    return caller.control if is_control else caller.work


def _is_control(exchange: Exchange) -> bool:
    has_key = exchange.caller.role is not Role.NOBODY
    return has_key and exchange.route is not None and exchange.route.is_control


def limit_headers(status: LimitStatus, statuses: Sequence[LimitStatus]) -> Headers:
    """X-RateLimit-* report the tightest policy; the IETF fields list all policies that applied."""
    tally = status.tally
    policies, left = [], []
    for one in statuses:
        policies.append(_policy(one.policy.name, one.tally.limit, one.policy.rate.seconds))
        left.append(_left(one))
    return [
        (b"x-ratelimit-limit", b"%d" % tally.limit),
        (b"x-ratelimit-remaining", b"%d" % tally.remaining),
        (b"x-ratelimit-reset", b"%d" % math.ceil(tally.reset_at)),
        (b"ratelimit-policy", b", ".join(policies)),
        (b"ratelimit", b", ".join(left)),
    ]


@lru_cache
def _policy(name: str, limit: int, seconds: int) -> bytes:
    return b'"%b";q=%d;w=%d' % (name.encode(), limit, seconds)


def limit_lines(status: LimitStatus, statuses: Sequence[LimitStatus]) -> bytes:
    """The header lines that differ from one request of a caller to the next, as they are sent."""
    tally = status.tally
    return (
        b"x-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\nratelimit: %b\r\n"
        % (tally.limit, tally.remaining, math.ceil(tally.reset_at), b", ".join(map(_left, statuses)))
    )


def _left(status: LimitStatus) -> bytes:
    tally = status.tally
    return b'"%b";r=%d;t=%d' % (status.policy.name.encode(), tally.remaining, seconds_to_wait(tally))
