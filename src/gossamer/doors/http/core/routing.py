"""Route: the whole declaration of an endpoint; Router: finds the route of a request.

A route's handler is a coroutine function whose signature completes the declaration: the parameters `body` and
`query` are decoded into their annotated `msgspec.Struct`, the other parameters come from the path, and the
return value (a `Struct` or a `Response`) is the answer. The OpenAPI document follows from the declaration.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.decoding import decode_body, decode_query
from gossamer.doors.http.core.exchange import Exchange, Replay, answer
from gossamer.problems import Problem, ProblemKind
from gossamer.state.tenants.tenants import Role

Handler = Callable[..., Awaitable[Any]]
Price = str | Callable[[Any], str]  # a row of the price table, or a function of the body that names it
Peek = Callable[..., Awaitable[bool]]  # with the arguments of the handler


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The query of endpoints that accept no query parameters."""


@dataclass(frozen=True, kw_only=True)
class Other:
    """A further answer that is not an error."""

    status: int
    about: str
    answers: Any = None  # JSON of this type; None has no body
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)  # name → description


@dataclass(frozen=True, kw_only=True)
class Route:
    method: str
    path: str  # with {parameters}
    handler: Handler
    needs: Role  # the least role that may call it; Role.NOBODY is everybody
    tag: str
    summary: str
    description: str = ""
    status: int = 200
    page: bool = False  # a page of the dashboard: it is not documented, and its problems are pages too
    counted: bool = True  # False: the answer has the rate-limit headers, but does not use up the limit
    control: bool = False  # a control call: reads or steers what exists already, as every GET does
    policies: tuple[str, ...] = ()  # rate limits beside the caller's own
    price: Price = ""  # for callers without a key
    admits: Callable[[Exchange], bool] | None = None  # lets requests in without the role, as by a token
    # Tells whether the cache has the answer. Such a route calls `exchange.admit_work` before other work.
    peek: Peek | None = None
    deadline: float | None = None  # seconds; None is the setting's
    max_body_bytes: int = 0  # accepted even if the setting is lower
    idempotent: bool = True  # a POST may carry an Idempotency-Key
    problems: tuple[ProblemKind, ...] = ()  # beside those that every route can have
    field_problems: Mapping[str, ProblemKind] = field(
        default_factory=dict
    )  # field of the body → its own kind
    media_type: str = "application/json"
    also: Mapping[str, str | None] = field(default_factory=dict)  # by `Accept`: media type → example
    answers: Any = None  # the type of the answer, for handlers that return a Response
    example_body: Any = None
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)  # of its answer: name → description
    others: tuple[Other, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # help for each path and query parameter
    body_type: type | None = field(init=False)
    query_type: type | None = field(init=False)

    def __post_init__(self) -> None:
        hints = get_type_hints(self.handler)
        object.__setattr__(self, "body_type", hints.get("body"))
        object.__setattr__(self, "query_type", hints.get("query"))
        if self.page:
            return
        if self.answers is None and hints["return"] is not Response:
            object.__setattr__(self, "answers", hints["return"])
        expected = set(inspect.signature(self.handler).parameters) - {"exchange", "body", "query"}
        if expected != set(path_parameters(self.path)):
            raise TypeError(f"{self.method} {self.path}: the handler takes {sorted(expected)}")

    @property
    def is_control(self) -> bool:
        return self.control or self.method == "GET"

    async def run(self, exchange: Exchange) -> Response:
        result = await self.handler(exchange, **await self.arguments(exchange))
        return result if isinstance(result, Response) else answer(result, self.status)

    async def arguments(self, exchange: Exchange) -> dict[str, Any]:
        arguments: dict[str, Any] = dict(exchange.parameters)
        query: bytes = exchange.scope["query_string"]
        if self.query_type is not None:
            arguments["query"] = decode_query(query, self.query_type)
        elif (
            query and self.counted and not self.page
        ):  # people and probes add parameters to the others freely
            decode_query(query, NoQuery)
        if self.body_type is not None:
            body = await exchange.body()
            content_type = exchange.header(b"content-type")
            arguments["body"] = decode_body(content_type, body, self.body_type, self.field_problems)
        return arguments


def path_parameters(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


class Router:
    """Finds exact paths by one lookup, and paths with parameters by their patterns."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = list(routes)
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Route]]] = []
        for path in dict.fromkeys(route.path for route in self.routes):
            methods = {route.method: route for route in self.routes if route.path == path}
            if path_parameters(path):
                self._patterns.append((_pattern(path), methods))
            else:
                self._exact[path] = methods

    def find(self, exchange: Exchange) -> None:
        """Put the route into the exchange, or the problem that there is none."""
        methods = self._methods(exchange)
        if methods is None:
            exchange.denial = Problem(
                problems.NOT_FOUND,
                f"There is nothing at {exchange.path[:200]}.",
                hint="The endpoints are listed at /docs.",
            )
            return
        exchange.route = methods.get("GET" if exchange.method == "HEAD" else exchange.method)
        if exchange.route is None:
            allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
            exchange.denial = Problem(
                problems.METHOD_NOT_ALLOWED,
                f"{exchange.path[:200]} does not take {exchange.method}; it takes {allowed}.",
                headers={"Allow": allowed},
            )
        else:
            exchange.max_body = max(exchange.max_body, exchange.route.max_body_bytes)

    def _methods(self, exchange: Exchange) -> dict[str, Route] | None:
        exact = self._exact.get(exchange.path)
        if exact is not None:
            return exact
        if "\0" in exchange.path:
            return None  # no path contains it
        for pattern, methods in self._patterns:
            match = pattern.fullmatch(exchange.path)
            if match:
                exchange.parameters = match.groupdict()
                return methods
        return None


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    return re.compile("".join(re.escape(p) if i % 2 == 0 else f"(?P<{p}>[^/]+)" for i, p in enumerate(parts)))


async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    """The innermost application: run the route that was found."""
    exchange: Exchange = scope["exchange"]
    assert exchange.route is not None  # noqa: S101  (`Authorise` has refused requests without one)
    try:
        response = await exchange.route.run(exchange)
    except Replay as replay:
        response = replay.response
    else:
        if not exchange.route.page:
            _refuse_bare_error(response)
    await response(scope, receive, send)


def _refuse_bare_error(response: Response) -> None:
    """Handlers raise errors. If one returns an error all the same, turn it into its problem."""
    if response.status_code >= 400:
        kind = problems.BY_STATUS.get(response.status_code, problems.INTERNAL_ERROR)
        raise Problem(kind, kind.detail)
