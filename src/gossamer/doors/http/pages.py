"""Pages: what people read at the HTTP door. Every page is rendered once and kept; none needs a script."""

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
from gossamer.doors.http import openapi, problem_example
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.markup import breakable, coloured, prose
from gossamer.doors.http.page import BRIEFLY, FOREVER, HTML, Page, prefers_json
from gossamer.doors.http.reference import Reference
from gossamer.doors.http.routing import Route
from gossamer.problems import KINDS, Kind, Problem
from gossamer.state.limits import Policy
from gossamer.state.tenants import Role

_ICON: Final = "favicon.svg"
_STYLE: Final = "pages.css"
_FAMILIES: Final = {4: "4xx: the request", 5: "5xx: the server, or the site that it asked"}
# What a caller meets before an endpoint is reached.
_AT_ANY_ADDRESS: Final = (problems.NOT_FOUND, problems.METHOD_NOT_ALLOWED)
_ROBOTS: Final = "User-agent: *\nAllow: /docs\nAllow: /problems\nAllow: /assets/\nDisallow: /\n"
_LONGEST_NAME: Final = 64


class ProblemType(msgspec.Struct, rename="camel"):
    """A kind of problem: when it happens and what to do about it."""

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
    headers: dict[str, str]  # that matter in the example


class ProblemTypes(msgspec.Struct):
    """All kinds of problems, by status."""

    problems: list[ProblemType]


class Start(msgspec.Struct, rename="camel"):
    """Where everything is."""

    name: str
    version: str
    documentation: str
    openapi: str
    problems: str
    health: str


