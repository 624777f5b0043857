"""The pages with which people come in: sign in, links, and what goes on after a session has ended."""

from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.forms import MAX_FIELDS
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import HOME, SIGN_IN, Dashboard, is_own, local_path
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.tenants.sign_in import OpenedSession, SignIn, caller_of
from gossamer.problems import Problem
from gossamer.state.tenants.sessions import LinkPurpose
from gossamer.state.tenants.tenants import Role


class SignInQuery(msgspec.Struct):
    """Where to go after signing in."""

    next: str = ""


class LinkQuery(msgspec.Struct):
    """The link that somebody follows."""

    token: str = ""


class SignInPages(Struct, frozen=True):
    dashboard: Dashboard
    sign_in: SignIn
    cookie: SessionCookie

    async def show(self, exchange: Exchange, query: SignInQuery) -> Response:
        if exchange.caller.role is not Role.NOBODY:
            return self.dashboard.see(local_path(query.next))
        return self._sign_in(exchange, NO_FORM, next=local_path(query.next))

    async def submit(self, exchange: Exchange, form: Form) -> Response:
        _require_own(exchange)
        opening = self.sign_in.by_password(form["email"], form["password"], exchange.actor)
        opened = await within_limits(exchange, None, opening)
        if form["resume"]:
            return self._go_on(exchange, opened, form)
        return self._enter(opened, local_path(form["next"]))

    async def show_again(self, exchange: Exchange, form: Form) -> Response:
        return self._sign_in(exchange, form, next=local_path(form["next"]))

    async def show_link(self, exchange: Exchange, query: LinkQuery) -> Response:
        return await self._link(exchange, query.token, NO_FORM)

    async def submit_link(self, exchange: Exchange, form: Form) -> Response:
        _require_own(exchange)
        opened = await self.sign_in.by_link(form["token"], form["password"], exchange.actor)
        return self._enter(opened, "/app/usage" if opened.session.user is None else HOME)

    async def show_link_again(self, exchange: Exchange, form: Form) -> Response:
        if form.problem is not None and form.problem.kind is problems.NOT_FOUND:
            raise form.problem
        return await self._link(exchange, form["token"], form)

    async def sign_out(self, exchange: Exchange, form: Form) -> Response:
        await self.sign_in.sign_out(exchange.secret, exchange.caller, exchange.actor)
        left = self.dashboard.see(SIGN_IN, notice="signed-out")
        left.headers["Set-Cookie"] = self.cookie.clearing_header()
        return left

    async def show_problem(self, exchange: Exchange, form: Form) -> Response:
        assert form.problem is not None  # noqa: S101  (only a refused form is shown again)
        raise form.problem

    def _sign_in(self, exchange: Exchange, form: Form, *, next: str) -> Response:
        resume = {name: form[name] for name in ("resume", "fields") if form[name]}
        return self.dashboard.render(
            exchange, "sign_in.html", form=form, next=next, providers=self.dashboard.providers, resume=resume
        )

    def _go_on(self, exchange: Exchange, opened: OpenedSession, form: Form) -> Response:
        """Show the form that was sent after the session had ended, to be sent again."""
        exchange.caller = caller_of(opened.session)
        fields = parse_qsl(form["fields"], keep_blank_values=True, max_num_fields=MAX_FIELDS)
        cookie = {"Set-Cookie": self.cookie.header(opened.secret)}
        return self.dashboard.render(
            exchange, "go_on.html", headers=cookie, resume=local_path(form["resume"]), fields=fields
        )

    async def _link(self, exchange: Exchange, token: str, form: Form) -> Response:
        link, user = await self.sign_in.find_link(token)
        return self.dashboard.render(
            exchange,
            "link.html",
            form=form,
            token=token,
            user=user,
            wants_password=link.purpose in (LinkPurpose.INVITATION, LinkPurpose.RESET),
            purpose=link.purpose.value,
        )

    def _enter(self, opened: OpenedSession, path: str) -> Response:
        entered = self.dashboard.see(path)
        entered.headers["Set-Cookie"] = self.cookie.header(opened.secret)
        return entered

    def routes(self) -> list[Route]:
        page, form, nobody = self.dashboard.page, self.dashboard.form, Role.NOBODY
        throttled: dict[str, Any] = {
            "policies": ("sign-in",),
            "idempotent": False,
            "needs": nobody,
            "control": False,
        }
        return [
            page(SIGN_IN, self.show, "Sign in", needs=nobody, counted=False),
            form(SIGN_IN, self.submit, "Sign in", show=self.show_again, **throttled),
            page("/app/link", self.show_link, "Follow a link", needs=nobody, counted=False),
            form("/app/link", self.submit_link, "Follow a link", show=self.show_link_again, **throttled),
            form(
                "/app/sign-out",
                self.sign_out,
                "Sign out",
                show=self.show_problem,
                needs=Role.VIEWER,
                idempotent=False,
            ),
        ]


def _require_own(exchange: Exchange) -> None:
    if not is_own(exchange):
        raise Problem(
            problems.FORBIDDEN,
            "The form was sent from another site.",
            hint="Open the page here and try again.",
        )
