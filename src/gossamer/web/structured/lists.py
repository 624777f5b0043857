"""Lists: several things of one kind, wherever a page keeps them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from gossamer.web.structured.concepts import Concept, concept_of, labels_of, paths_of
from gossamer.web.structured.grids import Rows
from gossamer.web.structured.matching import Row, as_record, is_about
from gossamer.web.structured.open_graph import form_of
from gossamer.web.structured.piece import Kind, Piece, leaf_piece, listed
from gossamer.web.structured.record import Leaf, Record
from gossamer.web.structured.sight import Sight
from gossamer.web.structured.wanted import Wanted
from gossamer.web.structured.words import key, words

MOST: Final = 1_000  # items
LOOKED_AT: Final = 5  # items by which a list is judged
_APART: Final = re.compile(r"(?<!\s)\s*[,;•|·\n]\s*+")

Thing = Record | tuple[Rows, Row]
Make = Callable[[Thing], Piece | None]


@dataclass(frozen=True, slots=True)
class Choice:
    things: list[Thing]
    named: bool  # it is called what the schema calls it


def values_in(wanted: Wanted, record: Record, sight: Sight) -> Piece | None:
    """A list of single values, out of a record."""
    for path in paths_of(wanted, concept_of(wanted)):
        found = _pieces(wanted, record.form, list(record.follow(path)), sight)
        if found:
            return found
    return None


def values_on_page(wanted: Wanted, sight: Sight) -> Piece | None:
    """The same out of the page's head, a list under a heading, a line with commas, a column."""
    concept = concept_of(wanted)
    for name in (*(name.lower() for name in wanted.names), *(concept.metas if concept else ())):
        form: Kind = "open-graph" if form_of(name) == "open-graph" else "meta"
        found = _pieces(wanted, form, sight.metas.get(name, []), sight)
        if found:
            return found
    names = labels_of(wanted)
    columns = [rows for rows in sight.grids if rows.column(names) is not None]
    return (
        _of_page(wanted, concept, sight)
        or _pieces(wanted, "list", sight.labels.listed(names), sight)
        or _pieces(wanted, "label", list(sight.labels.find(names))[:1], sight)
        or (_pieces(wanted, "table", list(_column(columns[0], names)), sight) if columns else None)
    )


def _of_page(wanted: Wanted, concept: Concept | None, sight: Sight) -> Piece | None:
    said = getattr(sight.metadata, concept.page) if concept and concept.page else None
    if not said or concept is None:
        return None
    values = [said] if isinstance(said, str) else list(said)
    return _pieces(wanted, "page", [Leaf(one, concept.page) for one in values], sight)


def _column(rows: Rows, names: frozenset[str]) -> Iterator[Leaf]:
    place = rows.column(names)
    for row in rows.rows:
        cell = row[place] if place is not None else None
        if cell is not None:
            yield cell.text


def _pieces(wanted: Wanted, kind: Kind, values: "list[Any]", sight: Sight) -> Piece | None:
    item = wanted.item or Wanted(name=wanted.name)
    exact = kind not in ("label", "list", "table")
    if len(values) == 1 and isinstance(values[0], Leaf) and kind != "list":
        values = _apart(values[0], wanted)
    found = [
        leaf_piece(made, kind, value if isinstance(value, Leaf) else Leaf(made, value.path))
        for value in values[:MOST]
        if (made := sight.reader.coerce(value, item, exact=exact)) is not None
    ]
    return listed(found) if found else None


def _apart(leaf: Leaf, wanted: Wanted) -> list[Leaf]:
    """One text that lists several; sentences and addresses are not taken apart."""
    text = str(leaf.value)
    parts = [part for part in _APART.split(text) if part]
    short = all(len(part.split()) <= 6 for part in parts)
    if wanted.item and wanted.item.format in ("uri", "url"):
        return [leaf]
    return [Leaf(part, leaf.path) for part in parts] if short and len(parts) > 1 else [leaf]


def things_on_page(wanted: Wanted, sight: Sight, make: Make) -> Piece | None:
    """The list on the page that knows most of what each item should have."""
    best: tuple[float, list[Piece]] | None = None
    for choice in _choices(wanted, sight):
        first = [piece for thing in choice.things[:LOOKED_AT] if (piece := make(thing))]
        score = _coverage(wanted, first) + 0.5 * choice.named
        if first and score >= 0.5 and (best is None or score > best[0]):
            best = score, [piece for thing in choice.things[:MOST] if (piece := make(thing))]
    return listed(best[1]) if best else None


def _coverage(wanted: Wanted, pieces: list[Piece]) -> float:
    members = len(wanted.item.members) if wanted.item else 0
    if not pieces or not members:
        return 0
    return sum(len(piece.value) for piece in pieces) / len(pieces) / members


def _choices(wanted: Wanted, sight: Sight) -> Iterator[Choice]:
    item = wanted.item or wanted
    yield from _by_property(wanted, sight.records)
    groups: dict[tuple[str, tuple[str, ...]], list[Record]] = {}
    for record in sight.records:
        groups.setdefault((record.form, record.kinds), []).append(record)
    for group in groups.values():
        named = is_about(wanted, group[0]) or is_about(item, group[0])
        if len(group) > 1 or named:
            yield Choice(list(group), named)
    for rows in sight.grids:
        named = bool(set(words(rows.title)) & {word for name in wanted.names for word in words(name)})
        yield Choice([(rows, row) for row in rows.rows], named)


def _by_property(wanted: Wanted, records: list[Record]) -> Iterator[Choice]:
    """Lists inside of records: `itemListElement`, `review`, or what an API calls `results`."""
    names = {key(path.rpartition("/")[2]) for path in paths_of(wanted, concept_of(wanted)) if "." not in path}
    for record in [inner for outer in records[:20] for inner in outer.walk()][:200]:
        for name, values in record.properties.items():
            things = [as_record(value, record) for value in values if isinstance(value, Record)]
            if len(things) > 1 or (things and name in names):
                yield Choice(list(things), name in names)
