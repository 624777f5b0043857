"""Takes everything that a crawler needs from a page in one parse.

This is the title, the description, the language, the visible text, the links, the directives for robots, and
two values that identify the content. The main content is not searched here; `web.content` does that.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from operator import attrgetter
from typing import Final, NamedTuple, Self

from msgspec import Struct, field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.crawl.fingerprint import fingerprint_of
from gossamer.web.crawl.graph.link_note import IN_HEAD, PLACES, LinkNote
from gossamer.web.crawl.headings import mark_headings
from gossamer.web.documents.kind import is_html
from gossamer.web.html.links import Addresses, Folders
from gossamer.web.html.sanitise import BoundedHtml, bound_html
from gossamer.web.html.shadow import flatten_shadow_roots
from gossamer.web.pages.page import Page, is_text
from gossamer.web.robots.directives import NOTHING, Directives, directives_of
from gossamer.web.search.passages import MARK, OutlinedText, take_marks

MAX_LINKS: Final = 1_000
REPEATED: Final = 20  # times as many links are read, because most pages repeat them
MAX_LINK_CHARS: Final = 2_048
REBUILT: Final = 200_000  # characters that are read of a page that could slow the parser down
MAX_TEXT_CHARS: Final = 1_000_000
MAX_LINE_CHARS: Final = 2_000  # of a title or description
LONG_TEXT: Final = 4_000  # bytes without white space: its words are not put in order, which takes long
WHITE_SPACE: Final = b" \t\n\v\f\r"
_OF_HEAD: Final = "title,base,meta,link"
_BEGINS_OF_HEAD: Final = re.compile(rb"<[TtBbMmLl](?:itle|ase|eta|ink|ITLE|ASE|ETA|INK)[\s/>]")
# Links, and the elements that tell their place. In this form it takes the parser the least time.
_LEADING: Final = "[href],frame[src],nav,header,footer,aside"
_ANCHORS: Final = frozenset(("a", "area", "frame"))
_mem_id: Final = attrgetter("mem_id")
_UNSEEN: Final = "script,style,noscript,template,svg"
_HIDING: Final = {b"hidden": "[hidden]", b"display:none": "[style*='display:none']"}
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")
_REFRESH: Final = re.compile(r"\s*[0-9.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.I)
_LINK_HEADER: Final = re.compile(r"<([^<>]*+)>([^,<]*+)")
_REL: Final = re.compile(r";\s*rel\s*=\s*\"?([^\";]*)", re.I)
_FOLLOWED_RELS: Final = frozenset(("canonical", "alternate", "next", "prev"))


class CrawlView(Struct, frozen=True):
    title: str
    description: str
    language: str
    text: str  # what is seen; the white space of a long text is left as the page has it
    links: tuple[str, ...]  # absolute, without fragments, each once
    nofollowed: frozenset[str]  # those of `links` that the page marks as nofollow
    notes: tuple[LinkNote, ...]  # of `links`, in the same order
    canonical: str
    directives: Directives
    content_hash: str  # SHA-256 of the text without white space; of the body if there is none
    fingerprint: str
    cut: bool  # the page has more links or more text than is taken

    @property
    def followed(self) -> tuple[str, ...]:
        """The links that a well-behaved robot may follow."""
        if self.directives.nofollow:
            return ()
        if not self.nofollowed:
            return self.links
        return tuple(url for url in self.links if url not in self.nofollowed)


def view_page(
    page: Page, *, agent: str = "", max_links: int = MAX_LINKS, folders: Folders | None = None
) -> CrawlView:
    """Never raises. Pages may address directives to `agent`. `folders` caches work across the pages of a
    site."""
    headers = [value for name, value in page.headers if name == "x-robots-tag"]
    if not is_html(page.media_type, page.body, page.final_url):
        return _of_other(page, directives_of((), headers, agent) if headers else NOTHING)
    safe = _safe(page)
    html = safe.html.encode("utf-8", "replace")
    source = LexborHTMLParser(html)
    head = _ViewHead.read(page, _head_nodes(source, html), folders)
    links = _Links(head.addresses, max_links)
    links.read(source)
    links.add({reference.partition("#")[0]: True for reference in head.references})
    shown = _seen(source, html)
    marked = _MarkedText.of(shown[:MAX_TEXT_CHARS], page.body)
    return CrawlView(
        title=head.title,
        description=_line(head.metas.get("description") or head.metas.get("og:description") or ""),
        language=_language(source, page, head),
        text=marked.text,
        links=tuple(links.found),
        nofollowed=frozenset([url for url, follow in links.found.items() if not follow]),
        notes=tuple(links.notes.values()),
        canonical=head.canonical,
        directives=directives_of(head.metas.items(), headers, agent),
        content_hash=marked.content_hash,
        fingerprint=marked.fingerprint,
        cut=safe.cut or links.cut or len(shown) > MAX_TEXT_CHARS,
    )


def outlined_text_of(page: Page) -> OutlinedText:
    """Only the text, its words with one space between them, and the headings in it."""
    if not is_html(page.media_type, page.body, page.final_url):
        return OutlinedText(_joined(_text_of_other(page)))
    html = _safe(page).html.encode("utf-8", "replace")
    source = LexborHTMLParser(html)
    headings = mark_headings(source)
    text = _joined(_seen(source, html)[:MAX_TEXT_CHARS])
    return take_marks(text.replace(f"{MARK} ", MARK), headings)


def _safe(page: Page) -> BoundedHtml:
    return (
        BoundedHtml(flatten_shadow_roots(page.text), False)
        if page.is_light
        else bound_html(page.text, REBUILT)
    )


def _text_of_other(page: Page) -> str:
    return page.text[:MAX_TEXT_CHARS] if is_text(page.media_type) else ""


def _of_other(page: Page, directives: Directives) -> CrawlView:
    text, digest, print_ = _MarkedText.of(_text_of_other(page), page.body)
    return CrawlView("", "", "", text, (), frozenset(), (), "", directives, digest, print_, False)


class _MarkedText(NamedTuple):
    """A text, and what identifies it."""

    text: str
    content_hash: str
    fingerprint: str

    @classmethod
    def of(cls, shown: str, body: bytes) -> Self:
        written = shown.encode("utf-8", "replace")
        solid = written.translate(None, WHITE_SPACE)
        text = shown if len(solid) >= LONG_TEXT else _joined(shown)
        return cls(text, sha256(solid or body).hexdigest(), fingerprint_of(shown, written))


class _ViewHead(Struct):
    """Statements of the page about itself."""

    addresses: Addresses
    title: str = ""
    canonical: str = ""
    metas: dict[str, str] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)  # to related pages

    @classmethod
    def read(cls, page: Page, nodes: list[LexborNode], folders: Folders | None) -> "_ViewHead":
        base = next((node.attributes.get("href") for node in nodes if node.tag == "base"), None)
        head = cls(Addresses(page.final_url, base or "", folders))
        for name, value in page.headers:
            if name == "link":
                head._read_link_header(value)
        for node in nodes:
            match node.tag:
                case "link":
                    head._read_link(node.attributes)
                case "meta":
                    head._read_meta(node.attributes)
                case "title":
                    head.title = head.title or _line(node.text())
        return head

    def _read_link(self, attributes: Mapping[str, str | None]) -> None:
        rels = (attributes.get("rel") or "").lower().split()
        reference = attributes.get("href") or ""
        if not reference or "stylesheet" in rels or _FOLLOWED_RELS.isdisjoint(rels):
            return
        self.references.append(reference)
        if "canonical" in rels and not self.canonical:
            self.canonical = self.addresses.absolute(reference).partition("#")[0]

    def _read_link_header(self, value: str) -> None:
        for reference, parameters in _LINK_HEADER.findall(value):
            if rel := _REL.search(parameters):
                self._read_link({"href": reference, "rel": rel[1]})

    def _read_meta(self, attributes: Mapping[str, str | None]) -> None:
        content = attributes.get("content") or ""
        name = (attributes.get("name") or attributes.get("property") or "").strip().lower()
        if name:
            self.metas[name] = f"{self.metas[name]},{content}" if name in self.metas else content
            return
        name = (attributes.get("http-equiv") or "").strip().lower()
        if name == "refresh" and (found := _REFRESH.match(content)):
            self.references.append(found[1].strip())
        elif name:
            self.metas.setdefault(f"http:{name}", content)


class _Links:
    """The links of a page."""

    def __init__(self, addresses: Addresses, max_links: int) -> None:
        self.found: dict[str, bool] = {}  # whether it may be followed
        self.notes: dict[str, LinkNote] = {}
        self.cut = False
        self._addresses, self._max_links = addresses, max_links

    def read(self, source: LexborHTMLParser) -> None:
        """A URL may be followed if one of its links may. The first link with a text is noted."""
        references: dict[str, bool] = {}
        notes: dict[str, LinkNote] = {}
        places: dict[int, int] = {}
        for node in source.css(_LEADING)[: self._max_links * REPEATED]:
            attributes, tag = node.attributes, node.tag
            if tag not in _ANCHORS:
                if tag in PLACES:  # an inner one comes later
                    places.update(dict.fromkeys(map(_mem_id, node.css("[href]")), PLACES[tag]))
                continue
            reference = (attributes.get("href") or attributes.get("src") or "").partition("#")[0]
            rel = attributes.get("rel") or ""
            if not rel or "nofollow" not in rel.lower().split():
                references[reference] = True
            else:
                references.setdefault(reference, False)
            note = notes.get(reference)
            if note is None or not note[0]:
                text = node.text() or attributes.get("title") or ""
                notes[reference] = (text, rel, places.get(node.mem_id, 0))
        self.add(references, notes)

    def add(self, references: dict[str, bool], notes: dict[str, LinkNote] | None = None) -> None:
        found, plain, absolute = self.found, self._addresses.plain, self._addresses.absolute
        for reference, follow in references.items():
            url = plain[reference] or absolute(reference)
            if not url.startswith(("http:", "https:")) or len(url) > MAX_LINK_CHARS:
                continue
            if url in found:
                found[url] = found[url] or follow
            elif len(found) < self._max_links:
                found[url] = follow
                self.notes[url] = IN_HEAD if notes is None else notes[reference]
            else:
                self.cut = True
                return


def _head_nodes(source: LexborHTMLParser, html: bytes) -> list[LexborNode]:
    """The elements of the head. A stray element ends the head early, and the rest is then in the body."""
    body = html.find(b"<body")
    written = len(_BEGINS_OF_HEAD.findall(html, 0, body if body >= 0 else len(html)))
    nodes = source.head.css(_OF_HEAD) if source.head is not None else []
    return nodes if len(nodes) >= written else source.css(_OF_HEAD)


def _seen(source: LexborHTMLParser, html: bytes) -> str:
    """The visible text. Removes everything else from the tree."""
    body = source.body
    if body is None:
        return ""
    hiding = [selector for sign, selector in _HIDING.items() if sign in html]
    for node in body.css(",".join((_UNSEEN, *hiding))):
        node.decompose()
    return body.text(separator=" ")


def _language(source: LexborHTMLParser, page: Page, head: _ViewHead) -> str:
    root = source.root
    said = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "") if root is not None else ""
    for value in (said, head.metas.get("http:content-language", ""), page.header("content-language") or ""):
        if found := _LANGUAGE.match(value.strip()):
            return found[0].replace("_", "-")
    return ""


def _line(text: str) -> str:
    return _joined(text)[:MAX_LINE_CHARS]


def _joined(text: str) -> str:
    """The words, with one space between them."""
    return " ".join(text.split())
