"""The layers around every endpoint, each plain ASGI. `layers.py` lists them in their order."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http import clients
from gossamer.doors.http.exchange import ClientGone, Exchange, Headers
from gossamer.doors.http.routing import Router
from gossamer.flows.admit import Admission, Caller, unauthorized
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Problem, Unavailable
from gossamer.state.tenants import Role

_DEFAULT_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
# What a page of another origin may read of an answer, beside what the Fetch standard lets it read anyhow.
_EXPOSED: Final = (
    *("X-Request-Id", "X-Processing-Time", "X-Idempotent-Replayed"),
    *("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"),
    *("Retry-After", "Location", "ETag", "Allow", "WWW-Authenticate", "Content-Disposition"),
    *("PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE"),
    *("X-Cache", "X-Cache-Age", "X-Cache-Location", "X-Cache-Stale", "X-Cache-Status", "X-Promotion"),
    *("X-Outcome", "X-Final-Url", "X-Page-Status", "X-Page-Count", "X-Captured-At", "X-Truncated"),
)
_CROSS_ORIGIN: Final = (
    (b"vary", b"Origin"),
    (b"access-control-expose-headers", ", ".join(_EXPOSED).encode()),
)
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match"
    ", Last-Event-ID, PAYMENT-SIGNATURE, X-PAYMENT",
    "Access-Control-Max-Age": "600",
}
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")


class Tracing:
    """Every request gets an id, a time, one log line and its share of the metrics."""

    def __init__(self, app: ASGIApp, *, log: Log, metrics: Metrics, max_body: int, https: bool) -> None:
        self.app = app
        self._log = log
        self._metrics = metrics
        self._max_body = max_body
        self._defaults = (*_DEFAULT_HEADERS, _HSTS) if https else _DEFAULT_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = scope["exchange"] = Exchange(scope, receive, self._max_body)

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.answered = True
                exchange.status = message["status"]
                message["headers"] = self._headers(message["headers"], exchange)
            await send(message)

        try:
            await self.app(scope, receive, reply)
        except ClientGone:
            exchange.error = "CLIENT_GONE"
        finally:
            self._record(exchange)

    def _headers(self, own: Headers, exchange: Exchange) -> Headers:
        names = {name for name, _ in own}
        return [
            *own,
            (b"x-request-id", exchange.request_id.encode()),
            (b"x-processing-time", b"%d" % exchange.elapsed_ms()),
            *exchange.headers,
            *(default for default in self._defaults if default[0] not in names),
        ]

    def _record(self, exchange: Exchange) -> None:
        seconds = time.perf_counter() - exchange.started
        self._metrics.request(exchange.endpoint, exchange.method, exchange.status, seconds)
        self._log.request(
            request_id=exchange.request_id,
            endpoint=exchange.path,
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


class CrossOrigin:
    """Pages of other origins may call only where the operator named their origin."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        self.app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        origin = exchange.header(b"origin") if self._origins else None
        if origin is None or not self._origins & {origin, "*"}:
            await self.app(scope, receive, send)
            return
        exchange.headers.extend([(b"access-control-allow-origin", origin.encode("latin-1")), *_CROSS_ORIGIN])
        if exchange.method == "OPTIONS" and exchange.header(b"access-control-request-method"):
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Problems:
    """Whatever goes wrong inside leaves as a problem document.

    It stands in the list twice: outside, where nothing gets past it, and around the endpoint, so that a
    refusal is an answer like any other to the layers between (Idempotency keeps it for the repeats).
    """

    def __init__(self, app: ASGIApp, *, public_url: str, log: Log, metrics: Metrics) -> None:
        self.app = app
        self._public_url = public_url
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        try:
            await self.app(scope, receive, send)
        except ClientGone:
            raise
        except Problem as error:
            problem = error
        except HTTPException as error:
            problem = Problem(
                problems.BY_STATUS.get(error.status_code, problems.INTERNAL_ERROR), error.detail
            )
        except Exception as error:  # noqa: BLE001  (the last line: a defect must not leave as anything else)
            self._log.error("internal_error", "a request failed", cause=error, requestId=exchange.request_id)
            problem = Problem(problems.INTERNAL_ERROR, problems.INTERNAL_ERROR.detail)
        else:
            return
        exchange.error, exchange.problem = problem.kind.code, problem
        self._metrics.error(problem.kind.code)
        if exchange.answered:  # too late for a document: an answer that is cut short is seen to be cut short
            self._log.warning("answer_cut_short", problem.detail, requestId=exchange.request_id)
            return
        await self.document(problem, exchange)(scope, receive, send)

    def document(self, problem: Problem, exchange: Exchange) -> Response:
        body = problem.document(self._public_url, exchange.path, exchange.request_id)
        return Response(
            msgspec.json.encode(body),
            problem.kind.status,
            problem.headers,
            media_type=problems.MEDIA_TYPE,
        )


