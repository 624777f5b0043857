"""The structured data of a page, JSON-LD and microdata alike, as things with a type and properties."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

LARGEST: Final = 500_000  # characters of one script
MOST: Final = 500  # things
DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Thing:
    kinds: tuple[str, ...]
    properties: dict[str, Any]  # of microdata, a text or another dictionary
    form: str  # `JSON-LD` or `microdata`

    def has(self, name: str) -> bool:
        return self.properties.get(name) not in (None, "", [], {})

    def __str__(self) -> str:
        return f"{'/'.join(self.kinds)[:80]} ({self.form})"


@dataclass(frozen=True, slots=True)
class Structured:
    things: tuple[Thing, ...]
    json_errors: tuple[str, ...]
    untyped: tuple[str, ...]  # documents without `@context` or `@type`
    microdata_errors: tuple[str, ...]

    @property
    def exists(self) -> bool:
        return bool(self.things or self.json_errors or self.untyped or self.microdata_errors)

    def of_kind(self, *names: str) -> list[Thing]:
        return [thing for thing in self.things if set(names) & set(thing.kinds)]


def structured_of(tree: LexborHTMLParser) -> Structured:
    errors: list[str] = []
    untyped: list[str] = []
    things: list[Thing] = []
    for number, script in enumerate(tree.css("script[type*='ld+json' i]")[:50], start=1):
        text = (script.text() or "").strip()
        if len(text) > LARGEST:
            continue
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            errors.append(f"script {number}: {_told(error, text)}")
            continue
        untyped += [f"script {number}: {missing}" for missing in _untyped(document)]
        things += _things(document)
    microdata, microdata_errors = _microdata(tree)
    return Structured((*things, *microdata)[:MOST], tuple(errors), tuple(untyped), tuple(microdata_errors))


def _told(error: Exception, text: str) -> str:
    if not text:
        return "it is empty"
    if isinstance(error, json.JSONDecodeError):
        around = " ".join(text[max(0, error.pos - 20) : error.pos + 20].split())
        return f"{error.msg} in line {error.lineno}, near “{around}”"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it is not JSON"


def _untyped(document: Any) -> Iterator[str]:
    tops = document if isinstance(document, list) else [document]
    for top in tops[:MOST]:
        if not isinstance(top, dict):
            yield "it is no object"
        elif "@context" not in top:
            yield "it has no @context"
        elif "@type" not in top and "@graph" not in top:
            yield "it has no @type"


def _things(document: Any) -> list[Thing]:
    found: list[Thing] = []
    waiting: list[tuple[Any, int]] = [(document, 0)]
    while waiting and len(found) < MOST:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            continue
        if isinstance(value, list):
            waiting += [(one, depth + 1) for one in reversed(value[:MOST])]
        elif isinstance(value, dict):
            kinds = _kinds(value.get("@type"))
            if kinds and not set(value) <= {"@type", "@id"}:  # else it only points to a thing
                found.append(Thing(kinds, value, "JSON-LD"))
            waiting += [(one, depth + 1) for one in reversed(list(value.values())[:MOST])]
    return found


def _kinds(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    return tuple(name.rstrip("/").rpartition("/")[2] for name in names[:10] if isinstance(name, str) and name)


# Microdata.


def _microdata(tree: LexborHTMLParser) -> tuple[list[Thing], list[str]]:
    scopes = tree.css("[itemscope]")[:MOST]
    properties: dict[int, dict[str, Any]] = {scope.mem_id: {} for scope in scopes}
    referenced = {name for scope in scopes for name in (scope.attributes.get("itemref") or "").split()}
    errors: list[str] = []
    for node in tree.css("[itemprop]")[: MOST * 10]:
        owner = _owner(node, properties, referenced)
        names = (node.attributes.get("itemprop") or "").split()
        if owner is not None:
            for name in names:
                owner.setdefault(name, properties.get(node.mem_id) or _value(node) or "given")
        elif names and len(scopes) < MOST:  # with more, not knowing the item around it proves nothing
            errors.append(f"itemprop={names[0][:60]} is in no itemscope")
    things = []
    for scope in scopes:
        kinds = (scope.attributes.get("itemtype") or "").split()
        errors += [f"itemtype={kind[:80]} is no absolute address" for kind in kinds if "://" not in kind]
        if kinds:
            things.append(Thing(_kinds(kinds), properties[scope.mem_id], "microdata"))
    return things, errors


def _owner(node: LexborNode, known: dict[int, dict[str, Any]], referenced: set[str]) -> dict[str, Any] | None:
    """The properties of the item around it; those of an item elsewhere that refers to it are nobody's."""
    above, within = node.parent, (node.attributes.get("id") or "") in referenced
    while above is not None:
        if above.mem_id in known:
            return known[above.mem_id]
        within = within or (above.attributes.get("id") or "") in referenced
        above = above.parent
    return {} if within else None


def _value(node: LexborNode) -> str:
    attributes = node.attributes
    for name in ("content", "href", "src", "datetime", "value"):
        if attributes.get(name):
            return (attributes[name] or "")[:300]
    return " ".join((node.text() or "").split())[:300]
