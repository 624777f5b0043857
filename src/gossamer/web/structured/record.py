"""Record: a thing that a page describes for machines, whatever notation it uses."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from gossamer.web.structured.words import key

DEEPEST: Final = 12
MOST: Final = 500  # records of a page, and values of one property
LONGEST: Final = 20_000  # characters of one value

Form = Literal["json-ld", "microdata", "rdfa", "json"]


@dataclass(frozen=True, slots=True)
class Leaf:
    value: str | int | float | bool
    path: str


@dataclass(frozen=True, slots=True)
class Record:
    kinds: tuple[str, ...]  # `Product`: the last part of a type's address
    form: Form
    path: str
    depth: int = 0  # 0 for what stands by itself
    properties: "dict[str, list[Leaf | Record]]" = field(default_factory=dict)  # by `words.key` of the name
    names: dict[str, str] = field(default_factory=dict)  # of the properties, as they are written

    def add(self, name: str, value: "Leaf | Record") -> None:
        name = local(name)
        self.names.setdefault(key(name), name)
        values = self.properties.setdefault(key(name), [])
        if len(values) < MOST:
            values.append(value)

    def follow(self, path: str) -> "Iterator[Leaf | Record]":
        """The values at the end of `offers.price`, through all that lie on the way; of `Question/name` only
        if the record is of that kind."""
        kind, _, within = path.rpartition("/")
        if kind and kind not in self.kinds:
            return
        name, _, rest = within.partition(".")
        for value in self.properties.get(key(name), ()):
            if not rest:
                yield value
            elif isinstance(value, Record):
                yield from value.follow(rest)

    def walk(self) -> "Iterator[Record]":
        """The record and those inside it, outer before inner, none twice."""
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            record = waiting.pop(0)
            if id(record) in seen:
                continue
            seen.add(id(record))
            yield record
            waiting += [
                value
                for values in record.properties.values()
                for value in values
                if isinstance(value, Record)
            ]


Value = Leaf | Record


def local(name: str) -> str:
    """`name` of `https://schema.org/name` and of `schema:name`; a name that begins with @ stays."""
    for mark in "#/":
        head, _, tail = name.rpartition(mark)
        if head and tail:
            name = tail
    head, _, tail = name.rpartition(":")
    return tail if head and tail else name


def kinds_of(names: list[str]) -> tuple[str, ...]:
    return tuple(local(name.rstrip("/")) for name in names[:10] if name)
