"""Turns the OpenAPI document into the API reference, endpoint by endpoint."""

import json
import shlex
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from msgspec import Struct

from gossamer.problems import KINDS, MEDIA_TYPE, ProblemKind

Schema = Mapping[str, Any]
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_ROLES: Final = {
    "nobody": "Open to all",
    "viewer": "Needs an API key, a session or a usage link",
    "user": "Needs an API key",
    "admin": "Needs an admin's API key",
}
_MAX_LINE_CHARS: Final = 60  # a longer command or body is shown on several lines


class Field(Struct, frozen=True):
    """A parameter, or a member of a body."""

    name: str  # a.b if nested, a[].b in a list
    type: str
    required: bool
    default: str | None
    limits: tuple[str, ...]
    description: str


class EndpointDoc(Struct, frozen=True):
    anchor: str
    method: str
    path: str
    access: str
    summary: str
    description: str
    parameters: Mapping[str, list[Field]]  # by place: path, query, header
    body: list[Field]
    curl: str
    status: int
    phrase: str
    media_types: list[str]
    answer: list[Field]
    example: Any
    headers: list[str]
    problems: list[ProblemKind]


class Group(Struct, frozen=True):
    """The endpoints of one tag."""

    anchor: str
    name: str
    description: str
    endpoints: list[EndpointDoc]


class Reference:
    def __init__(self, document: Schema, *, paying: bool = False) -> None:
        self._document = document
        self._paying = paying
        self.headers: Mapping[str, Schema] = document["components"]["headers"]
        self.problem = list(self._fields(document["components"]["schemas"]["Problem"]))
        operations = [
            (operation["tags"][0], self._endpoint(path, method, operation))
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method in _METHODS
        ]
        self.groups = [
            Group(
                f"tag-{tag['name'].lower().replace(' ', '-')}",
                tag["name"],
                tag.get("description", ""),
                [endpoint for name, endpoint in operations if name == tag["name"]],
            )
            for tag in document["tags"]
        ]

    @property
    def endpoints(self) -> list[EndpointDoc]:
        return [endpoint for group in self.groups for endpoint in group.endpoints]

    def answering(self, kind: ProblemKind) -> list[EndpointDoc]:
        """The endpoints that can answer with this problem."""
        return [endpoint for endpoint in self.endpoints if kind in endpoint.problems]

    def _endpoint(self, path: str, method: str, operation: Schema) -> EndpointDoc:
        status, response = next(iter(operation["responses"].items()))
        contents = response.get("content", {})
        shown: Schema = next((content for content in contents.values() if "example" in content), {})
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        return EndpointDoc(
            anchor=operation["operationId"],
            method=method.upper(),
            path=path,
            access=self._access(operation),
            summary=operation["summary"],
            description=operation.get("description", ""),
            parameters=self._parameters(operation),
            body=list(self._fields(body.get("schema", {}))),
            curl=curl(self._document["servers"][0]["url"] + path, method, operation, body.get("example")),
            status=int(status),
            phrase=HTTPStatus(int(status)).phrase,
            media_types=list(contents),
            answer=list(self._fields(shown.get("schema", {}))),
            example=shown.get("example"),
            headers=list(response["headers"]),
            problems=_problems(operation),
        )

    def _access(self, operation: Schema) -> str:
        priced = self._paying and "402" in operation["responses"]
        return _ROLES[operation["x-role"]] + (" or a payment" if priced else "")

    def _parameters(self, operation: Schema) -> dict[str, list[Field]]:
        places: dict[str, list[Field]] = {}
        for parameter in operation["parameters"]:
            schema = {**parameter["schema"], "description": parameter["description"]}
            field = self._field(parameter["name"], schema, required=parameter["required"])
            places.setdefault(parameter["in"], []).append(field)
        return places

    def _fields(self, schema: Schema, prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[Field]:
        """The members of an object, each followed by its own members. Recursive types are expanded once."""
        title = schema.get("$ref", "")
        if title and title in above:
            return
        whole = self._resolve(schema)
        for name, member in whole.get("properties", {}).items():
            yield self._field(prefix + name, member, required=name in whole.get("required", ()))
            inner, suffix = self._inside(member)
            yield from self._fields(inner, f"{prefix}{name}{suffix}.", (*above, title))

    def _field(self, name: str, schema: Schema, *, required: bool) -> Field:
        whole = self._resolve(schema)
        default = whole.get("default")
        limits = tuple(_limits(self._core(whole)))
        return Field(
            name=name,
            type=self._type(whole),
            required=required,
            default=None if default is None else json.dumps(default, ensure_ascii=False),
            limits=limits,
            description=whole.get("description", ""),
        )

    def _resolve(self, schema: Schema) -> Schema:
        """The schema behind a reference, updated with the keys beside the reference."""
        if "$ref" not in schema:
            return schema
        name = schema["$ref"].rpartition("/")[2]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**self._document["components"]["schemas"][name], **beside}

    def _core(self, schema: Schema) -> Schema:
        """The schema without `null`, if it is a union of one type and `null`."""
        others = [self._resolve(s) for s in schema.get("anyOf", ()) if s.get("type") != "null"]
        return others[0] if len(others) == 1 else schema

    def _inside(self, schema: Schema) -> tuple[Schema, str]:
        """The schema with the members of a member (itself, its items or its values), and the path to it."""
        if "anyOf" in schema:
            others = [s for s in schema["anyOf"] if s.get("type") != "null"]
            return self._inside(others[0]) if len(others) == 1 else ({}, "")
        if isinstance(schema.get("items"), Mapping):
            return schema["items"], "[]"
        if isinstance(schema.get("additionalProperties"), Mapping):
            return schema["additionalProperties"], ".*"
        return schema, ""

    def _type(self, schema: Schema) -> str:
        schema = self._resolve(schema)
        if "anyOf" in schema:
            return " or ".join(dict.fromkeys(self._type(one) for one in schema["anyOf"]))
        values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
        declared = schema.get("type") or ("string" if values and isinstance(values[0], str) else "any")
        if isinstance(schema.get("items"), Mapping):
            return f"array of {self._type(schema['items'])}"
        if isinstance(schema.get("additionalProperties"), Mapping):
            return f"map of {self._type(schema['additionalProperties'])}"
        named = " or ".join(declared) if isinstance(declared, list) else str(declared)
        return f"{named} ({schema['format']})" if "format" in schema else named


