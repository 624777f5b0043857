"""Finds the route of a request."""

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Router


class Routing(Struct, frozen=True):
    """Puts the route into the exchange, so that the next layers know its declaration."""

    app: ASGIApp
    router: Router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        refusal = exchange.handover.refusal
        if refusal is not None:
            exchange.denial = refusal
        else:
            self.router.find(exchange)
        await self.app(scope, receive, send)
