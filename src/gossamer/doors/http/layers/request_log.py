"""Gives every request an id and its standard headers, logs it in one line, and counts it."""

import time
from collections.abc import Awaitable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.doors.http.core.exchange import ClientGone, Exchange, Headers
from gossamer.observe import traces
from gossamer.observe.logs import Log, mark_request, unmark_request
from gossamer.observe.metrics import Metrics

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
        exchange = scope[Exchange.KEY] = Exchange(scope, receive, self._max_body)

        def reply(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                exchange.answered = True
                if exchange.on_answer is not None:
                    exchange.on_answer(exchange)
                exchange.status = message["status"]
                message["headers"] = self._headers(message["headers"], exchange)
            return send(message)

        before = mark_request(exchange.request_id)
        try:
            if traces.are_on():
                await self._trace(exchange, receive, reply)
            else:
                await self.app(scope, receive, reply)
        except ClientGone:
            exchange.error = "CLIENT_GONE"
        finally:
            unmark_request(before)
            self._record(exchange)

    async def _trace(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        with traces.request_span(exchange.request_id, exchange.scope["headers"]) as span:
            try:
                await self.app(exchange.scope, receive, send)
            finally:
                span.describe(exchange.method, exchange.endpoint, exchange.status)

    def _headers(self, own: Headers, exchange: Exchange) -> Headers:
        if exchange.dialect is not None and not exchange.dialect.adds_headers:
            return own
        names = dict(own)
        defaults = self._defaults
        if not _DEFAULT_NAMES.isdisjoint(names):
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
        template = exchange.endpoint
        self._metrics.request(template, exchange.method, exchange.status, seconds)
        if exchange.handover.caller is not None:  # the program that called has the answer, or the error
            return
        self._log.request(
            request_id=exchange.request_id,
            endpoint=template if exchange.route and exchange.route.has_secret_path else exchange.path,
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
