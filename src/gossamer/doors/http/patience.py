"""Patience: callers whose requests fail again and again are kept waiting, each time longer."""

import math
from typing import Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.exchange import Exchange
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Problem
from gossamer.reach.failures import PERMANENT
from gossamer.state.backoff import NOTHING, Backoff, Past
from gossamer.web.url import Url

POLICY: Final = "repeated-failures"
FAULTS: Final = frozenset({400, 401, 403, 422})  # what the caller has done wrong
_UNREACHED: Final = frozenset({"network_error", "render_timeout"})  # of a render that failed
# Of these, what a browser says of a target that did answer.
_ANSWERED: Final = frozenset(PERMANENT) | {
    "ERR_CONTENT_DECODING_FAILED",
    "ERR_INVALID_REDIRECT",
    "ERR_INVALID_RESPONSE",
    "ERR_RESPONSE_HEADERS_TOO_BIG",
    "ERR_TOO_MANY_REDIRECTS",
    "ERR_UNSAFE_REDIRECT",
}


class Aimed(msgspec.Struct):
    """As much of a request's body as says where it leads."""

    url: str = ""


class Patience:
    def __init__(self, backoff: Backoff, log: Log, metrics: Metrics) -> None:
        self.is_on = backoff.is_on
        self.ask = backoff.ask
        self.recall = backoff.recall
        self._backoff = backoff
        self._log = log
        self._metrics = metrics

    async def run(
        self, app: ASGIApp, subject: str, past: Past, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The request, unless its caller has to wait; what comes of it is noted before it is answered, so
        that the next request finds it."""
        exchange: Exchange = scope["exchange"]
        if past is not NOTHING:
            await self._check(exchange, past)

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(exchange, subject, past, message["status"], exchange.problem)
            await send(message)

        try:
            await app(scope, receive, reply)
        except Problem as problem:  # of a layer: it becomes an answer further out
            if not exchange.answered:
                await self._note(exchange, subject, past, problem.kind.status, problem)
            raise

    async def _check(self, exchange: Exchange, past: Past) -> None:
        """A refusal is no failure: it does not make the pause longer. What the cache has is nobody's miss."""
        own = self._backoff.waits(past)
        seconds = self._backoff.waits(past, await _site(exchange)) if past.misses else own
        if seconds <= 0 or (own <= 0 and await _is_kept(exchange)):
            return
        self._metrics.rate_limited(POLICY)
        self._log.warning(
            "backed_off",
            "a caller has failed too often",
            requestId=exchange.request_id,
            client=exchange.client,
            policy=POLICY,
        )
        raise _refusal(math.ceil(seconds))

    async def _note(
        self, exchange: Exchange, subject: str, past: Past, status: int, problem: Problem | None
    ) -> None:
        if status < 400:
            if past is not NOTHING:
                has_answered = past.misses and not exchange.cache_hit
                await self._backoff.success(subject, await _site(exchange) if has_answered else "")
        elif status in FAULTS:
            await self._backoff.fault(subject)
        elif problem is not None and _is_miss(problem) and (site := await _site(exchange)):
            await self._backoff.miss(subject, site)


def _is_miss(problem: Problem) -> bool:
    """The target did not answer in time or at all. One that did is there, whatever it said."""
    details = problem.members.get("details") or {}
    reason, cause = details.get("reason"), details.get("cause")
    if problem.kind is problems.FETCH_TIMEOUT:
        return reason != "busy"  # which we were
    if problem.kind is problems.FETCH_FAILED:
        return reason not in PERMANENT
    return problem.kind is problems.RENDER_FAILED and reason in _UNREACHED and cause not in _ANSWERED


async def _is_kept(exchange: Exchange) -> bool:
    """Whether the cache has what is asked for, so that no target need be asked."""
    route = exchange.route
    if route is None or route.peek is None:
        return False
    try:
        return await route.peek(exchange, **await route.arguments(exchange))
    except Problem:
        return False


async def _site(exchange: Exchange) -> str:
    """Whose page is asked for; empty where that cannot be told."""
    if exchange.method != "POST":
        return ""
    try:
        return Url.parse(msgspec.json.decode(await exchange.body(), type=Aimed).url).site
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Problem):
        return ""


def _refusal(seconds: int) -> Problem:
    return Problem(
        problems.RATE_LIMITED,
        "Too many requests in a row have failed; each further failure makes the pause longer.",
        hint=f"Find out why they fail, and try again in {seconds} s.",
        headers={"Retry-After": str(seconds)},
        retryAfter=seconds,
        details={"reason": "repeated_failures", "policy": POLICY},
    )
