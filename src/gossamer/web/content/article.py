"""Article: the title, content, metadata and links of an HTML page.

    html ── sanitise ── tree ──┬── content ──┬── markdown
                               │             ├── plain text
                               │             └── cleaned HTML
                               ├── metadata (titles, dates)
                               └── links

One parse serves all of them. Nothing here uses the network or the clock, and no page makes it fail.
"""

from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from selectolax.lexbor import LexborNode

from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.content.main.content import Content, whole_page
from gossamer.web.content.main.features import ContentHints
from gossamer.web.content.main.find import find_content
from gossamer.web.content.main.model import BlockModel
from gossamer.web.content.main.structured import article_body, state_texts, to_element
from gossamer.web.content.plain import outlined_text
from gossamer.web.content.site_memory import SiteMemory
from gossamer.web.html.elements.element import Element
from gossamer.web.html.links import Addresses, Link, links_of
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.metadata_reader import METADATA_SELECTOR, metadata_of
from gossamer.web.html.resources import Resource, resources_of
from gossamer.web.html.tree import Tree, parse, release
from gossamer.web.html.vocabulary import tags
from gossamer.web.markdown.images import image_of
from gossamer.web.markdown.markdown import to_markdown
from gossamer.web.search.passages import TextHeading

MAX_EMPTY_CHARS: Final = 250  # on a page that shows next to nothing without scripts
MIN_CONTENT_CHARS: Final = 100  # of main content; with less, the whole page is used if it has much more
MIN_DESCRIBED: Final = 0.5  # of the characters of its description, that a page's content has at least
MIN_SCRIPTS: Final = 2  # from files; with fewer, a page is hardly made by them
_HTML_TAGS: Final = tags(
    "h1 h2 h3 h4 h5 h6 p a b strong i em u s del ins mark small sub sup code pre kbd samp var blockquote "
    "q cite ul ol li dl dt dd table caption thead tbody tfoot tr td th figure figcaption img br hr abbr "
    "time details summary article section main div dfn bdi bdo ruby rt rp wbr"
)
_VOID_TAGS: Final = frozenset(("br", "hr", "img", "wbr"))
_HTML_ATTRIBUTES: Final = tags(
    "title alt colspan rowspan headers scope start value reversed datetime lang dir cite open id"
)


class Article(Struct, frozen=True):
    title: str
    markdown: str
    text: str
    headings: tuple[TextHeading, ...]  # in the text
    html: str  # of the content, without anything that runs or loads; empty unless it was asked for
    metadata: Metadata
    links: tuple[Link, ...]  # of the whole page
    resources: tuple[Resource, ...]  # empty unless requested
    words: int
    confidence: float | None  # that this is the main content and all of it, from 0 to 1; None: not searched
    warning: ContentWarning | None
    scripted: bool  # the content is doubtful, and scripts from other files may make more of it
    cut: bool  # the page exceeded a limit: some content is missing, or lost its structure


def extract(
    html: str,
    url: str,
    *,
    main_content: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    unveil: bool = True,
    resources: bool = False,
    cleaned: bool = True,
    memory: SiteMemory | None = None,
) -> Article:
    """Extract the article of a page; `include` and `exclude` are CSS selectors that limit it. `memory` is of
    the page's host."""
    tree = parse(html, include=include, exclude=exclude, unveil=unveil)
    nodes = tree.source.css(f"a[href], area[href], base[href], {METADATA_SELECTOR}")
    anchors: list[LexborNode] = []
    said: list[LexborNode] = []
    for node in nodes:
        (anchors if node.tag in ("a", "area") else said).append(node)
    addresses = Addresses(url, base_of(said))
    metadata = metadata_of(tree, said, addresses, host_of(url))
    searched = main_content and not include
    content = content_of(tree, metadata, memory=memory) if searched else whole_page(tree)
    roots = [content.heading, content.root] if content.heading else [content.root]
    markdown = to_markdown(roots, addresses, content.left_out)
    outlined = outlined_text(content, metadata.title)
    links, too_many = links_of(anchors, addresses)
    article = Article(
        title=metadata.title,
        markdown=markdown.text,
        text=outlined.text,
        headings=outlined.headings,
        html=to_html(roots, addresses, content.left_out) if cleaned else "",
        metadata=metadata,
        links=links,
        resources=resources_of(tree.source, addresses) if resources else (),
        words=len(outlined.text.split()),
        confidence=round(content.confidence, 2) if searched else None,
        warning=content.warning,
        scripted=content.warning is not None and len(tree.source.css("script[src]")) >= MIN_SCRIPTS,
        cut=tree.cut or markdown.cut or too_many,
    )
    release(tree)
    return article


