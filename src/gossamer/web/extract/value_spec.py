"""Value specs: a schema as a tree of the values to look for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gossamer.web.extract.schema.schema import Json, Schema, refusal
from gossamer.web.extract.sources.selectors import Selector

_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True, slots=True)
class ValueSpec:
    name: str = ""  # of the property; an item has the name of its list
    title: str = ""
    description: str = ""
    types: frozenset[str] = frozenset()  # empty for any type
    format: str = ""
    choices: tuple[Any, ...] = ()  # the values of an enumeration
    fallback: tuple[Any, ...] = ()  # the schema's constant or default, used if the page has no value
    selector: Selector | None = None
    derived: bool = False  # inferred from the page, not found in it
    members: "tuple[ValueSpec, ...]" = ()
    required: frozenset[str] = frozenset()
    item: "ValueSpec | None" = None
    document: Json = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_list(self) -> bool:
        return "array" in self.types and not self.members

    @property
    def is_object(self) -> bool:
        return bool(self.members) or (
            "object" in self.types and not self.types & _SCALARS and "array" not in self.types
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.name, self.title) if name)

    def walk(self) -> "Iterator[ValueSpec]":
        yield self
        for one in (*self.members, *([self.item] if self.item else ())):
            yield from one.walk()


def spec_of(schema: Schema) -> ValueSpec:
    return _spec(schema.document, "", ())


def selectors_of(spec: ValueSpec) -> tuple[str, ...]:
    """Return the CSS selectors of a spec, each once."""
    found = (one.selector.css for one in spec.walk() if one.selector and one.selector.css)
    return tuple(dict.fromkeys(found))


def _spec(document: Any, name: str, path: tuple[str | int, ...]) -> ValueSpec:
    flat = _flat(document if isinstance(document, dict) else {})
    types = _types(flat)
    members = {**(flat.get("properties") or {}), **_required_only(flat)}
    items = flat.get("items")
    listed = "array" in types or (not types and isinstance(items, dict))
    return ValueSpec(
        name=name,
        title=_text(flat.get("title")),
        description=_text(flat.get("description")),
        types=types | ({"array"} if listed else set()),
        format=_text(flat.get("format")),
        choices=_choices(flat),
        fallback=_fallback(flat),
        selector=_selector(flat, path),
        derived=flat.get("x-derived") is True,
        members=tuple(_spec(one, key, (*path, "properties", key)) for key, one in members.items()),
        required=frozenset(flat.get("required") or ()) & frozenset(members),
        item=_spec(items, name, (*path, "items")) if listed else None,
        document=flat,
    )


def _required_only(flat: Json) -> Json:
    """Return the required properties that the schema does not describe."""
    described = flat.get("properties") or {}
    return {name: {} for name in flat.get("required") or () if described and name not in described}


def _flat(document: Json) -> Json:
    """Merge `allOf` and the first alternative that is not null into one schema."""
    parts = [one for one in document.get("allOf") or () if isinstance(one, dict)]
    for name in ("anyOf", "oneOf"):
        branches = [one for one in document.get(name) or () if isinstance(one, dict)]
        parts += [one for one in branches if one.get("type") != "null"][:1]
    if not parts:
        return document
    found: Json = {}
    for part in [*map(_flat, parts), document]:
        properties = {**found.get("properties", {}), **part.get("properties", {})}
        required = [*found.get("required", ()), *part.get("required", ())]
        found |= part
        found |= {"properties": properties} if properties else {}
        found |= {"required": required} if required else {}
    return found


def _types(flat: Json) -> frozenset[str]:
    stated = flat.get("type")
    if stated is None:
        return frozenset({"object"}) if flat.get("properties") else frozenset()
    return frozenset([stated] if isinstance(stated, str) else stated)


def _choices(flat: Json) -> tuple[Any, ...]:
    return tuple(one for one in flat.get("enum") or () if one is not None)


def _fallback(flat: Json) -> tuple[Any, ...]:
    return next(((flat[name],) for name in ("const", "default") if name in flat), ())


def _selector(flat: Json, path: tuple[str | int, ...]) -> Selector | None:
    if "x-selector" not in flat:
        return None
    try:
        return Selector.parse(flat["x-selector"])
    except ValueError as error:
        raise refusal(str(error), (*path, "x-selector")) from None


def _text(value: Any) -> str:
    return value[:1_000] if isinstance(value, str) else ""
