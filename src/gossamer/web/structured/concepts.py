"""Concepts: what people call a thing, what schema.org calls it, and which meta elements say it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from gossamer.web.structured.concept_table import TABLE
from gossamer.web.structured.wanted import Wanted
from gossamer.web.structured.words import label_key, phrase
from gossamer.web.vocabulary import tags

# What is described, in a description, rather than what of it.
_THINGS: Final = tags(
    "product item page article post event recipe book job person company site website offer"
)


@dataclass(frozen=True, slots=True)
class Concept:
    name: str
    paths: tuple[str, ...]  # in a record, best first; `Question/name` only in one of that kind
    metas: tuple[str, ...]
    page: str = ""  # the field of `Metadata` that says it of the page


@cache
def _by_phrase() -> dict[str, Concept]:
    found: dict[str, Concept] = {}
    for parts in _entries():
        names = [name.strip() for name in parts[""].split(",")]
        concept = Concept(names[0], tuple(parts["="].split()), tuple(parts["@"].split()), parts[">"].strip())
        for name in names:
            found.setdefault(label_key(name), concept)
    return found


def _entries() -> Iterator[dict[str, str]]:
    """The parts of each entry, by the mark before them."""
    parts: dict[str, str] = {}
    mark = ""
    for line in TABLE.strip().splitlines():
        if line[0] in "=@>":
            mark, line = line[0], line[1:]
        elif line[0] != " ":
            if parts:
                yield parts
            parts, mark = dict.fromkeys(("", "=", "@", ">"), ""), ""
        parts[mark] += f" {line.strip()}"
    yield parts


def concept_of(wanted: Wanted) -> Concept | None:
    """By its name, else its title, else the one concept that its description speaks of."""
    for name in wanted.names:
        found = _by_phrase().get(label_key(name))
        if found:
            return found
    return _described(wanted.description) if wanted.description else None


@lru_cache(maxsize=1024)
def _described(description: str) -> Concept | None:
    said = [word for word in phrase(description).split() if word not in _THINGS]
    known = _by_phrase()
    for length in (3, 2, 1):
        pieces = ("".join(said[at : at + length]) for at in range(len(said) - length + 1))
        found = {concept.name: concept for piece in pieces if (concept := known.get(piece))}
        if found:
            return found.popitem()[1] if len(found) == 1 else None
    return None


def paths_of(wanted: Wanted, concept: Concept | None) -> tuple[str, ...]:
    """Where to look in a record: what is called just so, then what means the same."""
    return tuple(dict.fromkeys((*wanted.names, *(concept.paths if concept else ()))))


def labels_of(wanted: Wanted) -> frozenset[str]:
    """What may stand before the value on a page, as `words.label_key`."""
    own = [label_key(name) for name in wanted.names]
    concept = next((found for name in own if (found := _by_phrase().get(name))), None)
    if concept is None:
        return frozenset(own)
    return frozenset(own) | {name for name, known in _by_phrase().items() if known is concept}
