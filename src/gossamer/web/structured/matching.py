"""Matching: which value of a page is the one that a property of the schema means."""

from collections.abc import Iterable, Iterator
from typing import Final

from gossamer.web.structured.coercion import Reader
from gossamer.web.structured.concepts import Concept, concept_of, labels_of, paths_of
from gossamer.web.structured.grids import Cell, Rows
from gossamer.web.structured.open_graph import form_of
from gossamer.web.structured.piece import Kind, Piece, leaf_piece
from gossamer.web.structured.record import Leaf, Record
from gossamer.web.structured.sight import Sight
from gossamer.web.structured.wanted import Wanted
from gossamer.web.structured.words import key, words
from gossamer.web.vocabulary import tags

MOST_RANKED: Final = 100
# Kinds that stand on every page of a site, or inside of what a page is about.
_GENERIC: Final = tags(
    "WebSite WebPage Organization Corporation Person BreadcrumbList ListItem ImageObject SearchAction "
    "ReadAction EntryPoint SiteNavigationElement WPHeader WPFooter WPSideBar Offer AggregateOffer "
    "AggregateRating Rating Review PostalAddress ContactPoint Brand ItemList PropertyValue"
)

Row = tuple[Cell | None, ...]


def in_record(wanted: Wanted, record: Record, reader: Reader) -> Piece | None:
    for path in paths_of(wanted, concept_of(wanted)):
        for value in record.follow(path):
            made = reader.coerce(value, wanted)
            if made is not None:
                leaf = value if isinstance(value, Leaf) else Leaf(made, value.path)
                return leaf_piece(made, record.form, leaf)
    return None


def records_in(wanted: Wanted, record: Record) -> list[Record]:
    """What the record says under this name, as records; a bare value is one that has but a name."""
    for path in paths_of(wanted, concept_of(wanted)):
        found = [as_record(value, record) for value in record.follow(path)]
        if found:
            return found
    return []


def as_record(value: Leaf | Record, around: Record) -> Record:
    if isinstance(value, Record):
        inner = next((one for one in value.follow("item") if isinstance(one, Record)), None)
        return inner if inner is not None and "ListItem" in value.kinds else value
    made = Record((), around.form, value.path, around.depth + 1)
    made.add("url" if "://" in str(value.value) else "name", value)
    return made


def in_row(wanted: Wanted, rows: Rows, row: Row, reader: Reader) -> Piece | None:
    place = rows.column(labels_of(wanted))
    cell = row[place] if place is not None else None
    concept = concept_of(wanted)
    if cell is None and place is None and concept is not None and concept.page == "canonical":
        cell = next((one for one in row if one is not None and one.address), None)
        return leaf_piece(cell.address, "table", cell.text) if cell else None
    if cell is None:
        return None
    leaf = Leaf(cell.address, cell.text.path) if wanted.format == "uri" and cell.address else cell.text
    made = reader.coerce(leaf, wanted, exact=False)
    return None if made is None else leaf_piece(made, "table", leaf)


def on_page(wanted: Wanted, sight: Sight) -> Piece | None:
    """What the page says of itself in its head, or next to a label."""
    concept = concept_of(wanted)
    for kind, leaf in (*_said(wanted, concept, sight), *_labelled(wanted, sight)):
        made = sight.reader.coerce(leaf, wanted, exact=kind != "label")
        if made is not None:
            return leaf_piece(made, kind, leaf)
    return None


def _said(wanted: Wanted, concept: Concept | None, sight: Sight) -> Iterator[tuple[Kind, Leaf]]:
    metas = [
        (form, leaf)
        for name in (*(name.lower() for name in wanted.names), *(concept.metas if concept else ()))
        for form in [_form(name)]
        for leaf in sight.metas.get(name, ())
    ]
    read = getattr(sight.metadata, concept.page) if concept and concept.page else None
    if isinstance(read, str) and read:
        same = next((one for one in metas if _is_same(one[1], read, sight.reader)), None)
        yield same or ("page", Leaf(read, concept.page if concept else ""))
    yield from metas


def _is_same(leaf: Leaf, read: str, reader: Reader) -> bool:
    return leaf.value == read or reader.addresses.absolute(str(leaf.value)) == read


def _form(name: str) -> Kind:
    return "open-graph" if form_of(name) == "open-graph" else "meta"


def _labelled(wanted: Wanted, sight: Sight) -> Iterator[tuple[Kind, Leaf]]:
    for leaf in sight.labels.find(labels_of(wanted)):
        yield "label", leaf


def ranked(wanted: Wanted, sight: Sight) -> list[Record]:
    """The record that an object of the schema is about, and what other notations say of the same."""
    best: tuple[float, Record] | None = None
    for record in _all(sight.records):
        score = _score(wanted, record, sight.reader)
        if score > 0 and (best is None or score > best[0]):
            best = score, record
    if best is None:
        return []
    first = best[1]
    return [first, *_companions(first, sight.records)]


def _all(records: Iterable[Record]) -> list[Record]:
    found: dict[int, Record] = {}
    for record in records:
        for one in record.walk():
            if len(found) >= MOST_RANKED:
                return list(found.values())
            found.setdefault(id(one), one)
    return list(found.values())


def _score(wanted: Wanted, record: Record, reader: Reader) -> float:
    found = sum(_has(member, record, reader) for member in wanted.members)
    hinted = is_about(wanted, record)
    generic = bool(set(record.kinds) & _GENERIC) and not hinted
    if not found or (generic and found < 2):
        return 0
    return found + 1.5 * hinted - 0.5 * generic - 0.1 * record.depth


def _has(member: Wanted, record: Record, reader: Reader) -> bool:
    if member.selector or member.derived:
        return False
    if member.is_object or member.is_list:
        return any(True for path in paths_of(member, concept_of(member)) for _ in record.follow(path))
    return in_record(member, record, reader) is not None


def is_about(wanted: Wanted, record: Record) -> bool:
    """Whether the schema calls it by the kind that it is: `NewsArticle` is an article."""
    said = {word for text in (*wanted.names, wanted.description) for word in words(text)}
    return any(words(kind)[-1] in said or key(kind) in said for kind in record.kinds if words(kind))


def _companions(first: Record, records: list[Record]) -> list[Record]:
    """One of each other notation, of the same kind and, where both have one, of the same name."""
    found: dict[str, Record] = {}
    for record in records:
        alike = set(record.kinds) & set(first.kinds) and record.form != first.form
        if alike and not record.depth and _same_name(first, record):
            found.setdefault(record.form, record)
    return list(found.values())


def _same_name(one: Record, other: Record) -> bool:
    names = [
        {key(str(leaf.value)) for leaf in record.follow("name") if isinstance(leaf, Leaf)}
        for record in (one, other)
    ]
    return not all(names) or bool(names[0] & names[1])
