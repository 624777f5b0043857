"""Schema: check a caller's JSON Schema, refuse what is invalid or too large, and expand its references.

Limits are checked before anything else reads the schema. Its patterns are matched by an engine without
backtracking, so lookaround and back references are refused. References are never fetched.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_CHARS: Final = 64_000
MAX_SCHEMA_DEPTH: Final = 40  # levels of JSON
MAX_SCHEMA_PARTS: Final = 2_000  # subschemas, with every reference expanded
MAX_PATTERN_BYTES: Final = 256 * 1024  # of one pattern, compiled

Json = dict[str, Any]

_DRAFTS: Final = frozenset(
    {
        "",
        *(f"http://json-schema.org/draft-{number}/schema" for number in ("04", "06", "07")),
        *(f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")),
    }
)
_ONE: Final = frozenset(
    {"items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
    | {"contains", "propertyNames", "not", "if", "then", "else"}
)
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_TABLES: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_STORES: Final = ("$defs", "definitions")
_FOREIGN: Final = (
    "$dynamicRef",
    "$recursiveRef",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$anchor",
    "$id",
    "id",
)
_FIELD_TYPES: Final[Mapping[str, Json]] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "url": {"type": "string", "format": "uri"},
    "email": {"type": "string", "format": "email"},
}


class Schema(Struct, frozen=True, dict=True):
    """A schema that was checked, with every reference expanded."""

    document: Json

    @cached_property
    def _validator(self) -> "jsonschema_rs.Validator":
        return _validator(self.document)

    def failures(self, data: Any) -> "Iterator[SchemaFailure]":
        for error in self._validator.iter_errors(data):
            yield SchemaFailure(tuple(error.instance_path), error.kind.name, error.message[:300])

    def accepts(self, data: Any) -> bool:
        return self._validator.is_valid(data)


class SchemaFailure(Struct, frozen=True):
    """A value that violates the schema."""

    path: tuple[str | int, ...]
    keyword: str
    message: str


def read(given: Json) -> Schema:
    """Check a schema and expand its references; the `Problem` it raises names the faulty place."""
    import jsonschema_rs  # it is large, and only requests with a schema need it

    _refuse_excess(given)
    draft = given.get("$schema", "")
    if not isinstance(draft, str) or draft.rstrip("#") not in _DRAFTS:
        raise refusal("it is of no known draft of JSON Schema", ("$schema",))
    try:
        jsonschema_rs.meta.validate(given)
    except jsonschema_rs.ValidationError as error:
        raise refusal(error.message[:300], error.instance_path) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise refusal(str(error).partition("\n")[0][:300], ()) from None
    document = _ReferenceExpander(given).run()
    if not _holds_more(document):
        raise refusal("it describes neither an object nor a list", ("type",))
    _validator(document)
    return Schema(document)


def refusal(what: str, path: "tuple[str | int, ...] | list[str | int]") -> Problem:
    place = pointer(path)
    return Problem(
        UNPROCESSABLE_ENTITY,
        f"The schema is not usable at {place or 'its top'}: {what}.",
        hint="It has to be JSON Schema (2020-12 unless `$schema` says otherwise) with local references only.",
        details={"reason": "invalid_schema", "path": place},
    )


def pointer(path: "tuple[str | int, ...] | list[str | int]") -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _validator(document: Json) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # as in `read`

    try:
        return jsonschema_rs.validator_for(
            document,
            validate_formats=True,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(
                size_limit=MAX_PATTERN_BYTES, dfa_size_limit=MAX_PATTERN_BYTES
            ),
        )
    except jsonschema_rs.ValidationError as error:
        raise refusal(_describe(error), error.instance_path) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise refusal(str(error).partition("\n")[0][:300], ()) from None


def _describe(error: "jsonschema_rs.ValidationError") -> str:
    if "pattern" in error.instance_path or "patternProperties" in error.instance_path:
        return (
            "the pattern is no regular expression, or one with lookaround, back references or too many states"
        )
    return error.message[:300]


def _refuse_excess(given: Json) -> None:
    if _is_deep(given):
        raise refusal(
            f"it is nested more than {MAX_SCHEMA_DEPTH} levels deep, or has a number of more than 64 bits", ()
        )
    length = len(json.dumps(given, ensure_ascii=False))
    if length > MAX_SCHEMA_CHARS:
        raise refusal(f"it has {length:,} characters, more than {MAX_SCHEMA_CHARS:,}", ())


def _is_deep(value: Any) -> bool:
    """Check the depth without recursion, because the depth is not bounded yet."""
    waiting = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MAX_SCHEMA_DEPTH or (isinstance(one, int) and abs(one) >= 2**63):
            return True
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        waiting += [(below, depth + 1) for below in inner]
    return False


def _holds_more(document: Json) -> bool:
    stated = document.get("type")
    types = set(stated) if isinstance(stated, list) else {stated}
    if types & {"object", "array"}:
        return True
    inner = [*document.get("allOf", ()), *document.get("anyOf", ()), *document.get("oneOf", ())]
    return stated is None and (
        "properties" in document
        or "items" in document
        or any(isinstance(one, dict) and _holds_more(one) for one in inner)
    )


class _ReferenceExpander:
    """Expands every `$ref`, and counts what references multiply into."""

    def __init__(self, given: Json) -> None:
        self._given = given
        self._left = MAX_SCHEMA_PARTS

    def run(self) -> Json:
        document = self._schema(self._given, (), ())
        if not isinstance(document, dict):
            raise refusal("it says nothing about the data", ())
        if "$schema" in self._given:
            document["$schema"] = self._given["$schema"]
        return document

    def _schema(self, schema: Any, path: tuple[str | int, ...], through: tuple[str, ...]) -> Any:
        self._left -= 1
        if self._left < 0:
            raise refusal(
                f"with its references written out it has more than {MAX_SCHEMA_PARTS:,} parts", path
            )
        if not isinstance(schema, dict):
            return schema
        for name in _FOREIGN:
            if isinstance(schema.get(name), str):
                raise refusal(f"`{name}` is not supported; refer to parts by `#/$defs/…`", (*path, name))
        own = self._parts(schema, path, through)
        if "$ref" not in schema:
            return own
        target = self._target(schema["$ref"], path, through)
        return {"allOf": [target, *own.pop("allOf", ())], **own} if own else target

    def _parts(self, schema: Json, path: tuple[str | int, ...], through: tuple[str, ...]) -> Json:
        found: Json = {}
        for name, value in schema.items():
            here = (*path, name)
            if name in ("$ref", "$schema", *_STORES):
                continue
            if name in _TABLES and isinstance(value, dict):
                found[name] = {key: self._schema(one, (*here, key), through) for key, one in value.items()}
            elif name in _LISTS and isinstance(value, list):
                found[name] = [self._schema(one, (*here, n), through) for n, one in enumerate(value)]
            elif name in _ONE:
                found[name] = self._schema(value, here, through)
            else:
                found[name] = value
        return found

    def _target(self, reference: Any, path: tuple[str | int, ...], through: tuple[str, ...]) -> Any:
        here = (*path, "$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise refusal("only references inside the schema (`#/$defs/…`) are followed", here)
        if reference in through or reference == "#":
            raise refusal("it refers to itself; say how deep it goes by writing it out", here)
        found: Any = self._given
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference[1:].split("/")[1:]]
        for step in steps:
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                raise refusal(f"there is nothing at {reference[:200]}", here)
        return self._schema(found, tuple(steps), (*through, reference))


# Fields: the short form of a schema.


def schema_of(fields: Sequence[str] | Mapping[str, str]) -> Json:
    """Build a schema from names, alone or with a type (`number`, `date`, `string[]`) or a description."""
    described = fields if isinstance(fields, Mapping) else dict.fromkeys(fields, "")
    return {"type": "object", "properties": {name: _field(text.strip()) for name, text in described.items()}}


def _field(text: str) -> Json:
    is_list = text.endswith("[]")
    known = _FIELD_TYPES.get(text.removesuffix("[]").lower())
    if known is None:
        return {"description": text} if text else {}
    return {"type": "array", "items": known} if is_list else dict(known)