def _limits(schema: Schema) -> Iterator[str]:
    if "enum" in schema:
        yield "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    yield from _range(schema.get("minimum"), schema.get("maximum"), "")
    yield from _range(schema.get("minLength"), schema.get("maxLength"), " characters")
    yield from _range(schema.get("minItems"), schema.get("maxItems"), " items")
    if "pattern" in schema:
        yield f"matches `{schema['pattern']}`"


def _range(low: float | None, high: float | None, unit: str) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"{low:,} to {high:,}{unit}"
    elif high is not None:
        yield f"at most {high:,}{unit}"
    elif low is not None and (low, unit) != (1, " characters"):
        yield f"at least {low:,}{unit}"


def _problems(operation: Schema) -> list[ProblemKind]:
    return [
        KINDS[name]
        for response in operation["responses"].values()
        for name in response.get("content", {}).get(MEDIA_TYPE, {}).get("examples", ())
    ]


def curl(url: str, method: str, operation: Schema, body: Any) -> str:
    """The request as a command line. Values that the reader has to fill in are in capitals."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            url = url.replace("{" + parameter["name"] + "}", parameter["name"].upper())
    query = [p["name"] for p in operation["parameters"] if p["in"] == "query" and p["required"]]
    if query:
        url += "?" + "&".join(f"{name}={name.upper()}" for name in query)
    command, address = "curl" if method == "get" else f"curl -X {method.upper()}", shlex.quote(url)
    parts = [f"{command} {address}"] if len(command + address) < _MAX_LINE_CHARS else [command, address]
    if operation["security"]:
        parts.append('-H "Authorization: Bearer $GOSSAMER_KEY"')
    if body is not None:
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(_body_text(body))}"]
    return " \\\n  ".join(parts)


def _body_text(body: Any) -> str:
    short = json.dumps(body, ensure_ascii=False)
    if len(short) <= _MAX_LINE_CHARS:
        return short
    return json.dumps(body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
