"""The page about oneself: who one is, the session, the password, and a link that shows usage."""

from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.auth.people import PeopleEndpoints, to_shown
from gossamer.doors.http.api.auth.sign_in import NewPassword, SignInEndpoints
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.problems import Problem
from gossamer.state.tenants.activity import Via

_HERE: Final = "account"
_PATH: Final = "/app/account"


class AccountPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: SignInEndpoints
    people: PeopleEndpoints

    async def show(self, exchange: Exchange, form: Form = NO_FORM, *, usage_link: str = "") -> Response:
        _require_person(exchange)
        session = await self.endpoints.sign_in.identify(exchange.secret)
        if session is None or session.user is None:  # it has ended while the page was made
            raise Problem(problems.UNAUTHORIZED, "Your session has ended.")
        return self.dashboard.render(
            exchange,
            "account/account.html",
            here=_HERE,
            form=form,
            person=to_shown(session.user),
            client=session.client,
            since=timestamps.from_ms(session.created_at),
            until=timestamps.from_ms(session.expires_at),
            usage_link=usage_link,
        )

    async def change_password(self, exchange: Exchange, form: Form) -> Response:
        _require_person(exchange)
        await self.endpoints.password(exchange, form.to(NewPassword))
        return self.dashboard.see(_PATH, notice="password-changed")

    async def make_usage_link(self, exchange: Exchange, form: Form) -> Response:
        _require_person(exchange)
        token = await self.people.people.link_to_usage(exchange.caller.tenant_id, exchange.actor)
        return await self.show(exchange, usage_link=self.people.address(token))

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        return [
            page(_PATH, self.show, "Your account"),
            form(f"{_PATH}/password", self.change_password, "Change your password", show=self.show),
            form(f"{_PATH}/usage-link", self.make_usage_link, "Make a link that shows usage", show=self.show),
        ]


def _require_person(exchange: Exchange) -> None:
    if exchange.caller.via is not Via.SESSION:
        raise Problem(
            problems.FORBIDDEN,
            "Only people who have signed in have an account.",
            hint="Sign in with your email and password, without an API key.",
        )
