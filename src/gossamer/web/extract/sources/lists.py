"""Lists: several values of one kind, from records, tables, headings or the head of a page."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from gossamer.web.extract.evidence import PageEvidence
from gossamer.web.extract.found_value import FoundValue, Kind, from_leaf, join_items
from gossamer.web.extract.matching import Row, as_record, is_about
from gossamer.web.extract.record import Leaf, Record
from gossamer.web.extract.schema.concepts import Concept, concept_of, labels_of, paths_of
from gossamer.web.extract.schema.words import key, words
from gossamer.web.extract.sources.cards import Card
from gossamer.web.extract.sources.grids import HeadedTable
from gossamer.web.extract.sources.open_graph import form_of
from gossamer.web.extract.value_spec import ValueSpec

MAX_LIST_ITEMS: Final = 1_000  # items
SAMPLED_ITEMS: Final = 5  # by which a list is scored
_SEPARATOR: Final = re.compile(r"(?<!\s)\s*[,;•|·\n]\s*+")

ItemSource = Record | tuple[HeadedTable, Row] | Card
Make = Callable[[ItemSource], FoundValue | None]


class ItemList(Struct, frozen=True):
    things: Sequence[ItemSource]
    named: bool  # the list has the name that the schema gives it
    is_guessed: bool = False  # only by its looks


def find_values_in_record(spec: ValueSpec, record: Record, evidence: PageEvidence) -> FoundValue | None:
    """Find a list of single values in a record."""
    for path in paths_of(spec, concept_of(spec)):
        found = _coerce_all(spec, record.form, list(record.follow(path)), evidence)
        if found:
            return found
    return None


def find_values_on_page(spec: ValueSpec, evidence: PageEvidence) -> FoundValue | None:
    """Find a list of single values in the head, under a heading, in a line with commas, or in a column."""
    concept = concept_of(spec)
    for name in (*(name.lower() for name in spec.names), *(concept.metas if concept else ())):
        form: Kind = "open-graph" if form_of(name) == "open-graph" else "meta"
        found = _coerce_all(spec, form, evidence.metas.get(name, []), evidence)
        if found:
            return found
    names = labels_of(spec)
    columns = [rows for rows in evidence.grids if rows.column(names) is not None]
    return (
        _from_metadata(spec, concept, evidence)
        or _coerce_all(spec, "list", evidence.labels.items_under(names), evidence)
        or _coerce_all(spec, "label", list(evidence.labels.find(names))[:1], evidence)
        or (_coerce_all(spec, "table", list(_cells_of(columns[0], names)), evidence) if columns else None)
    )


def _from_metadata(spec: ValueSpec, concept: Concept | None, evidence: PageEvidence) -> FoundValue | None:
    said = getattr(evidence.metadata, concept.page) if concept and concept.page else None
    if not said or concept is None:
        return None
    values = [said] if isinstance(said, str) else list(said)
    return _coerce_all(spec, "page", [Leaf(one, concept.page) for one in values], evidence)


def _cells_of(rows: HeadedTable, names: frozenset[str]) -> Iterator[Leaf]:
    place = rows.column(names)
    for row in rows.rows:
        cell = row[place] if place is not None else None
        if cell is not None:
            yield cell.text


def _coerce_all(
    spec: ValueSpec, kind: Kind, values: "list[Any]", evidence: PageEvidence
) -> FoundValue | None:
    item = spec.item or ValueSpec(name=spec.name)
    exact = kind not in ("label", "list", "table")
    if len(values) == 1 and isinstance(values[0], Leaf) and kind != "list":
        values = _split(values[0], spec)
    found = [
        from_leaf(made, kind, value if isinstance(value, Leaf) else Leaf(made, value.path))
        for value in values[:MAX_LIST_ITEMS]
        if (made := evidence.reader.coerce(value, item, exact=exact)) is not None
    ]
    return join_items(found) if found else None


def _split(leaf: Leaf, spec: ValueSpec) -> list[Leaf]:
    """Split a text that lists several values; sentences and URLs stay whole."""
    text = str(leaf.value)
    parts = [part for part in _SEPARATOR.split(text) if part]
    short = all(len(part.split()) <= 6 for part in parts)
    if spec.item and spec.item.format in ("uri", "url"):
        return [leaf]
    return [Leaf(part, leaf.path) for part in parts] if short and len(parts) > 1 else [leaf]


def find_items(spec: ValueSpec, evidence: PageEvidence, make: Make) -> FoundValue | None:
    """Return the list of the page whose items have the most of the requested properties."""
    best: tuple[float, list[FoundValue]] | None = None
    for choice in _choices(spec, evidence):
        first = [found_value for thing in choice.things[:SAMPLED_ITEMS] if (found_value := make(thing))]
        coverage = _coverage(spec, first)
        score = coverage + 0.5 * choice.named
        if choice.is_guessed and not _is_likely(spec, coverage, len(first), choice):
            continue
        if first and score >= 0.5 and (best is None or score > best[0]):
            best = (
                score,
                [found_value for thing in choice.things[:MAX_LIST_ITEMS] if (found_value := make(thing))],
            )
    return join_items(best[1]) if best else None


def _coverage(spec: ValueSpec, pieces: list[FoundValue]) -> float:
    members = len(spec.item.members) if spec.item else 0
    if not pieces or not members:
        return 0
    return sum(len(found_value.value) for found_value in pieces) / len(pieces) / members


def _is_likely(spec: ValueSpec, coverage: float, made: int, choice: ItemList) -> bool:
    """Whether cards that look alike are the wanted things: most have more than a title."""
    members = len(spec.item.members) if spec.item else 0
    wanted = 1 if members == 1 else 2
    most = made * 2 > min(len(choice.things), SAMPLED_ITEMS)
    return most and coverage >= 0.5 and coverage * members >= wanted


def _choices(spec: ValueSpec, evidence: PageEvidence) -> Iterator[ItemList]:
    item = spec.item or spec
    yield from _by_property(spec, evidence.records)
    groups: dict[tuple[str, tuple[str, ...]], list[Record]] = {}
    for record in evidence.records:
        groups.setdefault((record.form, record.kinds), []).append(record)
    for group in groups.values():
        named = is_about(spec, group[0]) or is_about(item, group[0])
        if len(group) > 1 or named:
            yield ItemList(list(group), named)
    for rows in evidence.grids:
        named = bool(set(words(rows.title)) & {word for name in spec.names for word in words(name)})
        yield ItemList([(rows, row) for row in rows.rows], named)
    said = {word for name in spec.names for word in words(name)}
    for alike in evidence.groups:
        yield ItemList(alike.cards, bool(alike.names & said), is_guessed=True)


def _by_property(spec: ValueSpec, records: list[Record]) -> Iterator[ItemList]:
    """Yield the lists inside records, such as `itemListElement`, `review`, or `results` of an API."""
    names = {key(path.rpartition("/")[2]) for path in paths_of(spec, concept_of(spec)) if "." not in path}
    for record in [inner for outer in records[:20] for inner in outer.walk()][:200]:
        for name, values in record.properties.items():
            things = [as_record(value, record) for value in values if isinstance(value, Record)]
            if len(things) > 1 or (things and name in names):
                yield ItemList(list(things), name in names)