def content_of(
    tree: Tree, metadata: Metadata, model: BlockModel | None = None, memory: SiteMemory | None = None
) -> Content:
    """Find the main content of a page; it is the whole page if next to nothing looks like content."""
    body = article_body(metadata.json_ld)
    if tree.body.text < MAX_EMPTY_CHARS and (data := body or state_texts(tree)):
        return Content(to_element(data), confidence=0.5, warning=ContentWarning.FROM_DATA)
    hints = ContentHints(metadata.description or "", body)
    content = find_content(tree, metadata.title, hints, model, memory)
    if content.size < MIN_CONTENT_CHARS and tree.body.text > 2 * content.size:
        return Content(tree.body, confidence=0.0, warning=ContentWarning.WHOLE_PAGE)
    described = len(metadata.description or "")
    if content.size < MIN_DESCRIBED * described:
        return _doubt(content, described, body or state_texts(tree))
    return content


def _doubt(content: Content, described: int, data: str) -> Content:
    """Judge content that says less than the page's own description: the page probably waits for a script to
    show its text. If the page's data has it, it is taken from there."""
    if data:
        return Content(to_element(data), confidence=0.5, warning=ContentWarning.FROM_DATA)
    content.confidence *= content.size / described
    content.warning = content.warning or ContentWarning.UNCERTAIN
    return content


def base_of(nodes: Sequence[LexborNode]) -> str:
    return next((node.attributes.get("href") or "" for node in nodes if node.tag == "base"), "")


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


# Clean HTML, without scripts, styles and anything that loads.


def to_html(roots: list[Element], addresses: Addresses, left_out: set[int]) -> str:
    pieces: list[str] = []
    for root in roots:
        waiting: list[Element | str | None] = [root]
        ends: list[str] = []
        while waiting:
            node = waiting.pop()
            if node is None:
                pieces.append(ends.pop())
            elif isinstance(node, str):
                pieces.append(escape(node, quote=False))
            elif id(node) not in left_out:
                begin, end = _tags(node, addresses)
                pieces.append(begin)
                if end or node.tag not in _VOID_TAGS:
                    ends.append(end)
                    waiting.append(None)
                    waiting.extend(reversed(node.children))
    return "".join(pieces).strip()


def _tags(element: Element, addresses: Addresses) -> tuple[str, str]:
    tag = element.tag
    if tag == "math":
        return "<code>", "</code>"
    if tag not in _HTML_TAGS:
        return "", ""
    if not element.attributes and tag != "img":
        return f"<{tag}>", "" if tag in _VOID_TAGS else f"</{tag}>"
    written = "".join(f' {name}="{escape(text)}"' for name, text in _attributes(element, addresses))
    if tag == "img" and " src=" not in written:
        return "", ""
    return f"<{tag}{written}>", "" if tag in _VOID_TAGS else f"</{tag}>"


def _attributes(element: Element, addresses: Addresses) -> list[tuple[str, str]]:
    found = [(name, text or "") for name, text in element.attributes.items() if name in _HTML_ATTRIBUTES]
    if element.tag == "a" and (url := addresses.absolute(element.get("href"))):
        found.insert(0, ("href", url))
    elif element.tag == "img" and (image := image_of(element, addresses)):
        found.insert(0, ("src", image.url))
    elif element.tag == "code" and element.get("class").startswith("language-"):
        found.append(("class", element.get("class").split()[0]))
    return found
