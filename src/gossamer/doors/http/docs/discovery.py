"""Discovery: the x402 extensions in a 402, by which agents find an endpoint and learn to call it.

A priced route declares two of them: `bazaar`, with examples of the request and the answer, and
`payment-identifier`. Clients send them back with the payment, so they are small: of the body's schema they
contain only names, types and required fields.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.doors.http.core.routing import Route
from gossamer.web.pay.x402 import IDENTIFIER, IDENTIFIER_LENGTHS

MAX_BYTES: Final = 2_400  # as JSON, so that the header stays under 6 KB with the terms of three networks
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_KEPT: Final = ("type", "enum", "minimum", "maximum", "default")
_IDENTIFIER: Final[Mapping[str, Any]] = {
    "info": {"required": False},
    "schema": {
        "$schema": _DRAFT,
        "type": "object",
        "properties": {
            "required": {"type": "boolean"},
            "id": {
                "type": "string",
                "minLength": IDENTIFIER_LENGTHS.start,
                "maxLength": IDENTIFIER_LENGTHS.stop - 1,
                "pattern": "^[a-zA-Z0-9_-]+$",
            },
        },
        "required": ["required"],
    },
}


def extensions(route: Route) -> dict[str, Any]:
    for schema in (_input_schema(route, _KEPT), _input_schema(route, ("type",)), {"type": "object"}):
        declared = {"bazaar": _bazaar(route, schema), IDENTIFIER: _IDENTIFIER}
        if len(msgspec.json.encode(declared)) <= MAX_BYTES:
            break
    return declared


def _bazaar(route: Route, schema: Mapping[str, Any]) -> dict[str, Any]:
    place = "queryParams" if route.body_type is None else "body"
    fixed = {"type": "http", "method": route.method}
    if route.body_type is not None:
        fixed["bodyType"] = "json"
    given = {**fixed, place: _essential(route)}
    is_text = isinstance(route.example, str)  # a page, and not JSON about one
    shown = {"type": "text" if is_text else "json", "example": msgspec.to_builtins(route.example)}
    return {
        "info": {"input": given, "output": shown},
        "schema": {
            "$schema": _DRAFT,
            "type": "object",
            "properties": {
                "input": {
                    "type": "object",
                    "properties": {
                        **{name: {"type": "string", "enum": [value]} for name, value in fixed.items()},
                        "type": {"type": "string", "const": "http"},
                        place: schema,
                    },
                    "required": [*fixed, place],
                    "additionalProperties": False,
                },
                "output": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string"},
                        "example": {"type": "string" if is_text else "object"},
                    },
                    "required": ["type", "example"],
                },
            },
            "required": ["input"],
        },
    }


def _essential(route: Route) -> dict[str, Any]:
    """The required fields of the example."""
    if route.example_body is None:
        return {}
    example = msgspec.to_builtins(route.example_body)
    needed = _components(route).get("required", ())
    return {name: value for name, value in example.items() if name in needed} or example


def _input_schema(route: Route, kept: tuple[str, ...]) -> dict[str, Any]:
    whole = _components(route)
    fields = {
        name: {word: value[word] for word in kept if word in value}
        for name, value in whole.get("properties", {}).items()
    }
    return {"type": "object", "properties": fields, "required": list(whole.get("required", ()))}


def _components(route: Route) -> dict[str, Any]:
    """The schema of the body, or of the query where there is no body."""
    shape = route.body_type or route.query_type
    if shape is None:
        return {}
    schema = msgspec.json.schema(shape)
    found: dict[str, Any] = schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
    return found
