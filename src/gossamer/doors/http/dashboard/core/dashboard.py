"""Dashboard: fills the templates, and declares the routes of pages and forms."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct, field
from starlette.responses import RedirectResponse, Response

from gossamer import __version__, problems
from gossamer.doors import wording
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.forms import read_form
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core import formats
from gossamer.doors.http.dashboard.core.assets import Assets
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.docs.markup import highlight, prose
from gossamer.doors.http.docs.page import HTML
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

Page = Callable[..., Awaitable[Response]]  # (exchange, form=…, **path) → the page
Action = Callable[..., Awaitable[Response]]  # (exchange, form, **path) → usually `Dashboard.see`

HOME: Final = "/app"
SIGN_IN: Final = "/app/sign-in"
SECURITY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Type": HTML,
    "Content-Security-Policy": SECURITY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
}
_SECRET_FIELDS: Final = ("password", "secret", "csrf", "once", "old", "new")


class Entry(NamedTuple):
    """A line of the navigation."""

    name: str
    path: str
    title: str
    needs: Role


# The navigation, in groups.
NAVIGATION: Final[Mapping[str, tuple[Entry, ...]]] = {
    "": (
        Entry("overview", "/app", "Overview", Role.USER),
        Entry("playground", "/app/playground", "Playground", Role.USER),
    ),
    "Work": (
        Entry("crawls", "/app/crawls", "Crawls", Role.USER),
        Entry("pages", "/app/pages", "Pages", Role.USER),
        Entry("domains", "/app/domains", "Domains", Role.USER),
        Entry("cache", "/app/cache", "Renders and cache", Role.USER),
        Entry("audits", "/app/audits", "Audits", Role.USER),
        Entry("batches", "/app/batches", "Batches", Role.USER),
        Entry("schedules", "/app/schedules", "Schedules", Role.USER),
        Entry("monitors", "/app/monitors", "Monitors", Role.USER),
        Entry("sites", "/app/sites", "Sites", Role.USER),
        Entry("jobs", "/app/jobs", "Jobs", Role.USER),
        Entry("search", "/app/search", "Search", Role.USER),
        Entry("memory", "/app/memory", "Memory", Role.USER),
    ),
    "Account": (
        Entry("keys", "/app/keys", "Keys", Role.USER),
        Entry("webhooks", "/app/webhooks", "Webhooks", Role.USER),
        Entry("usage", "/app/usage", "Usage", Role.VIEWER),
        Entry("payments", "/app/payments", "Payments", Role.ADMIN),
        Entry("activity", "/app/activity", "Activity", Role.USER),
    ),
    "System": (
        Entry("people", "/app/people", "People", Role.ADMIN),
        Entry("tenants", "/app/tenants", "Tenants", Role.ADMIN),
        Entry("settings", "/app/settings", "Settings", Role.ADMIN),
        Entry("health", "/app/health", "Health", Role.USER),
    ),
}


class Dashboard(Struct, frozen=True):
    public_url: str
    assets: Assets
    notices: Mapping[str, str] = field(default_factory=dict)  # code → sentence, shown after a redirect
    providers: tuple[str, ...] = ()  # where people can also sign in, by name

    def render(
        self,
        exchange: Exchange,
        template: str,
        *,
        here: str = "",
        form: Form = NO_FORM,
        status: int = 0,
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """A page. `here` is its name in the navigation; a refused form decides the status."""
        refused = form.problem.kind.status if form.problem is not None else 200
        text = (
            self._environment()
            .get_template(template)
            .render(
                here=here,
                form=form,
                caller=exchange.caller,
                csrf=exchange.caller.csrf_secret,
                once=secrets.token_urlsafe(18),
                navigation=_navigation(exchange.caller.role),
                notice=self._notice(exchange),
                request_id=exchange.request_id,
                path=exchange.path,
                **context,
            )
        )
        return Response(text, status or refused, {**HEADERS, **(headers or {})})

    def ask_to_delete(
        self, exchange: Exchange, back: str, *, noun: str, subject: str, consequence: str, form: Form
    ) -> Response:
        """The second step before something is deleted. `back` is its page, below that of its list."""
        list_path = back.rpartition("/")[0]
        here = list_path.rpartition("/")[2]
        return self.render(
            exchange,
            "confirm_delete.html",
            here=here,
            form=form,
            back=back,
            list_path=list_path,
            list_name=here.capitalize(),
            noun=noun,
            subject=subject,
            consequence=consequence,
        )

    def see(self, path: str, *, notice: str = "") -> Response:
        """Lead to another page after a form has done its work. `notice` is a code of `notices`."""
        joint = "&" if "?" in path else "?"
        target = f"{path}{joint}{urlencode({'notice': notice})}" if notice else path
        return RedirectResponse(target, 303, {"Cache-Control": "no-store"})

    def page(self, path: str, show: Page, summary: str, *, needs: Role = Role.USER, **options: Any) -> Route:
        return Route(
            method="GET",
            path=path,
            handler=show,
            needs=needs,
            tag="Dashboard",
            summary=summary,
            page=True,
            **options,
        )

    def form(
        self,
        path: str,
        action: Action,
        summary: str,
        *,
        show: Page,
        needs: Role = Role.USER,
        control: bool = True,
        **options: Any,
    ) -> Route:
        """The address that a form posts to. If `action` is refused, `show` shows the page again, with the
        form as it was typed and the problem beside it. `show` gets the same path parameters."""

        async def submit(exchange: Exchange, **path_values: str) -> Response:
            form = Form(await read_form(exchange), action=exchange.path)
            try:
                return await action(exchange, form, **path_values)
            except Problem as problem:
                exchange.error = problem.kind.code
                return await show(exchange, form=form.refused(problem), **path_values)

        return Route(
            method="POST",
            path=path,
            handler=submit,
            needs=needs,
            tag="Dashboard",
            summary=summary,
            page=True,
            control=control,
            **options,
        )

    async def problem_page(self, problem: Problem, exchange: Exchange) -> Response | None:
        """The page of a problem at an address of the dashboard; None elsewhere."""
        if not (exchange.route.page if exchange.route is not None else exchange.path.startswith("/app/")):
            return None
        if problem.kind is problems.UNAUTHORIZED:
            return await self._ask_to_sign_in(exchange)
        response = self.render(exchange, "problem.html", status=problem.kind.status, problem=problem)
        response.headers.update(problem.headers)
        return response

    async def _ask_to_sign_in(self, exchange: Exchange) -> Response:
        """Lead to the page that was asked for, after signing in. A form that was sent goes on then."""
        if exchange.method in ("GET", "HEAD"):
            query = exchange.scope["query_string"].decode("latin-1")
            wanted = f"{exchange.path}?{query}" if query else exchange.path
            return self.see(f"{SIGN_IN}?next={quote(wanted, safe='/')}")
        kept = kept_fields(await read_form(exchange)) if is_own(exchange) else {}
        resume = {"resume": exchange.path, "fields": urlencode(kept)} if kept else {}
        return self.render(
            exchange, "sign_in.html", status=401, next="", providers=self.providers, resume=resume
        )

    def _notice(self, exchange: Exchange) -> str:
        query = dict(
            pair.split("=", 1)
            for pair in exchange.scope["query_string"].decode("latin-1").split("&")
            if "=" in pair
        )
        return self.notices.get(query.get("notice", ""), "")

    def _environment(self) -> Environment:
        return _environment(self.public_url, self.assets.base)


def is_own(exchange: Exchange) -> bool:
    """Whether a form was sent from a page of ours. Browsers name the origin of every form that they send."""
    origin = exchange.header(b"origin")
    host = exchange.header(b"host") or ""
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def local_path(path: str) -> str:
    """The path, if it is one of the dashboard. Nobody is sent elsewhere."""
    is_ours = path == HOME or path.startswith((f"{HOME}/", f"{HOME}?"))
    return path if is_ours and "\\" not in path and path.isprintable() else HOME


def kept_fields(form: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form that may be written into a page again."""
    return {name: text for name, text in form.items() if name not in _SECRET_FIELDS}


def _navigation(role: Role) -> list[tuple[str, list[Entry]]]:
    groups = [
        (title, [entry for entry in entries if role.may(entry.needs)])
        for title, entries in NAVIGATION.items()
    ]
    return [(title, entries) for title, entries in groups if entries]


@lru_cache(maxsize=4)
def _environment(public_url: str, assets: str) -> Environment:
    """Templates are compiled once, for all pages."""
    made = Environment(
        loader=PackageLoader("gossamer.doors.http.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=formats.number,
        size=formats.size,
        percent=formats.percent,
        duration=formats.duration,
        moment=formats.moment,
        breakable_url=formats.breakable_url,
        band=wording.band,
        highlight=highlight,
        prose=prose,
    )
    made.globals.update(public_url=public_url, version=__version__, assets=assets)
    return made
