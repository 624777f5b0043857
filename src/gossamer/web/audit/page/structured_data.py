"""The structured data of a page, JSON-LD and microdata alike, as things with a type and properties."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.extract.record import MAX_RECORD_DEPTH, MAX_RECORDS, Leaf, Record
from gossamer.web.extract.sources import json_ld, microdata
from gossamer.web.html.links import Addresses


class Thing(Struct, frozen=True):
    kinds: tuple[str, ...]
    properties: dict[str, Any]  # of microdata, a text or another dictionary
    form: str  # `JSON-LD` or `microdata`

    def has(self, name: str) -> bool:
        return self.properties.get(name) not in (None, "", [], {})

    def __str__(self) -> str:
        return f"{'/'.join(self.kinds)[:80]} ({self.form})"


class StructuredData(Struct, frozen=True):
    things: tuple[Thing, ...]
    json_errors: tuple[str, ...]
    untyped: tuple[str, ...]  # documents without `@context` or `@type`
    microdata_errors: tuple[str, ...]

    @property
    def exists(self) -> bool:
        return bool(self.things or self.json_errors or self.untyped or self.microdata_errors)

    def of_kind(self, *names: str) -> list[Thing]:
        return [thing for thing in self.things if set(names) & set(thing.kinds)]


def find_structured_data(tree: LexborHTMLParser) -> StructuredData:
    scripts = json_ld.scripts(tree)
    read = [script for script in scripts if not script.error]
    items = microdata.read(tree, Addresses(""))
    things = [
        Thing(json_ld.kinds(node), node, "JSON-LD") for one in read for node in json_ld.nodes(one.document)
    ]
    things += [
        Thing(record.kinds, _properties(record), "microdata") for record in items.records if record.kinds
    ]
    return StructuredData(
        tuple(things[:MAX_RECORDS]),
        tuple(f"script {one.number}: {one.error}" for one in scripts if one.error),
        tuple(f"script {one.number}: {missing}" for one in read for missing in _find_untyped(one.document)),
        tuple(items.errors),
    )


def _find_untyped(document: Any) -> Iterator[str]:
    tops = document if isinstance(document, list) else [document]
    for top in tops[:MAX_RECORDS]:
        if not isinstance(top, dict):
            yield "it is no object"
        elif "@context" not in top:
            yield "it has no @context"
        elif "@type" not in top and "@graph" not in top:
            yield "it has no @type"


def _properties(record: Record, depth: int = 0) -> dict[str, Any]:
    """The first value of each property; an empty value counts as given."""
    return {
        record.names[key]: _first(values[0], depth) or "given"
        for key, values in record.properties.items()
        if record.names[key] != "@id"
    }


def _first(value: Leaf | Record, depth: int) -> Any:
    if isinstance(value, Leaf):
        return value.value
    return _properties(value, depth + 1) if depth < MAX_RECORD_DEPTH else {}
