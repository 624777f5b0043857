"""Gives every request an id and its standard headers, logs it in one line, and counts it."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.doors.http.core.exchange import ClientGone, Exchange, Headers
from gossamer.observe.logs import Log, concerning
from gossamer.observe.metrics import Metrics
from gossamer.observe.traces import request_span

_DEFAULT_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
_DEFAULT_NAMES: Final = frozenset(name for name, _ in (*_DEFAULT_HEADERS, _HSTS))


class RequestLog:
    """Gives every request an id and a time, logs it in one line and counts it."""

    def __init__(self, app: ASGIApp, *, log: Log, metrics: Metrics, max_body: int, https: bool) -> None:
        self.app = app
        self._log = log
        self._metrics = metrics
        self._max_body = max_body
        self._defaults = [*_DEFAULT_HEADERS, _HSTS] if https else list(_DEFAULT_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = scope["exchange"] = Exchange(scope, receive, self._max_body)

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.answered = True
                if exchange.on_answer is not None:
                    exchange.on_answer()
                exchange.status = message["status"]
                message["headers"] = self._headers(message["headers"], exchange)
            await send(message)

        try:
            with (
                concerning(exchange.request_id),
                request_span(exchange.request_id, scope["headers"]) as span,
            ):
                try:
                    await self.app(scope, receive, reply)
                finally:
                    span.describe(exchange.method, exchange.endpoint, exchange.status)
        except ClientGone:
            exchange.error = "CLIENT_GONE"
        finally:
            self._record(exchange)

    def _headers(self, own: Headers, exchange: Exchange) -> Headers:
        if exchange.dialect is not None and not exchange.dialect.adds_headers:
            return own
        names = {name for name, _ in own}
        defaults = self._defaults
        if not names.isdisjoint(_DEFAULT_NAMES):
            defaults = [default for default in defaults if default[0] not in names]
        return [
            *own,
            (b"x-request-id", exchange.request_id.encode()),
            (b"x-processing-time", b"%d" % exchange.elapsed_ms()),
            *exchange.headers,
            *defaults,
        ]

    def _record(self, exchange: Exchange) -> None:
        seconds = time.perf_counter() - exchange.started
        self._metrics.request(exchange.endpoint, exchange.method, exchange.status, seconds)
        if exchange.handover.caller is not None:  # the program that called has the answer, or the error
            return
        self._log.request(
            request_id=exchange.request_id,
            endpoint=_shown_path(exchange),
            method=exchange.method,
            status=exchange.status,
            duration=seconds * 1000,
            cache_hit=exchange.cache_hit,
            payment_network=exchange.paid and exchange.paid[0],
            payment_amount=exchange.paid and str(exchange.paid[1]),
            error=exchange.error,
            client=exchange.client,
            caller=exchange.caller.name,
        )


def _shown_path(exchange: Exchange) -> str:
    """Of a route whose path has a secret in it, only the template."""
    return exchange.endpoint if exchange.route and exchange.route.has_secret_path else exchange.path
