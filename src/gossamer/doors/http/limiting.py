"""Limits at the HTTP door: which policies a request counts under, and the headers that say how it stands."""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, Headers
from gossamer.doors.http.patience import Patience
from gossamer.flows.quotes import UNPAID
from gossamer.flows.serve import LimitReached
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Problem
from gossamer.state.hot import Tally
from gossamer.state.limits import Limits, Standing, refusal, tightest
from gossamer.state.tenants import Role

T = TypeVar("T")


class Limiting:
    """Counts the request and says on every answer how its caller stands."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        patience: Patience,
        log: Log,
        metrics: Metrics,
        upgrade_url: str,
        paying: bool = False,
    ) -> None:
        self.app = app
        self._paying = paying
        self._limits = limits
        self._patience = patience
        self._log = log
        self._metrics = metrics
        self._upgrade_url = upgrade_url or None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        counts = not exchange.route or exchange.route.counted
        # What is to be paid for is counted once it is known whether it is; see `paying`.
        pays = self._paying and _is_priced(exchange)
        cost = 1 if counts and not pays else 0
        asks = [(UNPAID, exchange.client)] if pays else _asks(exchange)
        # Together with the limits; a caller is who its first limit is counted for.
        watched = counts and self._patience.is_on
        asked = self._patience.ask(asks[0][1]) if watched else None
        counted: list[Standing] | None = scope.get("standings")  # by the express lane
        standings = counted or await self._limits.take(asks, cost=cost)
        past = await self._patience.recall(asks[0][1], asked) if watched else None
        exchange.standings = standings
        standing = tightest(standings)
        exchange.headers.extend(limit_headers(standing, standings))
        if cost and not standing.tally.allowed:
            raise self._refuse(standing, exchange)
        if past is None:
            await self.app(scope, receive, send)
        else:
            await self._patience.run(self.app, asks[0][1], past, scope, receive, send)

    def _refuse(self, standing: Standing, exchange: Exchange) -> Problem:
        tally = standing.tally
        self._metrics.rate_limited(standing.policy.name)
        self._log.warning(
            "rate_limited",
            "a caller is over its limit",
            requestId=exchange.request_id,
            client=exchange.client,
            policy=standing.policy.name,
            remaining=tally.remaining,
        )
        return refused(standing, self._upgrade_url)


def refused(standing: Standing, upgrade_url: str | None) -> Problem:
    tally = standing.tally
    return refusal(standing, seconds_to_wait(tally), moments.iso(tally.reset_at), upgrade_url)


async def within_limits(exchange: Exchange, upgrade_url: str | None, work: Awaitable[T]) -> T:
    """What `work` answers, or the refusal where it went over a limit that it counts under by itself."""
    try:
        return await work
    except LimitReached as reached:
        count_also(exchange, reached.standing)
        raise refused(reached.standing, upgrade_url) from None


def count_also(exchange: Exchange, standing: Standing) -> None:
    """Have the answer speak of a policy too that an endpoint has counted under by itself."""
    exchange.standings.append(standing)
    renewed = limit_headers(tightest(exchange.standings), exchange.standings)
    names = {name for name, _ in renewed}
    exchange.headers[:] = [field for field in exchange.headers if field[0] not in names] + renewed


def _is_priced(exchange: Exchange) -> bool:
    return exchange.route is not None and bool(exchange.route.price) and exchange.caller.role is Role.NOBODY


def _asks(exchange: Exchange) -> list[tuple[str, str]]:
    """The policies that this request counts under, each with whom it is counted for."""
    caller = exchange.caller
    if caller.role is Role.NOBODY:
        reads = exchange.method in ("GET", "HEAD", "OPTIONS")
        subject = exchange.client
        own = ("anonymous-read" if reads else "anonymous-post", subject)
    else:
        subject = caller.key_id
        own = (caller.role.value, subject)
    return [own, *((name, subject) for name in (exchange.route.policies if exchange.route else ()))]


def limit_headers(standing: Standing, standings: Sequence[Standing]) -> Headers:
    """X-RateLimit-* speak of the tightest policy; the IETF fields list all that applied."""
    tally = standing.tally
    policy = ", ".join([f'"{s.policy.name}";q={s.tally.limit};w={s.policy.rate.seconds}' for s in standings])
    return [
        (b"x-ratelimit-limit", b"%d" % tally.limit),
        (b"x-ratelimit-remaining", b"%d" % tally.remaining),
        (b"x-ratelimit-reset", b"%d" % -(-tally.reset_at // 1)),
        (b"ratelimit-policy", policy.encode()),
        (b"ratelimit", _left(standings)),
    ]


def limit_lines(standing: Standing, standings: Sequence[Standing]) -> bytes:
    """Those of them that differ from one request of a caller to the next, as they are sent."""
    tally = standing.tally
    return (
        b"x-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\nratelimit: %b\r\n"
        % (tally.limit, tally.remaining, -(-tally.reset_at // 1), _left(standings))
    )


def _left(standings: Sequence[Standing]) -> bytes:
    told = [f'"{s.policy.name}";r={s.tally.remaining};t={seconds_to_wait(s.tally)}' for s in standings]
    return ", ".join(told).encode()


def seconds_to_wait(tally: Tally) -> int:
    """Whole seconds, rounded up, by the clock of the store that counted."""
    return max(0, int(-(-(tally.reset_at - tally.stamp / 1_000_000) // 1)))
