"""Concepts: the names that people, schema.org and meta elements have for the same thing."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from gossamer.web.extract.schema.words import label_key, phrase
from gossamer.web.extract.value_spec import ValueSpec
from gossamer.web.html.vocabulary import read_lines, tags

# Words of a description that name the thing described, not one of its properties.
_THINGS: Final = tags(
    "product item page article post event recipe book job person company site website offer"
)


class Concept(Struct, frozen=True):
    name: str
    paths: tuple[str, ...]  # in a record, best first; `Question/name` applies to that kind only
    metas: tuple[str, ...]
    page: str = ""  # the field of `Metadata` with the value for the whole page
    labels: frozenset[str] = frozenset()  # what it is called on pages, in any language, as `words.label_key`


@cache
def _by_phrase() -> dict[str, Concept]:
    found: dict[str, Concept] = {}
    for parts in _entries():
        names, abroad = ([name.strip() for name in parts[mark].split(",")] for mark in ("", "~"))
        labels = [label_key(name) for name in (*names, *abroad) if name]
        concept = Concept(
            names[0],
            tuple(parts["="].split()),
            tuple(parts["@"].split()),
            parts[">"].strip(),
            frozenset(labels),
        )
        for label in labels:
            found.setdefault(label, concept)
    return found


def _entries() -> Iterator[dict[str, str]]:
    """Yield the parts of each entry of `concepts.txt`, by the mark before them."""
    parts: dict[str, str] = {}
    mark = ""
    for line in read_lines("gossamer.web.extract.schema", "concepts.txt"):
        if line[0] in "=@>~":
            mark, line = line[0], line[1:]
        elif line[0] != " ":
            if parts:
                yield parts
            parts, mark = dict.fromkeys(("", "~", "=", "@", ">"), ""), ""
        parts[mark] += f" {line.strip()}"
    yield parts


def concept_of(spec: ValueSpec) -> Concept | None:
    """Find a concept by name, else by title, else the only one that the description mentions."""
    for name in spec.names:
        found = _by_phrase().get(label_key(name))
        if found:
            return found
    return _concept_in(spec.description) if spec.description else None


@lru_cache(maxsize=1024)
def _concept_in(description: str) -> Concept | None:
    said = [word for word in phrase(description).split() if word not in _THINGS]
    known = _by_phrase()
    for length in (3, 2, 1):
        pieces = ("".join(said[at : at + length]) for at in range(len(said) - length + 1))
        found = {concept.name: concept for piece in pieces if (concept := known.get(piece))}
        if found:
            return found.popitem()[1] if len(found) == 1 else None
    return None


def paths_of(spec: ValueSpec, concept: Concept | None) -> tuple[str, ...]:
    """Return where to look in a record: exact names first, then names with the same meaning."""
    return tuple(dict.fromkeys((*spec.names, *(concept.paths if concept else ()))))


def labels_of(spec: ValueSpec) -> frozenset[str]:
    """Return the labels that may precede the value on a page, as `words.label_key`."""
    own = [label_key(name) for name in spec.names]
    concept = next((found for name in own if (found := _by_phrase().get(name))), None)
    return frozenset(own) | (concept.labels if concept else frozenset())
