"""Route: the whole declaration of an endpoint; ServedSubject: routes that are built when they are asked for;
Router: finds the route of a request.

A route's handler is a coroutine function whose signature completes the declaration: the parameters `body` and
`query` are decoded into their annotated `msgspec.Struct`, the other parameters come from the path, and the
return value (a `Struct` or a `Response`) is the answer. The OpenAPI document follows from the declaration.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, get_type_hints

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.decoding import decode_body, decode_query
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange, Replay, answer
from gossamer.problems import Problem, ProblemKind
from gossamer.state.pay.orders import OrderKind
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
class OrderTerms:
    """How long work is sold: by the pages that it asks for at most, and when it is accepted.

    The handler calls `exchange.remember` in the transaction that creates the work."""

    kind: OrderKind
    prices: tuple[str, ...]  # all rows of the price table that may apply
    pages: Callable[[Any], int]  # of the body
    subject: str  # the member of the answer with the id of the work
    job: str | None  # and with the id of its job
    location: str  # where the work is found: a path with {id}

    def fits(self, answers: Any) -> bool:
        """Whether answers of this type have the members that are named here."""
        return {self.subject, self.job or self.subject} <= set(answers.__struct_encode_fields__)


@dataclass(frozen=True, kw_only=True)
class Route:
    method: str
    path: str  # with {parameters}; {name*} takes the rest of the path, slashes included
    handler: Handler
    needs: Role  # the least role that may call it; Role.NOBODY is everybody
    tag: str
    summary: str
    description: str = ""
    status: int = 200
    page: bool = False  # a page of the dashboard: it is not documented, and its problems are pages too
    dialect: Dialect | None = None  # of the clients that call it, if they are not ours
    host: str = ""  # only for requests to this host name, which then has no other routes
    has_secret_path: bool = False  # logs show its template instead
    counted: bool = True  # False: the answer has the rate-limit headers, but does not use up the limit
    control: bool = False  # a control call: reads or steers what exists already, as every GET without a price
    policies: tuple[str, ...] = ()  # rate limits beside the caller's own
    price: Price = ""  # for callers without a key
    order: OrderTerms | None = None  # for long work: the price is for each page
    opened_by_order: bool = False  # the capability of an order opens it, if {id} is what was ordered
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
    example_body: Any = None  # or of the query, where there is no body
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)  # of its answer: name → description
    others: tuple[Other, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # help for each path and query parameter
    body_type: type | None = field(init=False)
    query_type: type | None = field(init=False)
    is_ours: bool = field(init=False)  # a part of our own API
    is_control: bool = field(init=False)

    def __post_init__(self) -> None:
        hints = _type_hints(getattr(self.handler, "__func__", self.handler))
        object.__setattr__(self, "body_type", hints.get("body"))
        object.__setattr__(self, "query_type", hints.get("query"))
        object.__setattr__(self, "is_ours", not self.page and self.dialect is None)
        object.__setattr__(self, "is_control", self.control or (self.method == "GET" and not self.price))
        if not self.is_ours:
            return
        if self.answers is None and hints["return"] is not Response:
            object.__setattr__(self, "answers", hints["return"])
        if self.order is not None and not self.order.fits(self.answers):
            raise TypeError(f"{self.method} {self.path}: its answer does not name what was ordered")
        expected = set(hints) - {"exchange", "body", "query", "return"}
        if expected != set(path_parameters(self.path)):
            raise TypeError(f"{self.method} {self.path}: the handler takes {sorted(expected)}")

    async def run(self, exchange: Exchange) -> Response:
        takes_none = self.query_type is None and self.body_type is None and not exchange.scope["query_string"]
        arguments = exchange.parameters if takes_none else await self.arguments(exchange)
        result = await self.handler(exchange, **arguments)
        return result if isinstance(result, Response) else answer(result, self.status)

    async def arguments(self, exchange: Exchange) -> dict[str, Any]:
        arguments: dict[str, Any] = dict(exchange.parameters)
        query: bytes = exchange.scope["query_string"]
        if self.query_type is not None:
            arguments["query"] = decode_query(query, self.query_type)
        elif query and self.counted and self.is_ours:  # people and probes add parameters to the others freely
            decode_query(query, NoQuery)
        if self.body_type is not None:
            body = await exchange.body()
            content_type = exchange.header(b"content-type")
            arguments["body"] = decode_body(
                content_type,
                body,
                self.body_type,
                self.field_problems,
                by_owner=exchange.handover.is_by_owner,
            )
        return arguments


@lru_cache(maxsize=1024)  # a process may build the same routes many times
def _type_hints(function: Handler) -> Mapping[str, Any]:
    return get_type_hints(function)


def path_template(path: str) -> str:
    """The path as OpenAPI spells it, which knows no parameter with slashes in it."""
    return path.replace("*}", "}")


def path_parameters(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\*?\}", path)


class ServedSubject:
    """Routes whose paths begin alike. They are built, and what they need is imported, when somebody asks at
    such a path for the first time. No two subjects have the same path."""

    def __init__(self, heads: Sequence[str], build: Callable[[], Iterable[Route]]) -> None:
        self.heads = heads  # of whole segments
        self._build = build

    def has(self, path: str) -> bool:
        return any(path == head or path.startswith(f"{head}/") for head in self.heads)

    @cached_property
    def routes(self) -> list[Route]:
        return list(self._build())


class Router:
    """Finds the routes of the host, and among them the route of the path and method. What hosts of their own
    have is built at once."""

    def __init__(self, routes: Iterable[Route], subjects: Iterable[ServedSubject] = ()) -> None:
        by_host: dict[str, list[Route]] = {"": []}
        for route in routes:
            by_host.setdefault(route.host, []).append(route)
        self._tables = {host: _RouteTable(own) for host, own in by_host.items()}
        self._tables[""].closed += subjects
        self._only = self._tables[""] if len(by_host) == 1 else None  # as nearly always

    def find(self, exchange: Exchange) -> None:
        """Put the route into the exchange, or the problem that there is none."""
        table = self._only or self._table(exchange)
        methods = table.exact.get(exchange.path) or table.match(exchange)
        if methods is None:
            exchange.dialect = table.dialect(exchange.path)
            exchange.denial = Problem(
                problems.NOT_FOUND,
                f"There is nothing at {exchange.path[:200]}.",
                hint="The endpoints are listed at /docs.",
            )
            return
        exchange.route = methods.get("GET" if exchange.method == "HEAD" else exchange.method)
        if exchange.route is None:
            exchange.dialect = table.dialect(exchange.path)
            allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
            exchange.denial = Problem(
                problems.METHOD_NOT_ALLOWED,
                f"{exchange.path[:200]} does not take {exchange.method}; it takes {allowed}.",
                headers={"Allow": allowed},
            )
        else:
            exchange.dialect = exchange.route.dialect
            if exchange.route.max_body_bytes > exchange.max_body:
                exchange.max_body = exchange.route.max_body_bytes

    def _table(self, exchange: Exchange) -> "_RouteTable":
        if exchange.handover.is_in_process:
            return self._tables[""]
        host = (exchange.header(b"host") or "").partition(":")[0].lower()
        return self._tables.get(host) or self._tables[""]


class _RouteTable:
    """Finds exact paths by one lookup, and paths with parameters by their patterns."""

    def __init__(self, routes: list[Route]) -> None:
        self.closed: list[ServedSubject] = []  # nobody has asked for them yet
        self.exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Route]]] = []
        self._dialects: dict[str, Dialect] = {}
        self._add(routes)

    def _add(self, routes: list[Route]) -> None:
        spoken = dict.fromkeys(route.dialect for route in routes if route.dialect is not None)
        self._dialects |= {prefix: dialect for dialect in spoken for prefix in dialect.prefixes}
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        for path, methods in by_path.items():
            if path_parameters(path):
                self._patterns.append((_pattern(path), methods))
            else:
                self.exact[path] = methods

    def dialect(self, path: str) -> Dialect | None:
        found = (dialect for prefix, dialect in self._dialects.items() if path.startswith(prefix))
        return next(found, None)

    def match(self, exchange: Exchange) -> dict[str, Route] | None:
        """The routes of a path that has parameters, or that nobody has asked for yet."""
        found = self._match_patterns(exchange)
        while found is None and self._open(exchange.path):
            found = self.exact.get(exchange.path) or self._match_patterns(exchange)
        return found

    def _open(self, path: str) -> bool:
        """Whether there was one more subject that may have the path."""
        subject = next((subject for subject in self.closed if subject.has(path)), None)
        if subject is None:
            return False
        self._add(subject.routes)
        self.closed.remove(subject)
        return True

    def _match_patterns(self, exchange: Exchange) -> dict[str, Route] | None:
        if "\0" in exchange.path:
            return None  # no path contains it
        for pattern, methods in self._patterns:
            match = pattern.fullmatch(exchange.path)
            if match:
                exchange.parameters = match.groupdict()
                return methods
        return None


@lru_cache(maxsize=1024)
def _pattern(path: str) -> re.Pattern[str]:
    """`{name}` is one segment of the path, `{name*}` is the rest of it."""
    texts = re.split(r"\{\w+\*?\}", path)
    kinds = [".+" if given else "[^/]+" for given in re.findall(r"\{\w+(\*?)\}", path)]
    named = [f"(?P<{name}>{kind})" for name, kind in zip(path_parameters(path), kinds, strict=True)]
    return re.compile(
        "".join(re.escape(text) + part for text, part in zip(texts, [*named, ""], strict=True)), re.DOTALL
    )


async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    """The innermost application: run the route that was found."""
    exchange: Exchange = scope["exchange"]
    assert exchange.route is not None  # noqa: S101  (`Authorise` has refused requests without one)
    try:
        response = await exchange.route.run(exchange)
    except Replay as replay:
        response = replay.response
    else:
        if response.status_code >= 400 and exchange.route.is_ours:
            raise _bare_error(response.status_code)
    await response(scope, receive, send)


def _bare_error(status: int) -> Problem:
    """Handlers raise errors. If one returns an error all the same, this is its problem."""
    kind = problems.BY_STATUS.get(status, problems.INTERNAL_ERROR)
    return Problem(kind, kind.detail)
