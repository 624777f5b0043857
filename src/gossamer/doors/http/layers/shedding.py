"""Refuses requests at once while too many others are in progress.

Without it, a server that falls behind keeps all callers waiting until their deadlines have passed. A request
counts until its answer begins, so that streams do not count. Health and metrics are always answered.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Busy

RETRY_SECONDS = 1


class Shedding:
    def __init__(self, app: ASGIApp, *, max_requests: int) -> None:
        self.app = app
        self._max_requests = max_requests
        self._in_progress: set[Exchange] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        if exchange.route is not None and not exchange.route.counted:
            await self.app(scope, receive, send)
            return
        if len(self._in_progress) >= self._max_requests:
            why = f"{self._max_requests} requests are in progress already"
            raise Busy("server", why, retry_after=RETRY_SECONDS)
        exchange.on_answer = self._in_progress.discard
        self._in_progress.add(exchange)
        try:
            await self.app(scope, receive, send)
        finally:
            self._in_progress.discard(exchange)
