"""Extraction: find the data that a schema asks for in a page."""

from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborNode

from gossamer.web.documents.kind import ContentKind
from gossamer.web.documents.pdf.pdf_document import Recognise
from gossamer.web.extract.evidence import PageEvidence, gather_evidence
from gossamer.web.extract.found_value import (
    FoundValue,
    Provenance,
    Sources,
    from_leaf,
    join_items,
    join_members,
)
from gossamer.web.extract.matching import (
    find_about_page,
    find_in_card,
    find_in_record,
    find_in_row,
    find_on_page,
    is_about,
    nested_records,
    rank_records,
)
from gossamer.web.extract.record import Record
from gossamer.web.extract.schema import schema
from gossamer.web.extract.schema.words import key
from gossamer.web.extract.sources import lists
from gossamer.web.extract.sources.cards import Card
from gossamer.web.extract.sources.selectors import SelectorFinder
from gossamer.web.extract.value_spec import ValueSpec, spec_of
from gossamer.web.html.vocabulary import tags
from gossamer.web.outcome.outcome import Judgement
from gossamer.web.pages.page import Page

# Names of objects that only group values of the whole page.
_GROUPS: Final = tags(
    "data page item result detail metadata meta info information content main document specification spec "
    "attribute feature property dimension technicaldata technicaldetail"
)


class Extraction(Struct, frozen=True):
    kind: ContentKind
    title: str
    judgement: Judgement
    data: Any
    sources: Sources
    language: str = ""
    text: str = ""  # for a model to read; empty unless requested
    cut: bool = False


class LookupScope(Struct, frozen=True):
    """Where to look for a value: in records, a row, a card, the whole page, or below an element."""

    records: tuple[Record, ...] = ()
    row: lists.ItemSource | None = None
    card: Card | None = None
    whole_page: bool = False
    node: LexborNode | None = None


def extract_data(
    page: Page, document: schema.Json, *, with_text: bool, recognise: Recognise | None = None
) -> Extraction:
    """Extract the data of a page; `document` is a schema that `schema.read` has accepted."""
    evidence = gather_evidence(page, with_text=with_text, recognise=recognise)
    found_value = _DataFinder(evidence).find_all(spec_of(schema.Schema(document)))
    return Extraction(
        evidence.kind,
        evidence.metadata.title,
        evidence.judgement,
        found_value.value,
        found_value.sources,
        evidence.metadata.language or "",
        evidence.text,
        evidence.cut,
    )


class _DataFinder:
    def __init__(self, evidence: PageEvidence) -> None:
        self._evidence = evidence

    def find_all(self, spec: ValueSpec) -> FoundValue:
        scope = LookupScope(tuple(rank_records(spec, self._evidence)), whole_page=True)
        found = self._take(spec, scope)
        if found is not None:
            return found
        return FoundValue([] if spec.is_list else {}, {})

    def _take(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        selector = spec.selector or (spec.item.selector if spec.is_list and spec.item else None)
        if selector is not None:
            return self._take_selected(spec, scope)
        if spec.derived:
            return None
        if spec.is_list:
            return self._list(spec, scope)
        if spec.is_object:
            return self._object(spec, scope)
        return self._scalar(spec, scope)

    # Single values.

    def _scalar(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        for record in scope.records:
            found = find_in_record(spec, record, self._evidence.reader)
            if found:
                return found
        if isinstance(scope.row, tuple):
            return find_in_row(spec, *scope.row, self._evidence.reader)
        if scope.card is not None:
            return find_in_card(spec, scope.card, self._evidence.reader)
        if not scope.whole_page:
            return None
        return find_on_page(spec, self._evidence) or find_about_page(spec, self._evidence)

    # Objects.

    def _object(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        if not spec.name and scope.whole_page:
            return self._members(spec, scope)
        for record in scope.records:
            for inner in nested_records(spec, record):
                found = self._members(spec, LookupScope((inner,), node=scope.node))
                if found:
                    return found
        if scope.whole_page:
            return self._group(spec, scope)
        if scope.card is not None:
            return self._members(spec, scope)
        return self._members(spec, LookupScope(node=scope.node)) if _has_selector(spec) else None

    def _group(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        records = tuple(rank_records(spec, self._evidence))
        if key(spec.name) in _GROUPS:
            return self._members(
                spec, LookupScope(records or scope.records, whole_page=True, node=scope.node)
            )
        if records and is_about(spec, records[0]):
            return self._members(spec, LookupScope(records, node=scope.node))
        return self._members(spec, LookupScope(node=scope.node)) if _has_selector(spec) else None

    def _members(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        found = {
            member.name: found_value for member in spec.members if (found_value := self._take(member, scope))
        }
        if not found and not scope.whole_page:
            return None
        for member in spec.members:
            if member.fallback and member.name not in found:
                value = member.fallback[0]
                found[member.name] = FoundValue(
                    value, {"": Provenance("schema", "const" if "const" in member.document else "default")}
                )
        return join_members(found) if found else None

    # Lists.

    def _list(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        item = spec.item
        if item is None or not item.is_object:
            return self._values(spec, scope)
        for record in scope.records:
            found = [
                found_value
                for inner in nested_records(spec, record)[: lists.MAX_LIST_ITEMS]
                if (found_value := self._item(item, inner))
            ]
            if found:
                return join_items(found)
        if not scope.whole_page:
            return None
        return lists.find_items(spec, self._evidence, lambda thing: self._item(item, thing))

    def _item(self, item: ValueSpec, thing: lists.ItemSource) -> FoundValue | None:
        return self._members(item, _scope_of(thing))

    def _values(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        for record in scope.records:
            found = lists.find_values_in_record(spec, record, self._evidence)
            if found:
                return found
        return lists.find_values_on_page(spec, self._evidence) if scope.whole_page else None

    # Values that the caller's selectors point at.

    def _take_selected(self, spec: ValueSpec, scope: LookupScope) -> FoundValue | None:
        finder = self._evidence.finder
        selector = spec.selector or (spec.item.selector if spec.item else None)
        if finder is None or selector is None:
            return None
        nodes = finder.nodes(selector, scope.node)
        if not spec.is_list or spec.item is None:
            return next(
                (found_value for node in nodes if (found_value := self._take_node(spec, node, finder))), None
            )
        found = [
            found_value for node in nodes if (found_value := self._take_node(spec.item, node, finder, spec))
        ]
        return join_items(found) if found else None

    def _take_node(
        self, spec: ValueSpec, node: LexborNode, finder: SelectorFinder, outer: ValueSpec | None = None
    ) -> FoundValue | None:
        if spec.is_object:
            return self._members(spec, LookupScope(node=node))
        selector = (outer or spec).selector or spec.selector
        if selector is None:
            return None
        leaf = finder.value(node, selector, address=spec.format in ("uri", "url"))
        if leaf is None:
            return None
        made = self._evidence.reader.coerce(leaf, spec, exact=bool(selector.attribute))
        return None if made is None else from_leaf(made, "selector", leaf)


def _scope_of(thing: lists.ItemSource) -> LookupScope:
    match thing:
        case Record():
            return LookupScope((thing,))
        case Card():
            return LookupScope(card=thing)
        case _:
            return LookupScope(row=thing)


def _has_selector(spec: ValueSpec) -> bool:
    return any(one.selector for one in spec.walk())
