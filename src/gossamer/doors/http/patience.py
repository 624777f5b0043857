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
from gossamer.state.backoff import NOTHING, Backoff, Past
from gossamer.web.url import Url

POLICY: Final = "repeated-failures"
FAULTS: Final = frozenset({400, 401, 403, 422})  # what the caller has done wrong
MISS: Final = 502  # what a target has not done


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
                await self._note(exchange, subject, past, message["status"])
            await send(message)

        try:
            await app(scope, receive, reply)
        except Problem as problem:  # of a layer: it becomes an answer further out
            if not exchange.answered:
                await self._note(exchange, subject, past, problem.kind.status)
            raise

    async def _check(self, exchange: Exchange, past: Past) -> None:
        """A refusal is no failure: it does not make the pause longer."""
        seconds = self._backoff.waits(past, await _site(exchange) if past.misses else "")
        if seconds <= 0:
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

    async def _note(self, exchange: Exchange, subject: str, past: Past, status: int) -> None:
        if status < 400:
            if past is not NOTHING:
                await self._backoff.success(subject, await _site(exchange) if past.misses else "")
        elif status in FAULTS:
            await self._backoff.fault(subject)
        elif status == MISS and (site := await _site(exchange)):
            await self._backoff.miss(subject, site)


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
