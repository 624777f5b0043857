"""The pages that lead to an OpenID Connect provider and back."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard, local_path
from gossamer.flows.tenants.single_sign_on import WAY_SECONDS, SingleSignOn
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

CALLBACK: Final = "/app/oidc/callback"
_COOKIE: Final = "gossamer-oidc"


class DepartureQuery(msgspec.Struct):
    """Where to go after signing in."""

    next: str = ""


class ReturnQuery(msgspec.Struct):
    """What the provider sends back with the browser."""

    code: str = ""
    state: str = ""
    error: str = ""


class SingleSignOnPages(Struct, frozen=True):
    dashboard: Dashboard
    single_sign_on: SingleSignOn
    cookie: SessionCookie

    async def start(self, exchange: Exchange, query: DepartureQuery) -> Response:
        departure = await self.single_sign_on.start(local_path(query.next))
        left = self.dashboard.see(departure.address)
        left.headers["Set-Cookie"] = self._bind(departure.state, WAY_SECONDS)
        return left

    async def finish(self, exchange: Exchange, query: ReturnQuery) -> Response:
        if query.error:
            raise Problem(
                problems.FORBIDDEN,
                f"The provider answered: {query.error[:100]}.",
                hint="Start again from the sign-in page.",
            )
        bound = self._way_cookie.read(exchange) or ""
        opened, next_path = await self.single_sign_on.finish(query.code, query.state, bound, exchange.actor)
        # A browser sends a strict cookie from a page of ours, but not along a redirect that began elsewhere.
        entered = self.dashboard.render(exchange, "entered.html", next=local_path(next_path))
        entered.headers.append("Set-Cookie", self.cookie.header(opened.secret))
        entered.headers.append("Set-Cookie", self._bind("", 0))
        return entered

    @property
    def _way_cookie(self) -> SessionCookie:
        return SessionCookie(https=self.cookie.https, base=_COOKIE)

    def _bind(self, state: str, seconds: int) -> str:
        """Lax, because the way back begins at the provider."""
        secure = "; Secure" if self.cookie.https else ""
        name = self._way_cookie.name
        return f"{name}={state}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"

    def routes(self) -> list[Route]:
        page, nobody = self.dashboard.page, Role.NOBODY
        return [
            page("/app/oidc/start", self.start, "Sign in elsewhere", needs=nobody, policies=("sign-in",)),
            page(CALLBACK, self.finish, "Come back from there", needs=nobody, policies=("sign-in",)),
        ]
