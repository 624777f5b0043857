"""Evidence: everything on a page in which a value may be found, and what kind of page it is."""

import json
from typing import Final

from msgspec import Struct, field

from gossamer.web.content.article import base_of, content_of, host_of
from gossamer.web.content.main.content import whole_page
from gossamer.web.content.plain import plain_text
from gossamer.web.documents import data
from gossamer.web.documents.documents import path_of
from gossamer.web.documents.kind import ContentKind, kind_of
from gossamer.web.documents.pdf.pdf_document import Recognise
from gossamer.web.extract.record import Leaf, Record
from gossamer.web.extract.schema.coercion import ValueReader
from gossamer.web.extract.sources import json_ld, microdata, rdfa
from gossamer.web.extract.sources.cards import Card, CardGroup, find_groups, find_subject
from gossamer.web.extract.sources.grids import HeadedTable, grids_of
from gossamer.web.extract.sources.labels import Labels, labels_of, labels_of_text
from gossamer.web.extract.sources.open_graph import metas
from gossamer.web.extract.sources.selectors import SelectorFinder
from gossamer.web.html.links import Addresses
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.metadata_reader import METADATA_SELECTOR, metadata_of
from gossamer.web.html.tree import Tree, parse, release
from gossamer.web.markdown.markdown import to_markdown
from gossamer.web.outcome.judging import judge
from gossamer.web.outcome.outcome import Judgement
from gossamer.web.pages import reading
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions

MAX_TEXT_CHARS: Final = 100_000  # that a model may read
MAX_STRUCTURED_CHARS: Final = 20_000


class PageEvidence(Struct, frozen=True):
    kind: ContentKind
    judgement: Judgement
    reader: ValueReader
    records: list[Record]  # top-level records before nested ones
    metadata: Metadata = field(default_factory=Metadata)
    metas: dict[str, list[Leaf]] = field(default_factory=dict)
    labels: Labels = field(default_factory=lambda: Labels({}, {}))
    grids: list[HeadedTable] = field(default_factory=list)
    groups: list[CardGroup] = field(default_factory=list)
    subject: Card | None = None  # what the page itself is about; None for a page without markup
    finder: SelectorFinder | None = None  # None for a page without markup
    text: str = ""  # for a model to read; empty unless requested
    cut: bool = False  # the page exceeded a limit


def gather_evidence(page: Page, *, with_text: bool, recognise: Recognise | None = None) -> PageEvidence:
    """Raises `Problem` for what cannot be read, and nothing else."""
    if kind_of(page.media_type, page.body, path_of(page.final_url)) is ContentKind.HTML:
        return _of_html(page, with_text=with_text)
    return _of_document(page, reading.read(page, ReadingOptions(), recognise), with_text=with_text)


def _of_document(page: Page, read: Reading, *, with_text: bool) -> PageEvidence:
    is_json = read.kind is ContentKind.JSON
    return PageEvidence(
        read.kind,
        read.judgement,
        ValueReader(Addresses(page.final_url), read.metadata.language or ""),
        json_ld.read(data.decode(page.body), "json", "$") if is_json else [],
        Metadata(title=read.title) if is_json else read.metadata,
        labels=Labels({}, {}) if is_json else labels_of_text(read.text),
        text=read.markdown[:MAX_TEXT_CHARS] if with_text else "",
        cut=read.cut or (with_text and len(read.markdown) > MAX_TEXT_CHARS),
    )


def _of_html(page: Page, *, with_text: bool) -> PageEvidence:
    """Gather the evidence of an HTML page in one parse. It differs from what an article needs."""
    tree = parse(page.text)
    said = tree.source.css(f"base[href], {METADATA_SELECTOR}")
    addresses = Addresses(page.final_url, base_of(said))
    metadata = metadata_of(tree, said, addresses, host_of(page.final_url))
    words = plain_text(content_of(tree, metadata), metadata.title)
    text, cut = _text(tree, metadata, addresses) if with_text else ("", False)
    groups = find_groups(tree)
    evidence = PageEvidence(
        ContentKind.HTML,
        judge(page, title=metadata.title, text=words),
        ValueReader(addresses, metadata.language or ""),
        _records(tree, addresses),
        metadata,
        metas(tree.source),
        labels_of(tree.order),
        grids_of(tree, addresses),
        groups,
        find_subject(tree, groups),
        SelectorFinder(tree.source, addresses),
        text,
        tree.cut or cut,
    )
    release(tree)
    return evidence


def _records(tree: Tree, addresses: Addresses) -> list[Record]:
    found = [
        *json_ld.records(tree.source),
        *microdata.read(tree.source, addresses).records,
        *rdfa.records(tree.source, addresses),
    ]
    return sorted(found, key=lambda record: record.depth)


def _text(tree: Tree, metadata: Metadata, addresses: Addresses) -> tuple[str, bool]:
    """Return the visible text of the whole page with its structured data, and whether it was cut."""
    whole = whole_page(tree)
    shown = f"# {metadata.title}\n\n{to_markdown([whole.root], addresses, whole.left_out).text}"
    said = json.dumps(metadata.json_ld, ensure_ascii=False) if metadata.json_ld else ""
    return f"{shown[:MAX_TEXT_CHARS]}\n\n{said[:MAX_STRUCTURED_CHARS]}".strip(), len(shown) > MAX_TEXT_CHARS
