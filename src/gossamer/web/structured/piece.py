"""Piece: a value that was found, and where each part of it came from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from gossamer.web.structured.record import Leaf
from gossamer.web.structured.schema import pointer

LONGEST_TEXT: Final = 300

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
    "schema",
    "model",
]


@dataclass(frozen=True, slots=True)
class Source:
    kind: Kind
    path: str
    text: str = ""  # as it stands there, where the value is another
    derived: bool = False  # made from the page rather than found in it


Sources = dict[str, Source]  # by JSON pointer


@dataclass(frozen=True, slots=True)
class Piece:
    value: Any
    sources: Sources = field(default_factory=dict)  # by pointers from here


def leaf_piece(value: Any, kind: Kind, leaf: Leaf) -> Piece:
    text = str(leaf.value)
    return Piece(value, {"": Source(kind, leaf.path, "" if value == leaf.value else text[:LONGEST_TEXT])})


def together(members: Mapping[str, Piece]) -> Piece:
    return Piece(
        {name: one.value for name, one in members.items()},
        {
            pointer((name,)) + at: source
            for name, one in members.items()
            for at, source in one.sources.items()
        },
    )


def listed(items: Iterable[Piece]) -> Piece:
    pieces = list(items)
    return Piece(
        [one.value for one in pieces],
        {f"/{place}{at}": source for place, one in enumerate(pieces) for at, source in one.sources.items()},
    )
