"""Bounds the time of a request.

`asyncio.timeout` sets and cancels a timer for each request. Nearly all requests end long before their
deadline, so one timer looks at all that are running, a few times a second.
"""

import asyncio
from typing import Any, Final

from msgspec import Struct, field
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.problems import Problem
from gossamer.web.pages.long_timeout import LONGEST_TIMEOUT

OWNERS_SECONDS: Final = LONGEST_TIMEOUT / 1000 + 30
LOOK_SECONDS: Final = 0.05  # between two looks for requests that are late


class Deadline(Struct, eq=False):
    """Of one request: cancels its task, as `asyncio.timeout` does."""

    task: "asyncio.Task[Any]"
    at: float  # by the clock of the event loop
    cancelling: int  # requests to cancel the task that came before
    has_cancelled: bool = False

    def cancel(self) -> None:
        self.has_cancelled = True
        self.task.cancel()

    def end(self) -> bool:
        """Whether this deadline alone has cancelled the task. It is asked once: then the task goes on."""
        has_cancelled, self.has_cancelled = self.has_cancelled, False
        return has_cancelled and self.task.uncancel() <= self.cancelling


class RunningDeadlines:
    """Those that have not passed; the timer runs while there are any."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> Deadline:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101  (a coroutine runs in one)
        deadline = Deadline(task, loop.time() + seconds, task.cancelling())
        self._running.add(deadline)
        if self._timer is None:
            self._timer = loop.call_later(LOOK_SECONDS, self._look, loop)
        return deadline

    def end(self, deadline: Deadline) -> bool:
        self._running.discard(deadline)
        return deadline.has_cancelled and deadline.end()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for deadline in [each for each in self._running if each.at <= now]:
            self._running.discard(deadline)
            deadline.cancel()
        self._timer = loop.call_later(LOOK_SECONDS, self._look, loop) if self._running else None


class Deadlines(Struct, frozen=True):
    """Ends a request that takes longer than its route allows, or than the server runs."""

    app: ASGIApp
    seconds: float
    stopping: Stopping
    running: RunningDeadlines = field(default_factory=RunningDeadlines)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        route = exchange.route
        seconds = route.deadline if route and route.deadline is not None else self.seconds
        if exchange.handover.is_by_owner:
            seconds = max(seconds, OWNERS_SECONDS)
        deadline = self.running.start(seconds)
        try:
            await self.app(scope, receive, send)
        except asyncio.CancelledError:
            if self.running.end(deadline):
                raise _late(exchange, seconds) from None
            task = asyncio.current_task()
            if task is None or not self.stopping.is_cutting:
                raise
            task.uncancel()
            raise self.stopping.problem() from None
        finally:
            self.running.end(deadline)


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