class Pages:
    """The documentation of the routes it is given, and of its own."""

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
    ) -> None:
        self._public_url = public_url
        self._others = list(routes)
        self._policies = policies
        self._idempotency_seconds = idempotency_seconds
        self._networks = networks  # on which payments are taken; none: they are not
        self._quote_seconds = quote_seconds
        self._version = version

    # The endpoints.

    async def start(self, exchange: Exchange) -> Response:
        return self._negotiated("start", exchange)

    async def docs(self, exchange: Exchange) -> Response:
        return self._html["docs"].answer(exchange)

    async def openapi_document(self, exchange: Exchange) -> Response:
        return self._json["openapi"].answer(exchange)

    async def list_problems(self, exchange: Exchange) -> Response:
        return self._negotiated("problems", exchange)

    async def get_problem(self, exchange: Exchange, name: str) -> Response:
        if name not in KINDS:
            raise Problem(
                problems.NOT_FOUND, f"There is no problem type {name[:_LONGEST_NAME]!r}.", hint=_closest(name)
            )
        return self._negotiated(name, exchange)

    async def asset(self, exchange: Exchange, file: str) -> Response:
        if file != self._style_name:
            raise Problem(problems.NOT_FOUND, f"There is no file {file[:_LONGEST_NAME]!r}.")
        return self._files[_STYLE].answer(exchange)

    async def favicon(self, exchange: Exchange) -> Response:
        return self._files[_ICON].answer(exchange)

    async def favicon_redirect(self, exchange: Exchange) -> Response:
        return RedirectResponse(f"/{_ICON}", 308, {"Cache-Control": BRIEFLY})

    async def robots(self, exchange: Exchange) -> Response:
        return self._files["robots.txt"].answer(exchange)

    def _negotiated(self, name: str, exchange: Exchange) -> Response:
        pages = self._json if prefers_json(exchange.header(b"accept") or "") else self._html
        return pages[name].answer(exchange)

    # What they answer with.

    @cached_property
    def document(self) -> dict[str, Any]:
        return openapi.document([*self._others, *self.routes()], self._public_url, self._version)

    @cached_property
    def _files(self) -> Mapping[str, Page]:
        return {
            _STYLE: Page.of(_packaged(_STYLE), "text/css; charset=utf-8", FOREVER),
            _ICON: Page.of(_packaged(_ICON), "image/svg+xml"),
            "robots.txt": Page.of(_ROBOTS.encode(), "text/plain; charset=utf-8"),
        }

    @property
    def _style_name(self) -> str:
        return f"pages.{self._files[_STYLE].digest[:12]}.css"

    @cached_property
    def _json(self) -> Mapping[str, Page]:
        values: dict[str, Any] = {
            "start": _start(self._public_url, self._version),
            "openapi": self.document,
            "problems": ProblemTypes([_problem_type(kind, self._public_url) for kind in _by_status()]),
            **{kind.name: _problem_type(kind, self._public_url) for kind in KINDS.values()},
        }
        return {name: Page.of(msgspec.json.encode(value), openapi.JSON) for name, value in values.items()}

    @cached_property
    def _html(self) -> Mapping[str, Page]:
        reference = Reference(self.document, paying=bool(self._networks))
        environment = self._environment()

        def render(template: str, **context: Any) -> Page:
            return Page.of(environment.get_template(template).render(context).encode(), HTML)

        families = [(name, list(kinds)) for name, kinds in groupby(_by_status(), _family)]
        return {
            "start": render("start.html", count=len(KINDS)),
            "docs": render(
                "docs.html",
                reference=reference,
                policies=list(self._policies.values()),
                idempotency_seconds=self._idempotency_seconds,
                networks=self._networks,
                quote_seconds=self._quote_seconds,
                example=problem_example.document(
                    problems.VALIDATION_ERROR, self._public_url, "/api/admin/keys"
                ),
            ),
            "problems": render("problems.html", families=families),
            **{
                kind.name: render("problem.html", **_context(kind, reference, self._public_url))
                for kind in KINDS.values()
            },
        }

    def _environment(self) -> Environment:
        environment = Environment(
            loader=PackageLoader("gossamer.doors.http"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(breakable=breakable, coloured=coloured, prose=prose)
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
                summary="Where everything is",
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
                summary="Everything that can go wrong",
                description="A page, or JSON when `Accept` prefers it.",
                answers=ProblemTypes,
                example=ProblemTypes([one]),
                **page,
            ),
            Route(
                path="/problems/{name}",
                handler=self.get_problem,
                summary="One kind of problem: when it happens and how to fix it",
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
                parameters={"file": "Its name contains a hash of what is in it, so it may be kept forever."},
                problems=not_found,
                **{**page, "media_type": "text/css"},
            ),
            Route(
                path="/favicon.svg",
                handler=self.favicon,
                summary="The mark of Gossamer",
                **{**page, "media_type": "image/svg+xml"},
            ),
            Route(
                path="/favicon.ico",
                handler=self.favicon_redirect,
                summary="Where browsers look for the mark",
                status=308,
                **page,
            ),
            Route(
                path="/robots.txt",
                handler=self.robots,
                summary="What search engines may read: the documentation",
                example=_ROBOTS,
                **{**page, "media_type": "text/plain"},
            ),
        ]


def _closest(name: str) -> str:
    names = {kind.code.lower().replace("_", "-"): kind.name for kind in KINDS.values()}
    names.update((kind.name, kind.name) for kind in KINDS.values())
    wanted = name[:_LONGEST_NAME].lower().replace("_", "-")
    close = next(iter(get_close_matches(wanted, names, 1, cutoff=0.5)), None)
    return f"Did you mean /problems/{names[close]}?" if close else "They are listed at /problems."


def _by_status() -> list[Kind]:
    return sorted(KINDS.values(), key=lambda kind: kind.status)


def _family(kind: Kind) -> str:
    return _FAMILIES[kind.status // 100]


def _context(kind: Kind, reference: Reference, public_url: str) -> dict[str, Any]:
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


def _problem_type(kind: Kind, public_url: str) -> ProblemType:
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


def _packaged(name: str) -> bytes:
    return resources.files("gossamer.doors.http").joinpath("templates", name).read_bytes()
