"""Authenticates the caller, and checks that the caller has the role that the route needs.

A caller shows an API key in `Authorization`, the capability of an order, or the cookie of a session. A
capability opens the routes of its order, and nothing else that is not open to everybody. A browser sends the
cookie by itself, so a request with a cookie that changes something must also name the session's CSRF token,
which other sites cannot read.
"""

import hmac
import time
from contextlib import suppress
from typing import Final

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.forms import read_form
from gossamer.flows.pay.capability import PREFIX, Capabilities
from gossamer.flows.tenants.admit import Admission, Caller, unauthorized
from gossamer.flows.tenants.sign_in import SignIn, caller_of
from gossamer.problems import Problem, Unavailable
from gossamer.state.tenants.tenants import Role

CSRF_HEADER: Final = b"x-csrf-token"
CSRF_FIELD: Final = "csrf"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Authenticate(Struct, frozen=True):
    """Identifies the caller. A bad key becomes a denial, which is raised once the request is counted."""

    app: ASGIApp
    admission: Admission
    sign_in: SignIn
    cookie: SessionCookie
    capabilities: Capabilities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        try:
            exchange.caller = await self._caller(exchange) or exchange.caller
        except Problem as problem:
            exchange.denial = exchange.denial or self._weigh(problem, exchange)
        await self.app(scope, receive, send)

    async def _caller(self, exchange: Exchange) -> Caller | None:
        if exchange.handover.caller is not None:
            return exchange.handover.caller
        authorization = exchange.header(b"authorization") or _dialect_authorization(exchange)
        if authorization is None:
            return await self._person(exchange)
        scheme, _, secret = authorization.partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise unauthorized("The Authorization header is not a Bearer token.")
        exchange.secret = secret
        if secret.startswith(PREFIX):
            return await self.capabilities.open(secret)
        return await self.admission.identify(secret)

    async def _person(self, exchange: Exchange) -> Caller | None:
        """The caller behind the cookie; a cookie whose session has ended is ignored."""
        secret = self.cookie.read(exchange)
        session = await self.sign_in.identify(secret) if secret is not None else None
        if secret is None or session is None:
            return None
        exchange.secret = secret
        with suppress(Unavailable):
            await self.sign_in.touch(session, int(time.time() * 1000))
        return caller_of(session)

    def _weigh(self, problem: Problem, exchange: Exchange) -> Problem | None:
        return (
            None
            if _is_open(exchange) and (problem.kind.status in (401, 403) or isinstance(problem, Unavailable))
            else problem
        )


class Authorise(Struct, frozen=True):
    """Refuses callers whose role is too low for the route, and cookies without their CSRF token."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        if exchange.denial is not None:
            raise exchange.denial
        needs, has = exchange.route.needs, exchange.caller.role  # type: ignore[union-attr]
        if not has.may(needs) and not _is_open(exchange):
            if has is Role.NOBODY:
                raise unauthorized("This endpoint needs an API key.")
            raise Problem(
                problems.FORBIDDEN,
                f"This endpoint needs the role '{needs.value}'; yours is '{has.value}'.",
            )
        if exchange.caller.opens is not None and not _is_within_order(exchange):
            raise Problem(
                problems.FORBIDDEN,
                "The capability is for another order, or opens no such endpoint.",
                hint="Send a payment without it, or an API key.",
                details={"reason": "capability"},
            )
        if exchange.caller.csrf_secret and exchange.method not in _SAFE:
            await _check_csrf(exchange)
        await self.app(scope, receive, send)


def _dialect_authorization(exchange: Exchange) -> str | None:
    secret = exchange.dialect.secret(exchange) if exchange.dialect is not None else None
    return None if secret is None else f"Bearer {secret}"


def _is_open(exchange: Exchange) -> bool:
    """Whether the route is for everybody, or lets this request in for another reason than its caller."""
    route = exchange.route
    if route is None:
        return False
    return route.needs is Role.NOBODY or (route.admits is not None and route.admits(exchange))


def _is_within_order(exchange: Exchange) -> bool:
    """Whether the caller's capability, if it has come with one, opens this."""
    opens, route = exchange.caller.opens, exchange.route
    if opens is None or route is None or _is_open(exchange):
        return True
    return route.opened_by_order and exchange.parameters.get("id") in opens


async def _check_csrf(exchange: Exchange) -> None:
    token = exchange.header(CSRF_HEADER) or (await read_form(exchange)).get(CSRF_FIELD, "")
    if not hmac.compare_digest(token.encode("latin-1", "replace"), exchange.caller.csrf_secret.encode()):
        raise Problem(
            problems.FORBIDDEN,
            "The request came with a session's cookie, but without its CSRF token.",
            hint="Send the header X-CSRF-Token with the csrfToken of GET /api/me. On a page: load it again.",
            details={"reason": "csrf_token"},
        )
