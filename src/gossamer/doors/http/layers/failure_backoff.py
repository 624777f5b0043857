"""Pauses requests that keep failing, by caller and kind of failure, for longer each time.

Only failures are paused. During a pause, a request that fails in the same way gets the pause as its answer. A
request that succeeds is answered as always, and ends the pauses that it disproves. A silent target gets no
requests while it is paused; its cached pages are still served.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem
from gossamer.reach.http.failures import PERMANENT
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.state.tenants.backoff import NOTHING, CountedFailure, FailureBackoff, FailureHistory, Fault
from gossamer.web.pages.timestamps import iso
from gossamer.web.url.url import Url

POLICY: Final = "repeated-failures"
FAULTS: Final = frozenset({400, 401, 403, 422})  # mistakes of the caller
_UNREACHED: Final = frozenset({"network_error", "render_timeout"})  # of a render that failed
# Errors of a browser that show that the target did answer.
_ANSWERED: Final = frozenset(PERMANENT) | {
    "ERR_CONTENT_DECODING_FAILED",
    "ERR_INVALID_REDIRECT",
    "ERR_INVALID_RESPONSE",
    "ERR_RESPONSE_HEADERS_TOO_BIG",
    "ERR_TOO_MANY_REDIRECTS",
    "ERR_UNSAFE_REDIRECT",
}


class TargetBody(msgspec.Struct):
    """The part of a request's body that names its target."""

    url: str = ""


class FailurePauses:
    def __init__(self, backoff: FailureBackoff, log: Log, metrics: Metrics) -> None:
        self.is_on = backoff.is_on
        self.ask = backoff.ask
        self.recall = backoff.recall
        self._backoff = backoff
        self._log = log
        self._metrics = metrics

    def around(self, app: ASGIApp, subject: str, past: FailureHistory) -> ASGIApp:
        return partial(self._run, app, subject, past)

    async def _run(
        self, app: ASGIApp, subject: str, past: FailureHistory, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Record the outcome before the answer is sent, so that the next request finds it."""
        exchange: Exchange = scope["exchange"]

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

    async def check_target(self, exchange: Exchange, past: FailureHistory) -> None:
        """Refuse the request if its target is paused."""
        if past.has(Fault.SILENT_TARGET):
            self._check(exchange, past, CountedFailure(Fault.SILENT_TARGET, await _site(exchange)))

    def _check(self, exchange: Exchange, past: FailureHistory, failure: CountedFailure) -> None:
        """A refusal is no failure: it does not make the pause longer."""
        seconds = self._backoff.waits(past, failure)
        if seconds <= 0:
            return
        self._metrics.count_refusal(POLICY)
        self._log.warning(
            "backed_off",
            "requests that failed too often are paused",
            requestId=exchange.request_id,
            client=exchange.client,
            policy=POLICY,
            reason=failure.fault.value,
        )
        raise _refusal(failure, past.streak(failure).failures, seconds, self._backoff.clock())

    async def _note(
        self, exchange: Exchange, subject: str, past: FailureHistory, status: int, problem: Problem | None
    ) -> None:
        if status < 400:
            if past is not NOTHING:
                site = await _site(exchange)
                await self._backoff.succeed(subject, _went_well(exchange, status, site))
            return
        failure = await _failure(exchange, status, problem)
        if failure is not None:
            self._check(exchange, past, failure)
            await self._backoff.fail(subject, failure)


async def _failure(exchange: Exchange, status: int, problem: Problem | None) -> CountedFailure | None:
    """The failure to count; None if this answer is none."""
    kind = problem.kind if problem is not None else None
    if status == 401 or kind is problems.KEY_DISABLED:
        return CountedFailure(Fault.REFUSED_KEY)
    if kind is problems.INVALID_URL:
        return CountedFailure(Fault.REFUSED_URL)
    if status in FAULTS:
        return CountedFailure(
            Fault.FORBIDDEN if status == 403 else Fault.MALFORMED_REQUEST, exchange.endpoint
        )
    if problem is not None and _is_miss(problem) and (site := await _site(exchange)):
        return CountedFailure(Fault.SILENT_TARGET, site)
    return None


def _went_well(exchange: Exchange, status: int, site: str) -> Iterator[CountedFailure]:
    """The failures that a success ends. It never ends those of bad keys."""
    yield CountedFailure(Fault.MALFORMED_REQUEST, exchange.endpoint)
    yield CountedFailure(Fault.FORBIDDEN, exchange.endpoint)
    if site:
        yield CountedFailure(Fault.REFUSED_URL)
        # An answer from the cache and a queued job do not show that the target answers.
        if not exchange.cache_hit and status != 202:
            yield CountedFailure(Fault.SILENT_TARGET, site)


def _is_miss(problem: Problem) -> bool:
    """Whether the target did not answer. A target that answers with an error has answered."""
    reason, cause = problem.reason, problem.cause
    if problem.kind is problems.FETCH_TIMEOUT:
        return reason != FetchReason.BUSY  # we were busy, not the target
    if problem.kind is problems.FETCH_FAILED:
        return reason not in PERMANENT
    return problem.kind is problems.RENDER_FAILED and reason in _UNREACHED and cause not in _ANSWERED


async def _site(exchange: Exchange) -> str:
    """The site of the requested page; empty if it is not known."""
    if exchange.method != "POST":
        return ""
    try:
        return Url.parse(msgspec.json.decode(await exchange.body(), type=TargetBody).url).site
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Problem):
        return ""


_PAUSED: Final = {
    Fault.MALFORMED_REQUEST: "requests to {about} were malformed: malformed requests to it",
    Fault.REFUSED_URL: "requests named a URL that is refused: requests with such URLs",
    Fault.FORBIDDEN: "requests to {about} were forbidden: forbidden requests to it",
    Fault.REFUSED_KEY: "requests had no valid API key: requests without one",
    Fault.SILENT_TARGET: "requests to {about} had no answer: new requests to it",
}
_HINTS: Final = {
    Fault.MALFORMED_REQUEST: "Compare the request with /docs. Well-formed requests are answered as usual.",
    Fault.REFUSED_URL: "Only public addresses can be fetched. Requests with these are answered as usual.",
    Fault.FORBIDDEN: "Use a key that may do this. All other requests are answered as usual.",
    Fault.REFUSED_KEY: "Check the key. Requests with a valid one are answered as usual.",
    Fault.SILENT_TARGET: "Requests for other targets, and for its cached pages, are answered as usual.",
}


def _refusal(failure: CountedFailure, failures: int, seconds: float, now: float) -> Problem:
    left = math.ceil(seconds)
    paused = _PAUSED[failure.fault].format(about=failure.about)
    return Problem(
        problems.RATE_LIMITED,
        f"The last {failures} {paused} are paused. Each further failure makes the pause longer.",
        hint=f"Try again in {left} s. {_HINTS[failure.fault]}",
        headers={"Retry-After": str(left)},
        retryAfter=left,
        resetAt=iso(now + seconds),
        details={"policy": POLICY, "reason": failure.fault.value, "failures": failures}
        | ({"paused": failure.about} if failure.about else {}),
    )
