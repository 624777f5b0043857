"""The pages for people, and the OpenAPI document. Each is rendered once and kept; none needs a script."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib import resources
from itertools import groupby
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from gossamer import __version__, problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.docs import llms, openapi, problem_example
from gossamer.doors.http.docs.agent_files import AgentFiles, AgentFilesEndpoints
from gossamer.doors.http.docs.markup import breakable, highlight, prose
from gossamer.doors.http.docs.page import (
    BRIEFLY,
    FOREVER,
    HTML,
    SECURITY,
    HtmlPage,
    RenderedPages,
    asks_for_page,
    prefers_json,
)
from gossamer.doors.http.docs.reference import Reference
from gossamer.problems import KINDS, Problem, ProblemKind
from gossamer.state.tenants.limits import Policy
from gossamer.state.tenants.tenants import Role

_ICON: Final = "favicon.svg"
_STYLE: Final = "pages.css"
_FAMILIES: Final = {4: "4xx: the request", 5: "5xx: the server, or the site that it asked"}
# Problems that a caller can get before an endpoint is reached.
_AT_ANY_ADDRESS: Final = (problems.NOT_FOUND, problems.METHOD_NOT_ALLOWED)
_OPEN: Final = (
    "/docs",
    "/problems",
    "/assets/",
    "/llms.txt",
    "/llms-full.txt",
    "/.well-known/",
    "/openapi.json",
)
_ROBOTS: Final = "User-agent: *\n" + "".join(f"Allow: {path}\n" for path in _OPEN) + "Disallow: /\n"
_MAX_NAME_CHARS: Final = 64


class ProblemType(msgspec.Struct, rename="camel"):
    """A kind of problem: when it happens and how to fix it."""

    type: str
    name: str
    code: str
    status: int
    title: str
    when: str
    causes: tuple[str, ...]
    fixes: tuple[str, ...]
    retry: bool  # the same request may succeed later
    example: dict[str, Any]
    headers: dict[str, str]  # the relevant ones of the example


class ProblemTypes(msgspec.Struct):
    """All kinds of problems, by status."""

    problems: list[ProblemType]


class Start(msgspec.Struct, rename="camel"):
    """Links to the documentation and the health report."""

    name: str
    version: str
    documentation: str
    openapi: str
    problems: str
    health: str


class DocsEndpoints:
    """Documents the given routes, and its own."""

    def __init__(
        self,
        public_url: str,
        routes: Iterable[Route],
        policies: Mapping[str, Policy],
        *,
        idempotency_seconds: float = 60,
        networks: Sequence[str] = (),
        quote_seconds: int = 300,
        version: str = __version__,
        has_mcp: bool = False,
    ) -> None:
        self._public_url = public_url
        self._others = list(routes)
        self._policies = policies
        self._idempotency_seconds = idempotency_seconds
        self._networks = networks  # that payments are accepted on; empty if payments are off
        self._quote_seconds = quote_seconds
        self._version = version
        priced = [route.path for route in self._others if route.price] if networks else []
        self._agents = AgentFilesEndpoints(
            AgentFiles(
                public_url,
                version,
                lambda: llms.guide(self._reference, public_url),
                lambda: llms.full(self._reference, public_url),
                list(dict.fromkeys(priced)),
                has_mcp,
            )
        )

    # The endpoints.

    async def start(self, exchange: Exchange) -> Response:
        return self._negotiate("start", exchange)

    async def docs(self, exchange: Exchange) -> Response:
        return self._html["docs"].answer(exchange)

    async def openapi_document(self, exchange: Exchange) -> Response:
        return self._json["openapi"].answer(exchange)

    async def list_problems(self, exchange: Exchange) -> Response:
        return self._negotiate("problems", exchange)

    async def get_problem(self, exchange: Exchange, name: str) -> Response:
        if name not in KINDS:
            raise Problem(
                problems.NOT_FOUND,
                f"There is no problem type {name[:_MAX_NAME_CHARS]!r}.",
                hint=_closest(name),
            )
        return self._negotiate(name, exchange)

    async def asset(self, exchange: Exchange, file: str) -> Response:
        if file != self._style_name:
            raise Problem(problems.NOT_FOUND, f"There is no file {file[:_MAX_NAME_CHARS]!r}.")
        return self._files[_STYLE].answer(exchange)

    async def favicon(self, exchange: Exchange) -> Response:
        return self._files[_ICON].answer(exchange)

    async def favicon_redirect(self, exchange: Exchange) -> Response:
        return RedirectResponse(f"/{_ICON}", 308, {"Cache-Control": BRIEFLY})

    async def robots(self, exchange: Exchange) -> Response:
        return self._files["robots.txt"].answer(exchange)

    async def not_found(self, problem: Problem, exchange: Exchange) -> Response | None:
        """A page for people who opened an unknown address in a browser."""
        if problem.kind is not problems.NOT_FOUND or exchange.method not in ("GET", "HEAD"):
            return None
        if not asks_for_page(exchange.header(b"accept") or ""):
            return None
        near = get_close_matches(exchange.path[:_MAX_NAME_CHARS], self._addresses, 3, cutoff=0.6)
        page = self._templates.get_template("not_found.html")
        text = page.render(problem=problem, path=exchange.path, near=near, request_id=exchange.request_id)
        headers = {"Content-Type": HTML, "Content-Security-Policy": SECURITY, "Vary": "Accept"}
        return Response(text, problem.kind.status, headers)

    def _negotiate(self, name: str, exchange: Exchange) -> Response:
        pages = self._json if prefers_json(exchange.header(b"accept") or "") else self._html
        return pages[name].answer(exchange)

    # Their answers.

    @cached_property
    def document(self) -> dict[str, Any]:
        return openapi.document([*self._others, *self.routes()], self._public_url, self._version)

    @cached_property
    def _files(self) -> Mapping[str, HtmlPage]:
        return {
            _STYLE: HtmlPage.of(_read_asset(_STYLE), "text/css; charset=utf-8", FOREVER),
            _ICON: HtmlPage.of(_read_asset(_ICON), "image/svg+xml"),
            "robots.txt": HtmlPage.of(_ROBOTS.encode(), "text/plain; charset=utf-8"),
        }

    @property
    def _style_name(self) -> str:
        return f"pages.{self._files[_STYLE].digest[:12]}.css"

    @cached_property
    def _json(self) -> RenderedPages:
        return RenderedPages(lambda name: HtmlPage.of(msgspec.json.encode(self._value(name)), openapi.JSON))

    def _value(self, name: str) -> Any:
        match name:
            case "start":
                return _start(self._public_url, self._version)
            case "openapi":
                return self.document
            case "problems":
                return ProblemTypes([_problem_type(kind, self._public_url) for kind in _by_status()])
            case _:
                return _problem_type(KINDS[name], self._public_url)

    @cached_property
    def _reference(self) -> Reference:
        return Reference(self.document, paying=bool(self._networks))

    @cached_property
    def _html(self) -> RenderedPages:
        return RenderedPages(self._render)

    def _render(self, name: str) -> HtmlPage:
        template, context = self._context(name)
        return HtmlPage.of(self._templates.get_template(template).render(context).encode(), HTML)

    def _context(self, name: str) -> tuple[str, dict[str, Any]]:
        match name:
            case "start":
                return "start.html", {"count": len(KINDS)}
            case "docs":
                return "docs.html", {
                    "reference": self._reference,
                    "policies": list(self._policies.values()),
                    "idempotency_seconds": self._idempotency_seconds,
                    "networks": self._networks,
                    "quote_seconds": self._quote_seconds,
                    "example": problem_example.document(
                        problems.VALIDATION_ERROR, self._public_url, "/api/admin/keys"
                    ),
                }
            case "problems":
                families = [(family, list(kinds)) for family, kinds in groupby(_by_status(), _family)]
                return "problems.html", {"families": families}
            case _:
                return "problem.html", _context(KINDS[name], self._reference, self._public_url)

    @cached_property
    def _addresses(self) -> list[str]:
        """The addresses that can be opened in a browser."""
        routes = [*self._others, *self.routes()]
        return [route.path for route in routes if route.method == "GET" and "{" not in route.path]

    @cached_property
    def _templates(self) -> Environment:
        environment = Environment(
            loader=PackageLoader("gossamer.doors.http"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(breakable=breakable, highlight=highlight, prose=prose)
        environment.globals.update(
            public_url=self._public_url, version=self._version, style=f"/assets/{self._style_name}"
        )
        return environment

    def routes(self) -> list[Route]:
        page: dict[str, Any] = {
            "method": "GET",
            "needs": Role.NOBODY,
            "tag": "Documentation",
            "counted": False,
            "media_type": "text/html",
        }
        not_found = (problems.NOT_FOUND,)
        one = _problem_type(problems.UNAUTHORIZED, self._public_url)
        return [
            Route(
                path="/",
                handler=self.start,
                summary="Links to the documentation and the health report",
                description="A page, or JSON when `Accept` prefers it.",
                answers=Start,
                example=_start(self._public_url, self._version),
                **page,
            ),
            Route(path="/docs", handler=self.docs, summary="This documentation", **page),
            Route(
                path="/openapi.json",
                handler=self.openapi_document,
                summary="This documentation for programs",
                description="An OpenAPI 3.1 document of every endpoint. Ask again with `If-None-Match`.",
                example={"openapi": "3.1.0", "info": {"title": "Gossamer", "version": self._version}},
                **{**page, "media_type": openapi.JSON},
            ),
            Route(
                path="/problems",
                handler=self.list_problems,
                summary="List all kinds of problems",
                description="A page, or JSON when `Accept` prefers it.",
                answers=ProblemTypes,
                example=ProblemTypes([one]),
                **page,
            ),
            Route(
                path="/problems/{name}",
                handler=self.get_problem,
                summary="Explain one kind of problem and how to fix it",
                description="The `type` of every problem document leads here. A page, or JSON when `Accept` "
                "prefers it.",
                parameters={"name": "The last part of the problem's `type`, such as `validation-error`."},
                problems=not_found,
                answers=ProblemType,
                example=one,
                **page,
            ),
            Route(
                path="/assets/{file}",
                handler=self.asset,
                summary="The style sheet of these pages",
                parameters={
                    "file": "The name contains a hash of the content, so a cache may keep the file forever."
                },
                problems=not_found,
                **{**page, "media_type": "text/css"},
            ),
            Route(
                path="/favicon.svg",
                handler=self.favicon,
                summary="The icon of Gossamer",
                **{**page, "media_type": "image/svg+xml"},
            ),
            Route(
                path="/favicon.ico",
                handler=self.favicon_redirect,
                summary="Redirect to the icon",
                status=308,
                **page,
            ),
            Route(
                path="/robots.txt",
                handler=self.robots,
                summary="Rules for crawlers: they may read the documentation",
                example=_ROBOTS,
                **{**page, "media_type": "text/plain"},
            ),
            *self._agents.routes(),
        ]


def _closest(name: str) -> str:
    names = {kind.code.lower().replace("_", "-"): kind.name for kind in KINDS.values()}
    names.update((kind.name, kind.name) for kind in KINDS.values())
    wanted = name[:_MAX_NAME_CHARS].lower().replace("_", "-")
    close = next(iter(get_close_matches(wanted, names, 1, cutoff=0.5)), None)
    return f"Did you mean /problems/{names[close]}?" if close else "All of them are listed at /problems."


def _by_status() -> list[ProblemKind]:
    return sorted(KINDS.values(), key=lambda kind: kind.status)


def _family(kind: ProblemKind) -> str:
    return _FAMILIES[kind.status // 100]


def _context(kind: ProblemKind, reference: Reference, public_url: str) -> dict[str, Any]:
    ordered = _by_status()
    place = ordered.index(kind)
    answering = reference.answering(kind)
    instance = answering[0].path if answering else "/api/keyz"
    return {
        "kind": kind,
        "example": problem_example.document(kind, public_url, instance),
        "headers": problem_example.headers(kind, public_url, instance),
        "answering": answering,
        "everywhere": len(answering) == len(reference.endpoints),
        "any_address": kind in _AT_ANY_ADDRESS,
        "before": ordered[place - 1] if place else None,
        "after": ordered[place + 1] if place + 1 < len(ordered) else None,
    }


def _problem_type(kind: ProblemKind, public_url: str) -> ProblemType:
    instance = "/fetch" if kind.status == 402 else "/api/admin/keys"
    return ProblemType(
        type=f"{public_url}/problems/{kind.name}",
        name=kind.name,
        code=kind.code,
        status=kind.status,
        title=kind.title,
        when=kind.when,
        causes=kind.causes,
        fixes=kind.fixes,
        retry=kind.retry,
        example=problem_example.document(kind, public_url, instance),
        headers=problem_example.headers(kind, public_url, instance),
    )


def _start(public_url: str, version: str) -> Start:
    links = {name: f"{public_url}/{name}" for name in ("problems", "health")}
    return Start("Gossamer", version, f"{public_url}/docs", f"{public_url}/openapi.json", **links)


def _read_asset(name: str) -> bytes:
    return resources.files("gossamer.doors.http").joinpath("templates", name).read_bytes()