class Routing:
    """Finds the route, so that the layers after it know what was declared of it."""

    def __init__(self, app: ASGIApp, *, router: Router) -> None:
        self.app = app
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        refused: Problem | None = scope.get("refused")  # by the protocol, before there was a request
        if refused is not None:
            exchange.denial = refused
        else:
            self._router.find(exchange)
        await self.app(scope, receive, send)


class Deadlines:
    """No request takes longer than its route allows."""

    def __init__(self, app: ASGIApp, *, seconds: float) -> None:
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["exchange"].route
        seconds = route.deadline if route and route.deadline is not None else self._seconds
        try:
            async with asyncio.timeout(seconds):
                await self.app(scope, receive, send)
        except TimeoutError:
            raise Problem(
                problems.SERVICE_UNAVAILABLE,
                f"The request was not answered within {seconds:g} seconds.",
                headers={"Retry-After": "5"},
                retryAfter=5,
            ) from None


class Clients:
    """Where the request comes from."""

    def __init__(self, app: ASGIApp, *, trusted: tuple[clients.Network, ...] | str) -> None:
        self.app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        peer = scope["client"][0] if scope.get("client") else ""
        # Every proxy appends: several fields are one list.
        forwarded = ",".join(
            value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"
        )
        exchange.client = clients.subject(peer, forwarded, self._trusted)
        await self.app(scope, receive, send)


class Callers:
    """Who is asking. A key that is not accepted is a denial, raised after the request has been counted."""

    def __init__(self, app: ASGIApp, *, admission: Admission) -> None:
        self.app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        try:
            exchange.caller = await self._caller(exchange) or exchange.caller
        except Problem as problem:
            exchange.denial = exchange.denial or self._weigh(problem, exchange)
        await self.app(scope, receive, send)

    async def _caller(self, exchange: Exchange) -> Caller | None:
        authorization = exchange.header(b"authorization")
        if authorization is None:
            return None
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise unauthorized("The Authorization header is not a Bearer token.")
        exchange.secret = secret.strip()
        return await self._admission.identify(exchange.secret)

    def _weigh(self, problem: Problem, exchange: Exchange) -> Problem | None:
        open_to_all = exchange.route is not None and exchange.route.needs is Role.NOBODY
        return (
            None
            if open_to_all and (problem.kind.status in (401, 403) or isinstance(problem, Unavailable))
            else problem
        )


class Guarding:
    """Lets in whom the route was declared for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        if exchange.denial is not None:
            raise exchange.denial
        needs, has = exchange.route.needs, exchange.caller.role  # type: ignore[union-attr]
        if not has.may(needs):
            if has is Role.NOBODY:
                raise unauthorized("This endpoint needs an API key.")
            raise Problem(
                problems.FORBIDDEN,
                f"This endpoint needs the role '{needs.value}'; the key has the role '{has.value}'.",
            )
        await self.app(scope, receive, send)
