"""JSON-LD scripts of a page, as documents and as records."""

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.extract.record import (
    MAX_RECORD_DEPTH,
    MAX_RECORDS,
    MAX_VALUE_CHARS,
    Form,
    Leaf,
    Record,
    Value,
    kinds_of,
)

MAX_SCRIPT_CHARS: Final = 500_000
MAX_SCRIPTS: Final = 50
_WRAPPERS: Final = ("@graph", "@list", "@set")


class LinkedDataScript(Struct, frozen=True):
    number: int  # from 1
    document: Any
    error: str = ""  # also set if the script could be read despite it


def scripts(tree: LexborHTMLParser) -> list[LinkedDataScript]:
    """Return the JSON-LD scripts of a page, without those that are too large."""
    texts = [(script.text() or "").strip() for script in tree.css("script[type*='ld+json' i]")[:MAX_SCRIPTS]]
    return [
        _script(number, text) for number, text in enumerate(texts, start=1) if len(text) <= MAX_SCRIPT_CHARS
    ]


def _script(number: int, text: str) -> LinkedDataScript:
    try:
        return LinkedDataScript(number, json.loads(text))
    except (ValueError, RecursionError) as error:
        return LinkedDataScript(number, _lenient(text), _describe(error, text))


def _lenient(text: str) -> Any:
    """Parse JSON inside comments or CDATA, or with line breaks in its strings."""
    bare = text.removeprefix("<!--").removesuffix("-->").removeprefix("//<![CDATA[").removesuffix("//]]>")
    try:
        return json.loads(bare.strip().rstrip(";"), strict=False)
    except (ValueError, RecursionError):
        return None


def _describe(error: Exception, text: str) -> str:
    if not text:
        return "it is empty"
    if isinstance(error, json.JSONDecodeError):
        scope = " ".join(text[max(0, error.pos - 20) : error.pos + 20].split())
        return f"{error.msg} in line {error.lineno}, near “{scope}”"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it is not JSON"


def nodes(document: Any) -> Iterator[dict[str, Any]]:
    """Yield every object with a type and at least one property, outer before inner."""
    left = MAX_RECORDS
    waiting: list[tuple[Any, int]] = [(document, 0)]
    while waiting and left:
        value, depth = waiting.pop()
        if depth > 20:
            continue
        if isinstance(value, list):
            waiting += [(one, depth + 1) for one in reversed(value[:MAX_RECORDS])]
        elif isinstance(value, dict):
            if kinds(value) and not set(value) <= {"@type", "@id"}:  # otherwise it is only a reference
                left -= 1
                yield value
            waiting += [(one, depth + 1) for one in reversed(list(value.values())[:MAX_RECORDS])]


def kinds(node: dict[str, Any]) -> tuple[str, ...]:
    stated = node.get("@type")
    names = stated if isinstance(stated, list) else [stated]
    return kinds_of([name for name in names if isinstance(name, str)])


def records(tree: LexborHTMLParser) -> list[Record]:
    """Return the top-level records of each script, including those of a graph."""
    found: list[Record] = []
    for script in scripts(tree):
        found += read(script.document, "json-ld", f"script[{script.number}]")
    return found[:MAX_RECORDS]


def read(document: Any, form: Form, path: str) -> list[Record]:
    """Read records from any JSON document, following `@id` references inside it."""
    return _LinkedDataReader(form, document).tops(document, path)


class _LinkedDataReader:
    def __init__(self, form: Form, document: Any) -> None:
        self._form = form
        self._named: dict[str, dict[str, Any]] = {}
        self._left = MAX_RECORDS * 20  # values
        for node in nodes(document):
            if isinstance(node.get("@id"), str):
                self._named.setdefault(node["@id"], node)

    def tops(self, value: Any, path: str, depth: int = 0) -> list[Record]:
        if depth > MAX_RECORD_DEPTH:
            return []
        if isinstance(value, list):
            return [
                record
                for number, one in enumerate(value[:MAX_RECORDS])
                for record in self.tops(one, f"{path}[{number}]", depth + 1)
            ]
        if not isinstance(value, dict):
            return []
        if "@graph" in value and "@type" not in value:
            return self.tops(value["@graph"], f"{path}.@graph", depth + 1)
        return [self._record(value, path, 0, ())]

    def _record(self, node: dict[str, Any], path: str, depth: int, above: tuple[str, ...]) -> Record:
        record = Record(kinds(node), self._form, path, depth)
        name = node.get("@id")
        above = (*above, name) if isinstance(name, str) else above
        for key, value in list(node.items())[:MAX_RECORDS]:
            if key not in ("@context", "@type"):
                for one in self._values(value, f"{path}.{key}", depth + 1, above):
                    record.add(key, one)
        return record

    def _values(self, value: Any, path: str, depth: int, above: tuple[str, ...]) -> Iterator[Value]:
        self._left -= 1
        if self._left < 0 or depth > MAX_RECORD_DEPTH or value is None:
            return
        if isinstance(value, list):
            for number, one in enumerate(value[:MAX_RECORDS]):
                yield from self._values(one, f"{path}[{number}]", depth + 1, above)
        elif isinstance(value, dict):
            yield from self._inner(value, path, depth, above)
        elif isinstance(value, str):
            if value.strip():
                yield Leaf(value.strip()[:MAX_VALUE_CHARS], path)
        elif isinstance(value, bool) or (math.isfinite(value) and abs(value) < 2**53):
            yield Leaf(value, path)
        else:  # a number that parsers read differently
            yield Leaf(str(value), path)

    def _inner(self, node: dict[str, Any], path: str, depth: int, above: tuple[str, ...]) -> Iterator[Value]:
        if "@value" in node:
            yield from self._values(node["@value"], f"{path}.@value", depth, above)
            return
        for wrapper in _WRAPPERS:
            if wrapper in node and "@type" not in node:
                yield from self._values(node[wrapper], f"{path}.{wrapper}", depth, above)
                return
        name = node.get("@id")
        if isinstance(name, str) and name in above:  # a cycle
            return
        if isinstance(name, str) and set(node) <= {"@id", "@type"} and name in self._named:
            node = self._named[name]
        yield self._record(node, path, depth, above)
