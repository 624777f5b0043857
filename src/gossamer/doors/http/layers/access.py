"""Authenticates the caller, and checks that the caller has the role that the route needs."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.flows.tenants.admit import Admission, Caller, unauthorized
from gossamer.problems import Problem, Unavailable
from gossamer.state.tenants.tenants import Role


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Identifies the caller. A bad key becomes a denial, which is raised once the request is counted."""

    app: ASGIApp
    admission: Admission

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
        return await self.admission.identify(exchange.secret)

    def _weigh(self, problem: Problem, exchange: Exchange) -> Problem | None:
        open_to_all = exchange.route is not None and exchange.route.needs is Role.NOBODY
        return (
            None
            if open_to_all and (problem.kind.status in (401, 403) or isinstance(problem, Unavailable))
            else problem
        )


@dataclass(frozen=True, slots=True)
class Authorise:
    """Refuses callers whose role is too low for the route."""

    app: ASGIApp

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
