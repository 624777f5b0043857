"""Harvest: the data of a page as a schema wants it, as far as the page says it."""

from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborNode

from gossamer.web.kind import Kind
from gossamer.web.outcome import Judgement
from gossamer.web.page import Page
from gossamer.web.structured import lists, schema
from gossamer.web.structured.matching import in_record, in_row, is_about, on_page, ranked, records_in
from gossamer.web.structured.piece import Piece, Source, Sources, leaf_piece, listed, together
from gossamer.web.structured.record import Record
from gossamer.web.structured.selectors import Finder
from gossamer.web.structured.sight import Sight, sight_of
from gossamer.web.structured.wanted import Wanted, wanted_of
from gossamer.web.structured.words import key
from gossamer.web.vocabulary import tags

# Names of objects that only hold together what is said of the page as a whole.
_GROUPS: Final = tags(
    "data page item result detail metadata meta info information content main document specification spec "
    "attribute feature property dimension technicaldata technicaldetail"
)


@dataclass(frozen=True, slots=True)
class Harvest:
    kind: Kind
    title: str
    judgement: Judgement
    data: Any
    sources: Sources
    language: str = ""
    text: str = ""  # what a model may read; only where it was asked for
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """Where to look: in these records or this row, on the page as a whole, below this element."""

    records: tuple[Record, ...] = ()
    row: lists.Thing | None = None
    whole_page: bool = False
    node: LexborNode | None = None


def harvest(page: Page, document: schema.Json, *, with_text: bool) -> Harvest:
    """`document` is a schema that `schema.read` has let through."""
    sight = sight_of(page, with_text=with_text)
    piece = Harvesting(sight).everything(wanted_of(schema.Schema(document)))
    return Harvest(
        sight.kind,
        sight.metadata.title,
        sight.judgement,
        piece.value,
        piece.sources,
        sight.metadata.language or "",
        sight.text,
        sight.cut,
    )


class Harvesting:
    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def everything(self, wanted: Wanted) -> Piece:
        around = Around(tuple(ranked(wanted, self._sight)), whole_page=True)
        found = self._take(wanted, around)
        if found is not None:
            return found
        return Piece([] if wanted.is_list else {}, {})

    def _take(self, wanted: Wanted, around: Around) -> Piece | None:
        selector = wanted.selector or (wanted.item.selector if wanted.is_list and wanted.item else None)
        if selector is not None:
            return self._selected(wanted, around)
        if wanted.derived:
            return None
        if wanted.is_list:
            return self._list(wanted, around)
        if wanted.is_object:
            return self._object(wanted, around)
        return self._scalar(wanted, around)

    # Single values.

    def _scalar(self, wanted: Wanted, around: Around) -> Piece | None:
        for record in around.records:
            found = in_record(wanted, record, self._sight.reader)
            if found:
                return found
        if isinstance(around.row, tuple):
            return in_row(wanted, *around.row, self._sight.reader)
        return on_page(wanted, self._sight) if around.whole_page else None

    # Objects.

    def _object(self, wanted: Wanted, around: Around) -> Piece | None:
        if not wanted.name and around.whole_page:
            return self._members(wanted, around)
        for record in around.records:
            for inner in records_in(wanted, record):
                found = self._members(wanted, Around((inner,), node=around.node))
                if found:
                    return found
        if around.whole_page:
            return self._group(wanted, around)
        return self._members(wanted, Around(node=around.node)) if _points(wanted) else None

    def _group(self, wanted: Wanted, around: Around) -> Piece | None:
        records = tuple(ranked(wanted, self._sight))
        if key(wanted.name) in _GROUPS:
            return self._members(wanted, Around(records or around.records, whole_page=True, node=around.node))
        if records and is_about(wanted, records[0]):
            return self._members(wanted, Around(records, node=around.node))
        return self._members(wanted, Around(node=around.node)) if _points(wanted) else None

    def _members(self, wanted: Wanted, around: Around) -> Piece | None:
        found = {member.name: piece for member in wanted.members if (piece := self._take(member, around))}
        if not found and not around.whole_page:
            return None
        for member in wanted.members:
            if member.fallback and member.name not in found:
                value = member.fallback[0]
                found[member.name] = Piece(
                    value, {"": Source("schema", "const" if "const" in member.document else "default")}
                )
        return together(found) if found else None

    # Lists.

    def _list(self, wanted: Wanted, around: Around) -> Piece | None:
        item = wanted.item
        if item is None or not item.is_object:
            return self._values(wanted, around)
        for record in around.records:
            found = [
                piece
                for inner in records_in(wanted, record)[: lists.MOST]
                if (piece := self._item(item, inner))
            ]
            if found:
                return listed(found)
        if not around.whole_page:
            return None
        return lists.things_on_page(wanted, self._sight, lambda thing: self._item(item, thing))

    def _item(self, item: Wanted, thing: lists.Thing) -> Piece | None:
        around = Around((thing,)) if isinstance(thing, Record) else Around(row=thing)
        return self._members(item, around)

    def _values(self, wanted: Wanted, around: Around) -> Piece | None:
        for record in around.records:
            found = lists.values_in(wanted, record, self._sight)
            if found:
                return found
        return lists.values_on_page(wanted, self._sight) if around.whole_page else None

    # What the caller points at.

    def _selected(self, wanted: Wanted, around: Around) -> Piece | None:
        finder = self._sight.finder
        selector = wanted.selector or (wanted.item.selector if wanted.item else None)
        if finder is None or selector is None:
            return None
        nodes = finder.nodes(selector, around.node)
        if not wanted.is_list or wanted.item is None:
            return next((piece for node in nodes if (piece := self._pointed(wanted, node, finder))), None)
        found = [piece for node in nodes if (piece := self._pointed(wanted.item, node, finder, wanted))]
        return listed(found) if found else None

    def _pointed(
        self, wanted: Wanted, node: LexborNode, finder: Finder, outer: Wanted | None = None
    ) -> Piece | None:
        if wanted.is_object:
            return self._members(wanted, Around(node=node))
        selector = (outer or wanted).selector or wanted.selector
        if selector is None:
            return None
        leaf = finder.value(node, selector, address=wanted.format in ("uri", "url"))
        if leaf is None:
            return None
        made = self._sight.reader.coerce(leaf, wanted, exact=bool(selector.attribute))
        return None if made is None else leaf_piece(made, "selector", leaf)


def _points(wanted: Wanted) -> bool:
    return any(one.selector for one in wanted.walk())
