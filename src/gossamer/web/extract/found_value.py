"""Found values: a value of a page with the provenance of each of its parts."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from gossamer.web.extract.record import Leaf
from gossamer.web.extract.schema.schema import pointer

MAX_SOURCE_CHARS: Final = 300

Kind = Literal[
    "selector",
    "json-ld",
    "microdata",
    "rdfa",
    "json",
    "open-graph",
    "meta",
    "page",
    "label",
    "list",
    "table",
    "text",
    "schema",
    "model",
]


class Provenance(Struct, frozen=True, omit_defaults=True):
    """Where a value came from."""

    kind: Kind
    path: Annotated[str, Meta(description="In the structured data, a CSS selector, or a place in words.")]
    text: Annotated[str, Meta(description="As the page has it, if the value differs from it.")] = ""
    derived: Annotated[bool, Meta(description="Inferred from the page by a model, not found in it.")] = False


Sources = dict[str, Provenance]  # by JSON pointer


class FoundValue(Struct, frozen=True):
    value: Any
    sources: Sources = field(default_factory=dict)  # by JSON pointer, relative to the value


def from_leaf(value: Any, kind: Kind, leaf: Leaf) -> FoundValue:
    text = str(leaf.value)
    return FoundValue(
        value, {"": Provenance(kind, leaf.path, "" if value == leaf.value else text[:MAX_SOURCE_CHARS])}
    )


def join_members(members: Mapping[str, FoundValue]) -> FoundValue:
    return FoundValue(
        {name: one.value for name, one in members.items()},
        {
            pointer((name,)) + at: source
            for name, one in members.items()
            for at, source in one.sources.items()
        },
    )


def join_items(items: Iterable[FoundValue]) -> FoundValue:
    pieces = list(items)
    return FoundValue(
        [one.value for one in pieces],
        {f"/{place}{at}": source for place, one in enumerate(pieces) for at, source in one.sources.items()},
    )
