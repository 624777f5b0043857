"""Wanted: a schema as what is to be looked for, value by value."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gossamer.web.structured.schema import Json, Schema, refusal
from gossamer.web.structured.selectors import Selector

_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True, slots=True)
class Wanted:
    name: str = ""  # of the property; of an item, its list's
    title: str = ""
    description: str = ""
    types: frozenset[str] = frozenset()  # any where there is none
    format: str = ""
    choices: tuple[Any, ...] = ()  # of an enumeration
    fallback: tuple[Any, ...] = ()  # what the schema itself says, where the page does not
    selector: Selector | None = None
    derived: bool = False  # made from the page rather than found in it
    members: "tuple[Wanted, ...]" = ()
    required: frozenset[str] = frozenset()
    item: "Wanted | None" = None
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

    def walk(self) -> "Iterator[Wanted]":
        yield self
        for one in (*self.members, *([self.item] if self.item else ())):
            yield from one.walk()


def wanted_of(schema: Schema) -> Wanted:
    return _wanted(schema.document, "", ())


def selectors_of(wanted: Wanted) -> tuple[str, ...]:
    """All that have to be CSS."""
    found = (one.selector.css for one in wanted.walk() if one.selector and one.selector.css)
    return tuple(dict.fromkeys(found))


def _wanted(document: Any, name: str, path: tuple[str | int, ...]) -> Wanted:
    flat = _flat(document if isinstance(document, dict) else {})
    types = _types(flat)
    members = {**(flat.get("properties") or {}), **_undescribed(flat)}
    items = flat.get("items")
    listed = "array" in types or (not types and isinstance(items, dict))
    return Wanted(
        name=name,
        title=_text(flat.get("title")),
        description=_text(flat.get("description")),
        types=types | ({"array"} if listed else set()),
        format=_text(flat.get("format")),
        choices=_choices(flat),
        fallback=_fallback(flat),
        selector=_selector(flat, path),
        derived=flat.get("x-derived") is True,
        members=tuple(_wanted(one, key, (*path, "properties", key)) for key, one in members.items()),
        required=frozenset(flat.get("required") or ()) & frozenset(members),
        item=_wanted(items, name, (*path, "items")) if listed else None,
        document=flat,
    )


def _undescribed(flat: Json) -> Json:
    """What must be there, and of which nothing is said."""
    described = flat.get("properties") or {}
    return {name: {} for name in flat.get("required") or () if described and name not in described}


def _flat(document: Json) -> Json:
    """With all of `allOf`, and of alternatives the first that is more than null, in one."""
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
