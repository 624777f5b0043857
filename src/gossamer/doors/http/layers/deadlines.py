"""Bounds the time of a request."""

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.problems import Problem
from gossamer.web.pages.long_timeout import LONGEST_TIMEOUT

OWNERS_SECONDS: Final = LONGEST_TIMEOUT / 1000 + 30


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Ends a request that takes longer than its route allows, or than the server runs."""

    app: ASGIApp
    seconds: float
    stopping: Stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        route = exchange.route
        seconds = route.deadline if route and route.deadline is not None else self.seconds
        if exchange.handover.is_by_owner:
            seconds = max(seconds, OWNERS_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                await self.app(scope, receive, send)
        except TimeoutError:
            raise _late(exchange, seconds) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or not self.stopping.is_cutting:
                raise
            task.uncancel()
            raise self.stopping.problem() from None


def _late(exchange: Exchange, seconds: float) -> Problem:
    if exchange.is_arriving:
        return Problem(
            problems.REQUEST_TIMEOUT, f"The request's body did not arrive within {seconds:g} seconds."
        )
    return Problem(
        problems.SERVICE_UNAVAILABLE,
        f"The request was not answered within {seconds:g} seconds.",
        headers={"Retry-After": "5"},
        retryAfter=5,
    )
