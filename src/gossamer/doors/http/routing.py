"""Route: everything that is declared of an endpoint in one place; Router: which route a request means.

A route's handler is a coroutine function whose signature says the rest: a parameter `body` or `query` is
decoded into its annotated `msgspec.Struct`, the other parameters are those of the path, and what it returns
(a `Struct`, or a ready `Response`) is the answer. The OpenAPI document is made from the same declaration.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.exchange import Exchange, Replay, answer
from gossamer.problems import Kind, Problem
from gossamer.state.tenants import Role

Handler = Callable[..., Awaitable[Any]]
Price = str | Callable[[Any], str]  # the name of a row of the price table; or which, by the body
Peek = Callable[..., Awaitable[bool]]  # with the arguments of the handler
T = TypeVar("T")
MOST_PARAMETERS: Final = 100
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # in JSON
_SURROGATES: Final = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of who takes no query parameters."""


@dataclass(frozen=True, kw_only=True)
class Other:
    """An answer that is no error, beside the usual one."""

    status: int
    about: str
    answers: Any = None  # JSON of this type; None has no body
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)  # what each says


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
    counted: bool = True  # False: carries the rate-limit headers but does not use up the limit
    policies: tuple[str, ...] = ()  # rate limits beside the caller's own
    price: str | Callable[[Any], str] = (
        ""  # for who has no key: a row of the price table, or by the body which
    )
    peek: Callable[..., Awaitable[bool]] | None = None  # has the cache the answer?
    deadline: float | None = None  # seconds; None is the setting's
    largest_body: int = 0  # bytes that fit, also where the setting says less
    idempotent: bool = True  # a POST may carry an Idempotency-Key
    problems: tuple[Kind, ...] = ()  # beyond those that every route can have
    field_problems: Mapping[str, Kind] = field(default_factory=dict)  # of the body: a kind of its own
    media_type: str = "application/json"
    also: Mapping[str, str | None] = field(default_factory=dict)  # as `Accept` asks: media type and example
    answers: Any = None  # what a handler that returns a ready Response puts into it
    example_body: Any = None
    example: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)  # of its answer: what each says
    others: tuple[Other, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # help for each path and query parameter
    body_type: type | None = field(init=False)
    query_type: type | None = field(init=False)

    def __post_init__(self) -> None:
        hints = get_type_hints(self.handler)
        object.__setattr__(self, "body_type", hints.get("body"))
        object.__setattr__(self, "query_type", hints.get("query"))
        if self.answers is None and hints["return"] is not Response:
            object.__setattr__(self, "answers", hints["return"])
        expected = set(inspect.signature(self.handler).parameters) - {"exchange", "body", "query"}
        if expected != set(path_parameters(self.path)):
            raise TypeError(f"{self.method} {self.path}: the handler takes {sorted(expected)}")

    async def run(self, exchange: Exchange) -> Response:
        result = await self.handler(exchange, **await self.arguments(exchange))
        return result if isinstance(result, Response) else answer(result, self.status)

    async def arguments(self, exchange: Exchange) -> dict[str, Any]:
        arguments: dict[str, Any] = dict(exchange.parameters)
        query: bytes = exchange.scope["query_string"]
        if self.query_type is not None:
            arguments["query"] = decode_query(query, self.query_type)
        elif query and self.counted:  # to the rest, people and probes add what they like
            decode_query(query, NoQuery)
        if self.body_type is not None:
            arguments["body"] = self._decode_body(exchange, await exchange.body())
        return arguments

    def _decode_body(self, exchange: Exchange, body: bytes) -> Any:
        assert self.body_type is not None  # noqa: S101  (asked only where there is one)
        try:
            return decode_body(exchange, body, self.body_type)
        except Problem as problem:
            for name, kind in self.field_problems.items():
                if f"`$.{name}" in problem.detail:
                    raise Problem(kind, problem.detail, hint=problem.hint) from None
            raise


def path_parameters(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def decode_body(exchange: Exchange, body: bytes, shape: type[T]) -> T:
    media_type = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise Problem(
            problems.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Type is {media_type!r}; send application/json."
            if media_type
            else "There is no Content-Type; send application/json.",
            hint="Add the header Content-Type: application/json.",
        )
    if b"\\u0000" in body and _NUL.search(body):
        raise _nul()
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise problems.validation_error(
            _what_is_wrong(body, error), hint="Compare the body with the example in /docs."
        ) from None


def _what_is_wrong(body: bytes, error: Exception) -> str:
    """In words that fit: the decoder calls both of these truncated, or says nothing of them."""
    if not body.strip():
        return "The body is empty."
    if isinstance(error, msgspec.ValidationError):
        return _sentence(str(error))
    if isinstance(error, UnicodeDecodeError) or _has_half_a_character(body):
        return "The body is not valid Unicode."
    return _sentence(str(error))


def _has_half_a_character(body: bytes) -> bool:
    """Escapes for characters beyond U+FFFF come in pairs (RFC 8259, section 8.2)."""
    return any(found["alone"] for found in _SURROGATES.finditer(body))


def decode_query(query: bytes, shape: type[T]) -> T:
    if query.count(b"&") >= MOST_PARAMETERS:
        raise problems.validation_error(f"There are more than {MOST_PARAMETERS} query parameters.")
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    values = dict(pairs)
    if len(values) != len(pairs):
        raise problems.validation_error("A query parameter was given twice.", hint="Give each of them once.")
    if any("\0" in value for value in values.values()):
        raise _nul()
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise problems.validation_error(
            _sentence(str(error)), hint="Compare the query parameters with /docs."
        ) from None


def _nul() -> Problem:
    """What no database keeps or looks for is refused in one place."""
    return problems.validation_error("A text has the character NUL in it.", hint="Leave it out.")


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


class Router:
    """Exact paths by one look-up, paths with parameters by their patterns."""

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
        """Name the route on the exchange, or the problem that there is none."""
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
            exchange.max_body = max(exchange.max_body, exchange.route.largest_body)

    def _methods(self, exchange: Exchange) -> dict[str, Route] | None:
        exact = self._exact.get(exchange.path)
        if exact is not None:
            return exact
        if "\0" in exchange.path:
            return None  # nothing is called like this
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
    assert exchange.route is not None  # noqa: S101  (guarding has refused what has none)
    try:
        response = await exchange.route.run(exchange)
    except Replay as replay:
        response = replay.response
    else:
        _refuse_bare_error(response)
    await response(scope, receive, send)


def _refuse_bare_error(response: Response) -> None:
    """An error is raised, never returned: whatever comes back as one leaves as its problem all the same."""
    if response.status_code >= 400:
        kind = problems.BY_STATUS.get(response.status_code, problems.INTERNAL_ERROR)
        raise Problem(kind, kind.detail)
