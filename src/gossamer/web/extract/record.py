"""Records: things that a page describes for machines, in any notation."""

from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct, field

from gossamer.web.extract.schema.words import key

MAX_RECORD_DEPTH: Final = 12
MAX_RECORDS: Final = 500  # on a page; also values of one property
MAX_VALUE_CHARS: Final = 20_000

Form = Literal["json-ld", "microdata", "rdfa", "json"]


class Leaf(Struct, frozen=True):
    value: str | int | float | bool
    path: str


class Record(Struct, frozen=True):
    kinds: tuple[str, ...]  # the last part of each type's URL, such as `Product`
    form: Form
    path: str
    depth: int = 0  # 0 for a top-level record
    properties: "dict[str, list[Leaf | Record]]" = field(default_factory=dict)  # by `words.key` of the name
    names: dict[str, str] = field(default_factory=dict)  # original spelling of each property, by its key

    def add(self, name: str, value: "Leaf | Record") -> None:
        name = local(name)
        self.names.setdefault(key(name), name)
        values = self.properties.setdefault(key(name), [])
        if len(values) < MAX_RECORDS:
            values.append(value)

    def follow(self, path: str) -> "Iterator[Leaf | Record]":
        """Yield the values at a path such as `offers.price`. A path such as `Question/name` only applies to
        records of that kind."""
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
        """Yield the record and the records nested in it, outer before inner, each once."""
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
    """Return `name` for `https://schema.org/name` and `schema:name`; keep names that begin with @."""
    for mark in "#/":
        head, _, tail = name.rpartition(mark)
        if head and tail:
            name = tail
    head, _, tail = name.rpartition(":")
    return tail if head and tail else name


def kinds_of(names: list[str]) -> tuple[str, ...]:
    return tuple(local(name.rstrip("/")) for name in names[:10] if name)
