"""Answers CORS preflights, and lets named origins read answers."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.doors.http.core.exchange import Exchange

# Headers that a page of another origin may read, beside those that the Fetch standard always allows.
_EXPOSED: Final = (
    *("X-Request-Id", "X-Processing-Time", "X-Idempotent-Replayed"),
    *("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"),
    *("Retry-After", "Location", "ETag", "Vary", "Allow", "WWW-Authenticate", "Content-Disposition"),
    *("PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE", "X-Order-Capability", "X-Credit-Spent"),
    *("X-Cache", "X-Cache-Age", "X-Cache-Location", "X-Cache-Stale", "X-Cache-Status", "X-Promotion"),
    *("X-Outcome", "X-Final-Url", "X-Page-Status", "X-Page-Kind", "X-Page-Count", "X-Captured-At"),
    *("X-Truncated", "X-Missing-Scripts", "X-Outcome-Reason"),
)
_CROSS_ORIGIN: Final = (
    (b"vary", b"Origin"),
    (b"access-control-expose-headers", ", ".join(_EXPOSED).encode()),
)
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match"
    ", Last-Event-ID, PAYMENT-SIGNATURE, X-PAYMENT",
    "Access-Control-Max-Age": "600",
}


class CrossOrigin:
    """Allows pages of another origin to call if the operator has named that origin."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self.app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        origin = exchange.header(b"origin")
        if origin is None or not self._origins & {origin, "*"}:
            await self.app(scope, receive, send)
            return
        exchange.headers.extend([(b"access-control-allow-origin", origin.encode("latin-1")), *_CROSS_ORIGIN])
        if exchange.method == "OPTIONS" and exchange.header(b"access-control-request-method"):
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
