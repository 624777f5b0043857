"""Sight: everything on one page in which a value may be found, and what the page is."""

import json
from dataclasses import dataclass, field
from typing import Final

from gossamer.web import data, reading
from gossamer.web.content import whole_page
from gossamer.web.documents import path_of
from gossamer.web.extract import base_of, content_of, host_of
from gossamer.web.kind import Kind, kind_of
from gossamer.web.links import Addresses
from gossamer.web.markdown import to_markdown
from gossamer.web.metadata import SAYS, Metadata, metadata_of
from gossamer.web.outcome import Judgement, judge
from gossamer.web.page import Page
from gossamer.web.plain import plain_text
from gossamer.web.reading import How, Reading
from gossamer.web.structured import json_ld, microdata, rdfa
from gossamer.web.structured.coercion import Reader
from gossamer.web.structured.grids import Rows, grids_of
from gossamer.web.structured.labels import Labels, labels_of, labels_of_text
from gossamer.web.structured.open_graph import metas
from gossamer.web.structured.record import Leaf, Record
from gossamer.web.structured.selectors import Finder
from gossamer.web.tree import Tree, parse, release

MOST_TEXT: Final = 100_000  # characters that are kept for a model
MOST_STRUCTURED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Sight:
    kind: Kind
    judgement: Judgement
    reader: Reader
    records: list[Record]  # what stands by itself before what is inside of another
    metadata: Metadata = field(default_factory=Metadata)
    metas: dict[str, list[Leaf]] = field(default_factory=dict)
    labels: Labels = field(default_factory=lambda: Labels({}, {}))
    grids: list[Rows] = field(default_factory=list)
    finder: Finder | None = None  # none where there is no markup
    text: str = ""  # what a model may read; only where it was asked for
    cut: bool = False  # something went over a bound


def sight_of(page: Page, *, with_text: bool) -> Sight:
    """Raises `Problem` for what cannot be read, and nothing else."""
    if kind_of(page.media_type, page.body, path_of(page.final_url)) is Kind.HTML:
        return _of_html(page, with_text=with_text)
    return _of_document(page, reading.read(page, How()), with_text=with_text)


def _of_document(page: Page, read: Reading, *, with_text: bool) -> Sight:
    is_json = read.kind is Kind.JSON
    return Sight(
        read.kind,
        read.judgement,
        Reader(Addresses(page.final_url), read.metadata.language or ""),
        json_ld.read(data.whole(page.body), "json", "$") if is_json else [],
        Metadata(title=read.title) if is_json else read.metadata,
        labels=Labels({}, {}) if is_json else labels_of_text(read.text),
        text=read.markdown[:MOST_TEXT] if with_text else "",
        cut=read.cut or (with_text and len(read.markdown) > MOST_TEXT),
    )


def _of_html(page: Page, *, with_text: bool) -> Sight:
    """From one parse: what is read of it, and what is not, differs from an article's."""
    tree = parse(page.text)
    said = tree.source.css(f"base[href], {SAYS}")
    addresses = Addresses(page.final_url, base_of(said))
    metadata = metadata_of(tree, said, addresses, host_of(page.final_url))
    words = plain_text(content_of(tree, metadata.title, main=True), metadata.title)
    text, cut = _text(tree, metadata, addresses) if with_text else ("", False)
    sight = Sight(
        Kind.HTML,
        judge(page, title=metadata.title, text=words),
        Reader(addresses, metadata.language or ""),
        _records(tree, addresses),
        metadata,
        metas(tree.source),
        labels_of(tree),
        grids_of(tree, addresses),
        Finder(tree.source, addresses),
        text,
        tree.cut or cut,
    )
    release(tree)
    return sight


def _records(tree: Tree, addresses: Addresses) -> list[Record]:
    found = [
        *json_ld.records(tree.source),
        *microdata.read(tree.source, addresses).records,
        *rdfa.records(tree.source, addresses),
    ]
    return sorted(found, key=lambda record: record.depth)


def _text(tree: Tree, metadata: Metadata, addresses: Addresses) -> tuple[str, bool]:
    """The whole page and what it says to machines, without what it hides; and whether it is cut."""
    whole = whole_page(tree)
    shown = f"# {metadata.title}\n\n{to_markdown([whole.root], addresses, whole.left_out).text}"
    said = json.dumps(metadata.json_ld, ensure_ascii=False) if metadata.json_ld else ""
    return f"{shown[:MOST_TEXT]}\n\n{said[:MOST_STRUCTURED]}".strip(), len(shown) > MOST_TEXT
