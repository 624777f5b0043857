"""Matching: decide which value of a page a property of the schema means."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from gossamer.web.extract.evidence import PageEvidence
from gossamer.web.extract.found_value import FoundValue, Kind, from_leaf
from gossamer.web.extract.record import Leaf, Record
from gossamer.web.extract.schema.coercion import ValueReader
from gossamer.web.extract.schema.concepts import Concept, concept_of, labels_of, paths_of
from gossamer.web.extract.schema.words import key, words
from gossamer.web.extract.sources import forms
from gossamer.web.extract.sources.cards import Card, Piece
from gossamer.web.extract.sources.grids import Cell, HeadedTable
from gossamer.web.extract.sources.open_graph import form_of
from gossamer.web.extract.value_spec import ValueSpec
from gossamer.web.html.vocabulary import tags

MAX_RANKED_RECORDS: Final = 100
# Kinds that are on every page of a site, or nested in the main record of a page.
_GENERIC: Final = tags(
    "WebSite WebPage Organization Corporation Person BreadcrumbList ListItem ImageObject SearchAction "
    "ReadAction EntryPoint SiteNavigationElement WPHeader WPFooter WPSideBar Offer AggregateOffer "
    "AggregateRating Rating Review PostalAddress ContactPoint Brand ItemList PropertyValue"
)

# What a text about the page's subject can be recognised as; titles, dates and the like are metadata.
_ABOUT_PAGE: Final = frozenset(
    ("price", "currency", "list price", "rating", "review count", "phone", "email", "availability", "address")
)

Row = tuple[Cell | None, ...]


def find_in_record(spec: ValueSpec, record: Record, reader: ValueReader) -> FoundValue | None:
    for path in paths_of(spec, concept_of(spec)):
        for value in record.follow(path):
            made = reader.coerce(value, spec)
            if made is not None:
                leaf = value if isinstance(value, Leaf) else Leaf(made, value.path)
                return from_leaf(made, record.form, leaf)
    return None


def nested_records(spec: ValueSpec, record: Record) -> list[Record]:
    """Return the values of a property as records; a plain value becomes a record with a name only."""
    for path in paths_of(spec, concept_of(spec)):
        found = [as_record(value, record) for value in record.follow(path)]
        if found:
            return found
    return []


def as_record(value: Leaf | Record, scope: Record) -> Record:
    if isinstance(value, Record):
        inner = next((one for one in value.follow("item") if isinstance(one, Record)), None)
        return inner if inner is not None and "ListItem" in value.kinds else value
    made = Record((), scope.form, value.path, scope.depth + 1)
    made.add("url" if "://" in str(value.value) else "name", value)
    return made


def find_in_row(spec: ValueSpec, rows: HeadedTable, row: Row, reader: ValueReader) -> FoundValue | None:
    place = rows.column(labels_of(spec))
    cell = row[place] if place is not None else None
    concept = concept_of(spec)
    if cell is None and place is None and concept is not None and concept.page == "canonical":
        cell = next((one for one in row if one is not None and one.address), None)
        return from_leaf(cell.address, "table", cell.text) if cell else None
    if cell is None:
        return None
    leaf = Leaf(cell.address, cell.text.path) if spec.format == "uri" and cell.address else cell.text
    made = reader.coerce(leaf, spec, exact=False)
    return None if made is None else from_leaf(made, "table", leaf)


def find_in_card(spec: ValueSpec, card: Card, reader: ValueReader) -> FoundValue | None:
    """The first value that a card has: beside a label, by the name of its markup, or by its form."""
    spec = _with_format(spec)
    for kind, leaf in _in_card(spec, card):
        made = reader.coerce(leaf, spec, exact=False)
        if made is not None:
            return from_leaf(made, kind, leaf)
    return None


def find_about_page(spec: ValueSpec, evidence: PageEvidence) -> FoundValue | None:
    """The value that the page shows of its subject, if it shows only one."""
    if evidence.subject is None:
        return None
    concept = concept_of(spec)
    by_form = forms.BY_CONCEPT[concept.name] if concept and concept.name in _ABOUT_PAGE else None
    for leaves in (_called(spec, evidence.subject), by_form(evidence.subject) if by_form else ()):
        found = [
            from_leaf(made, "text", leaf)
            for leaf in leaves
            if (made := evidence.reader.coerce(leaf, spec, exact=False)) is not None
        ]
        if found:
            return found[0] if all(one.value == found[0].value for one in found) else None
    return None


def _with_format(spec: ValueSpec) -> ValueSpec:
    """Links and images of cards are addresses, which are made absolute, whether the schema says so or not."""
    concept = concept_of(spec)
    is_address = concept is not None and concept.name in ("url", "image")
    return replace(spec, format="uri") if is_address and not spec.format else spec


def _in_card(spec: ValueSpec, card: Card) -> Iterator[tuple[Kind, Leaf]]:
    names, concept = labels_of(spec), concept_of(spec)
    yield from (("label", leaf) for leaf in card.labels.find(names))
    yield from (("text", leaf) for leaf in _called(spec, card))
    if spec.types & {"number", "integer"}:
        yield from (("text", leaf) for leaf in forms.counted(card, names))
    find = forms.BY_CONCEPT.get(concept.name) if concept else None
    yield from (("text", leaf) for leaf in (find(card) if find else ()))


def _called(spec: ValueSpec, card: Card) -> Iterator[Leaf]:
    """Texts whose markup has the name of the property."""
    names, concept = labels_of(spec), concept_of(spec)
    called = concept.name if concept else ""
    for piece in card.pieces:
        if piece.names & names and piece.is_struck <= (called == "list price"):
            leaf = _of_piece(piece, spec, card)
            if forms.is_plausible(called, str(leaf.value)) or _takes_words(spec, called):
                yield leaf


def _takes_words(spec: ValueSpec, concept: str) -> bool:
    """Whether a price or a rating may also be said in words, such as `free`."""
    return concept in ("price", "rating") and not spec.types & {"number", "integer"}


def _of_piece(piece: Piece, spec: ValueSpec, card: Card) -> Leaf:
    element, path = piece.element, f"{card.path} {piece.element.tag}"
    if spec.format in ("uri", "url"):
        return Leaf(element.get("href") or element.get("src") or piece.text, path)
    if spec.format in ("date", "date-time") and element.get("datetime"):
        return Leaf(element.get("datetime"), path)
    return Leaf(piece.text or element.get("aria-label") or element.get("title"), path)


def find_on_page(spec: ValueSpec, evidence: PageEvidence) -> FoundValue | None:
    """Find a value in the head of the page, or next to a label."""
    concept = concept_of(spec)
    said = [*_describe(spec, concept, evidence), *_beside_labels(spec, evidence)]
    if concept is not None and concept.page == "language":
        said.sort(key=lambda one: one[0] != "label")  # a label means another language than the page's own
    for kind, leaf in said:
        made = evidence.reader.coerce(leaf, spec, exact=kind != "label")
        if made is not None:
            return from_leaf(made, kind, leaf)
    return None


def _describe(
    spec: ValueSpec, concept: Concept | None, evidence: PageEvidence
) -> Iterator[tuple[Kind, Leaf]]:
    metas = [
        (form, leaf)
        for name in (*(name.lower() for name in spec.names), *(concept.metas if concept else ()))
        for form in [_form(name)]
        for leaf in evidence.metas.get(name, ())
    ]
    read = getattr(evidence.metadata, concept.page) if concept and concept.page else None
    if isinstance(read, str) and read:
        same = next((one for one in metas if _is_same(one[1], read, evidence.reader)), None)
        yield same or ("page", Leaf(read, concept.page if concept else ""))
    yield from metas


def _is_same(leaf: Leaf, read: str, reader: ValueReader) -> bool:
    return leaf.value == read or reader.addresses.absolute(str(leaf.value)) == read


def _form(name: str) -> Kind:
    return "open-graph" if form_of(name) == "open-graph" else "meta"


def _beside_labels(spec: ValueSpec, evidence: PageEvidence) -> Iterator[tuple[Kind, Leaf]]:
    for leaf in evidence.labels.find(labels_of(spec)):
        yield "label", leaf


def rank_records(spec: ValueSpec, evidence: PageEvidence) -> list[Record]:
    """Return the record that an object of the schema describes, and its copies in other notations."""
    best: tuple[float, Record] | None = None
    for record in _all(evidence.records):
        score = _score(spec, record, evidence.reader)
        if score > 0 and (best is None or score > best[0]):
            best = score, record
    if best is None:
        return []
    first = best[1]
    return [first, *_companions(first, evidence.records)]


def _all(records: Iterable[Record]) -> list[Record]:
    found: dict[int, Record] = {}
    for record in records:
        for one in record.walk():
            if len(found) >= MAX_RANKED_RECORDS:
                return list(found.values())
            found.setdefault(id(one), one)
    return list(found.values())


def _score(spec: ValueSpec, record: Record, reader: ValueReader) -> float:
    found = sum(_has(member, record, reader) for member in spec.members)
    hinted = is_about(spec, record)
    generic = bool(set(record.kinds) & _GENERIC) and not hinted
    if not found or (generic and found < 2):
        return 0
    return found + 1.5 * hinted - 0.5 * generic - 0.1 * record.depth


def _has(member: ValueSpec, record: Record, reader: ValueReader) -> bool:
    if member.selector or member.derived:
        return False
    if member.is_object or member.is_list:
        return any(True for path in paths_of(member, concept_of(member)) for _ in record.follow(path))
    return find_in_record(member, record, reader) is not None


def is_about(spec: ValueSpec, record: Record) -> bool:
    """Whether the schema names the kind of the record; a `NewsArticle` is an article."""
    said = {word for text in (*spec.names, spec.description) for word in words(text)}
    return any(words(kind)[-1] in said or key(kind) in said for kind in record.kinds if words(kind))


def _companions(first: Record, records: list[Record]) -> list[Record]:
    """Return one record of each other notation with the same kind and, if both have one, the same name."""
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
