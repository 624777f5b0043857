"""The OpenAPI document, made from the same declarations that the router runs on."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer import __version__, problems
from gossamer.doors.http.core.routing import Other, Route, path_parameters, path_template
from gossamer.doors.http.docs import problem_example
from gossamer.problems import ProblemKind
from gossamer.state.tenants.tenants import Role

JSON: Final = "application/json"
_REF: Final = "#/components/schemas/{name}"
_TAGS: Final[Mapping[str, str]] = {
    "Fetch": "A URL in, clean content out.",
    "Extract": "A URL and a schema in, data out, each value with its source.",
    "Memory": "What agents remember: values and pages by key, with versions, expiry and search.",
    "Search": "A query in, pages out: from the pages read here, and from search engines.",
    "Map": "A site in, the addresses of its pages out.",
    "Screenshots": "A URL in, a picture or a PDF of the page out.",
    "Render": "A URL in, the page as a browser sees it out; from a cache with two tiers if possible.",
    "Usage": "The usage of a tenant: renders, cache hits, storage.",
    "Batches": "Many pages in one request, each with its own result.",
    "Crawls": "Crawl whole sites politely: start and watch crawls, and read the stored pages.",
    "Frontier": "The URLs that crawls will fetch: admins add to them, inspect them and clear them.",
    "Payments": "The price of a call without a key, the networks for payment, and the ledger.",
    "Audits": "Reports on what search engines and AI agents see of a page, with fixes.",
    "Schedules": "Crawls, batches and audits that start again and again.",
    "Monitors": "Watch pages, lists, crawls and searches, and be told what really changed.",
    "Sites": "Your own sites: their proof, how their pages are rendered and kept warm, and what robots get.",
    "Webhooks": "Addresses that are told what happens, and what was sent to them.",
    "Jobs": "Long-running work: its progress and its result.",
    "People": "Sign in and out, and manage the people who may.",
    "Keys": "API keys and the tenants that they belong to.",
    "Operations": "For operators: health, metrics, and what goes on.",
    "Documentation": "For people: these pages, and the document that they are made from.",
}
_EVERYWHERE: Final = (
    problems.VALIDATION_ERROR,
    problems.RATE_LIMITED,
    problems.URI_TOO_LONG,
    problems.HEADERS_TOO_LARGE,
    problems.INTERNAL_ERROR,
    problems.SERVICE_UNAVAILABLE,
    problems.SERVER_BUSY,
)
_WITH_BODY: Final = (problems.REQUEST_TIMEOUT, problems.PAYLOAD_TOO_LARGE, problems.UNSUPPORTED_MEDIA_TYPE)
_WITH_KEY: Final = (problems.UNAUTHORIZED, problems.KEY_DISABLED, problems.FORBIDDEN)
_PRICED: Final = (problems.PAYMENT_REQUIRED, problems.PAYMENT_FAILED, problems.PAYMENT_IN_USE)
_REPEATABLE: Final = (  # the body is read for comparison, even if the endpoint takes none
    problems.REQUEST_TIMEOUT,
    problems.PAYLOAD_TOO_LARGE,
    problems.IDEMPOTENCY_KEY_CONFLICT,
)

_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "X-Request-Id": {
        "description": "The id of this request in logs and problems.",
        "required": True,
        "schema": {"type": "string", "pattern": "^wl_[0-9a-z]+_[0-9a-z]{6}$"},
        "example": problem_example.REQUEST_ID,
    },
    "X-Processing-Time": {
        "description": "Milliseconds from the request's arrival to its answer.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
        "example": 12,
    },
    "X-RateLimit-Limit": {
        "description": "The limit of the tightest policy that applies, in its window.",
        "schema": {"type": "integer"},
        "example": 100,
    },
    "X-RateLimit-Remaining": {
        "description": "Requests left under that limit.",
        "schema": {"type": "integer", "minimum": 0},
        "example": 97,
    },
    "X-RateLimit-Reset": {
        "description": "Unix time in seconds at which the oldest counted request leaves the window.",
        "schema": {"type": "integer"},
        "example": 1767268860,
    },
    "RateLimit-Policy": {
        "description": "All policies that apply, in the IETF's structured form.",
        "schema": {"type": "string"},
        "example": '"user";q=100;w=60',
    },
    "RateLimit": {
        "description": "The remaining requests under each policy, and the seconds until it resets.",
        "schema": {"type": "string"},
        "example": '"user";r=97;t=41',
    },
    "Retry-After": {
        "description": "Whole seconds to wait before trying again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
        "example": 41,
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme to use.",
        "required": True,
        "schema": {"type": "string"},
        "example": "Bearer",
    },
    "Location": {
        "description": "The address to ask instead.",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "X-Idempotent-Replayed": {
        "description": "`true` if this is the stored answer of an earlier request with the same key.",
        "schema": {"type": "string", "enum": ["true"]},
        "example": "true",
    },
    "PAYMENT-REQUIRED": {
        "description": "The price of the call and the ways to pay it, for version 2 of x402: JSON as base64.",
        "required": True,
        "schema": {"type": "string"},
    },
    "PAYMENT-RESPONSE": {
        "description": "The receipt of a payment, for version 2 of x402: JSON as base64.",
        "schema": {"type": "string"},
    },
    "X-PAYMENT-RESPONSE": {
        "description": "The same for version 1.",
        "schema": {"type": "string"},
    },
}
_ALWAYS: Final = tuple(list(_HEADERS)[:7])
_WITH_STATUS: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("WWW-Authenticate",),
    402: ("PAYMENT-REQUIRED",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_RECEIPTS: Final = ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
_NEVER_REPLAYED: Final = frozenset({402, 429})

_PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "title": "Problem",
    "description": "An RFC 9457 problem document.",
    "type": "object",
    "required": [
        "type", "title", "status", "detail", "instance", "error", "code", "message", "requestId", "docsUrl",
    ],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "The page about this kind of problem."},
        "title": {"type": "string", "description": "The kind of problem."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
        "detail": {"type": "string", "description": "A description of this occurrence."},
        "instance": {"type": "string", "description": "The path of the request."},
        "error": {"type": "string", "description": "The code; on a 402 the text that x402 clients read."},
        "code": {
            "type": "string",
            "enum": sorted(kind.code for kind in problems.KINDS.values()),
            "description": "The value for programs to compare.",
        },
        "message": {"type": "string", "description": "The same as `detail`."},
        "requestId": {"type": "string", "description": "The same as the header `X-Request-Id`."},
        "docsUrl": {"type": "string", "format": "uri", "description": "The same as `type`."},
        "hint": {"type": "string", "description": "How to fix it."},
        "details": {"type": "object", "description": "Facts about this occurrence; often with a `reason`."},
        "retryAfter": {"type": "integer", "description": "Seconds to wait, the same as `Retry-After`."},
        "limit": {"type": "integer", "description": "The limit."},
        "used": {"type": "integer", "description": "How much of it has been used."},
        "resetAt": {"type": "string", "format": "date-time", "description": "When a request fits again."},
        "upgradeUrl": {"type": "string", "description": "The page about higher limits."},
        "x402Version": {"type": "integer", "description": "On a 402: 1, for clients of that version."},
        "accepts": {
            "type": "array",
            "items": {"type": "object"},
            "description": "On a 402: the ways to pay, for version 1. Version 2 is in `PAYMENT-REQUIRED`.",
        },
    },
}  # fmt: skip


class _Shapes(Struct, frozen=True):
    """The JSON schemas of the types that routes are declared with."""

    by_type: Mapping[Any, dict[str, Any]]  # mostly references
    components: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, types: Iterable[Any]) -> "_Shapes":
        ordered = sorted(set(types), key=str)
        schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
        by_type = dict(zip(ordered, map(_importable, schemas), strict=True))
        return cls(by_type, {name: _importable(schema) for name, schema in components.items()})

    def name(self, shape: type) -> str:
        reference: str = self.by_type[shape]["$ref"]
        return reference.rpartition("/")[2]


def _importable(schema: Any) -> Any:
    """The same schema without `items: false`, which says of a tuple what `maxItems` says too, and which tools
    for OpenAPI do not read."""
    if isinstance(schema, list):
        return [_importable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    said = {name: _importable(value) for name, value in schema.items()}
    if said.get("items") is False and "maxItems" in said:
        del said["items"]
    return said


def document(routes: Iterable[Route], public_url: str, version: str = __version__) -> dict[str, Any]:
    routes = [route for route in routes if route.is_ours]
    types = (
        shape
        for route in routes
        for shape in (
            route.body_type,
            route.query_type,
            route.answers,
            *(one.answers for one in route.others),
        )
    )
    shapes = _Shapes.of(t for t in types if t is not None)
    paths: dict[str, dict[str, Any]] = {}
    for route, name in zip(routes, _names(routes), strict=True):
        operation = {"operationId": name, **_operation(route, shapes, public_url)}
        paths.setdefault(path_template(route.path), {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gossamer",
            "version": version,
            "description": "Self-hosted web access for AI agents. Every error is a problem document "
            "(RFC 9457) with its own page; every answer reports the caller's rate limits.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "externalDocs": {"description": "The same documentation for people.", "url": f"{public_url}/docs"},
        "servers": [{"url": public_url}],
        "tags": [_tag(name) for name in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM_SCHEMA, **_schemas(routes, shapes)},
            "headers": _HEADERS,
            "securitySchemes": {
                "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key: `sk_live_…`."}
            },
        },
    }


def _tag(name: str) -> dict[str, str]:
    return {"name": name, "description": _TAGS[name]} if name in _TAGS else {"name": name}


def _schemas(routes: Iterable[Route], shapes: _Shapes) -> dict[str, Any]:
    """All schemas except those of queries, which are listed as parameters."""
    listed = {shapes.name(route.query_type) for route in routes if route.query_type}
    return {name: schema for name, schema in shapes.components.items() if name not in listed}


def _operation(route: Route, shapes: _Shapes, public_url: str) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "tags": [route.tag],
        "summary": route.summary,
        "security": [{"apiKey": []}] if route.needs is not Role.NOBODY else [],
        "x-role": route.needs.value,
        "parameters": [*_path(route), *_query(route, shapes), *_idempotency_key(route)],
        "responses": {
            str(route.status): _success(route, shapes),
            **{str(other.status): _other(other, route, shapes) for other in route.others},
            **_failures(route, public_url),
        },
    }
    if route.description:
        operation["description"] = route.description
    if route.body_type is not None:
        content = _content(shapes.by_type[route.body_type], route.example_body)
        operation["requestBody"] = {"required": True, "content": {JSON: content}}
    return operation


def _names(routes: Iterable[Route]) -> Iterator[str]:
    """Operations are named after their handlers. A handler of a second path gets a number."""
    met: Counter[str] = Counter()
    for route in routes:
        first, *others = getattr(route.handler, "__name__", "operation").split("_")
        name = first + "".join(word.capitalize() for word in others)
        met[name] += 1
        yield name if met[name] == 1 else f"{name}{met[name]}"


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": route.parameters.get(name, ""),
            "schema": {"type": "string", "minLength": 1},
        }
        for name in path_parameters(route.path)
    ]


def _query(route: Route, shapes: _Shapes) -> list[dict[str, Any]]:
    if route.query_type is None:
        return []
    shape = shapes.components[shapes.name(route.query_type)]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in shape.get("required", ()),
            "description": schema.get("description") or route.parameters.get(name, ""),
            "schema": {key: value for key, value in schema.items() if key != "description"},
        }
        for name, schema in shape["properties"].items()
    ]


def _repeatable(route: Route) -> bool:
    return route.method == "POST" and route.idempotent


def _idempotency_key(route: Route) -> list[dict[str, Any]]:
    if not _repeatable(route):
        return []
    return [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "Makes a retry safe: the same key and body get the first answer again.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
            "example": "6f1c2a52-6d5f-4c39-9f8e-0f6d7b1e2a90",
        }
    ]


def _content(schema: dict[str, Any], value: Any) -> dict[str, Any]:
    return {"schema": schema} if value is None else {"schema": schema, "example": msgspec.to_builtins(value)}


def _success(route: Route, shapes: _Shapes) -> dict[str, Any]:
    replayed = ("X-Idempotent-Replayed",) if _repeatable(route) else ()
    moved = ("Location",) if 300 <= route.status < 400 else ()
    paid = _RECEIPTS if route.price else ()
    response: dict[str, Any] = {
        "description": HTTPStatus(route.status).phrase,
        "headers": {
            **_header_references((*_ALWAYS, *replayed, *moved, *paid)),
            **_own_headers(route.headers),
        },
    }
    if not moved and route.status != HTTPStatus.NO_CONTENT:
        response["content"] = _answers(route, shapes)
    return response


def _other(other: Other, route: Route, shapes: _Shapes) -> dict[str, Any]:
    replayed = ("X-Idempotent-Replayed",) if _repeatable(route) else ()
    response: dict[str, Any] = {
        "description": other.about,
        "headers": {**_header_references((*_ALWAYS, *replayed)), **_own_headers(other.headers)},
    }
    if other.answers is not None:
        response["content"] = {JSON: _content(shapes.by_type[other.answers], other.example)}
    return response


def _own_headers(headers: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"description": about, "schema": {"type": "string"}} for name, about in headers.items()}


def _answers(route: Route, shapes: _Shapes) -> dict[str, Any]:
    """Contents by media type. A route with another media type and a JSON type has both; `Accept` chooses."""
    also = {media_type: _content({"type": "string"}, example) for media_type, example in route.also.items()}
    if route.answers is None:
        return {route.media_type: _text(route, route.example), **also}
    contents = {JSON: _content(shapes.by_type[route.answers], route.example), **also}
    return contents if route.media_type == JSON else {route.media_type: _text(route, None), **contents}


def _text(route: Route, value: Any) -> dict[str, Any]:
    is_json = route.media_type == JSON or route.media_type.endswith("+json")
    return _content({"type": "object" if is_json else "string"}, value)


def _failures(route: Route, public_url: str) -> dict[str, Any]:
    by_status: dict[int, list[ProblemKind]] = {}
    for kind in kinds(route):
        by_status.setdefault(kind.status, []).append(kind)
    return {str(status): _failure(same, route, public_url) for status, same in sorted(by_status.items())}


def kinds(route: Route) -> list[ProblemKind]:
    """The problems that a route can answer."""
    possible = (
        *_EVERYWHERE,
        *(_WITH_BODY if route.body_type is not None else ()),
        *(_REPEATABLE if _repeatable(route) else ()),
        *(_WITH_KEY if route.needs is not Role.NOBODY else ()),
        *(_PRICED if route.price else ()),
        *route.problems,
    )
    return list({kind.name: kind for kind in possible}.values())


def _failure(same: list[ProblemKind], route: Route, public_url: str) -> dict[str, Any]:
    status = same[0].status
    more = _WITH_STATUS.get(status, ())
    replayed = ("X-Idempotent-Replayed",) if _repeatable(route) and _may_be_replayed(status) else ()
    return {
        "description": "; ".join(kind.title for kind in same),
        "headers": _header_references((*_ALWAYS, *more, *replayed)),
        "content": {
            problems.MEDIA_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {
                    kind.name: {
                        "summary": kind.title,
                        "value": problem_example.document(kind, public_url, route.path),
                    }
                    for kind in same
                },
            }
        },
    }


def _may_be_replayed(status: int) -> bool:
    return status < 500 and status not in _NEVER_REPLAYED


def _header_references(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
