"""A page's HTML as an article: what it is called, what it says, and where it points to.

    html ── sanitise ── tree ──┬── content ──┬── markdown
                               │             ├── plain text
                               │             └── cleaned HTML
                               ├── metadata (titles, dates)
                               └── links

One parse serves them all. Nothing here touches the network or the clock, and no page makes it fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from gossamer.web.cleaned import to_html
from gossamer.web.content import Content, find_content, whole_page
from gossamer.web.links import Addresses, Link, links_of
from gossamer.web.markdown import to_markdown
from gossamer.web.metadata import SAYS, Metadata, metadata_of
from gossamer.web.plain import plain_text
from gossamer.web.tree import Tree, parse, release

TOO_LITTLE: Final = 100  # characters of main content, where the page has a good deal more


@dataclass(frozen=True, slots=True)
class Article:
    title: str
    markdown: str
    text: str
    html: str  # of the content, without anything that runs or loads
    metadata: Metadata
    links: tuple[Link, ...]  # of the whole page
    words: int
    fallback: bool  # too little was recognised as the main content, so this is the whole page
    cut: bool  # the page went over a bound: something is missing, or has lost its structure


def extract(
    html: str,
    url: str,
    *,
    main_content: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    unveil: bool = True,
) -> Article:
    """The article of a page; `include` and `exclude` are CSS selectors of what it may consist of."""
    tree = parse(html, include=include, exclude=exclude, unveil=unveil)
    nodes = tree.source.css(f"a[href], area[href], base[href], {SAYS}")
    anchors = [node for node in nodes if node.tag in ("a", "area")]
    said = [node for node in nodes if node.tag not in ("a", "area")]
    addresses = Addresses(url, base_of(said))
    metadata = metadata_of(tree, said, addresses, host_of(url))
    content = content_of(tree, metadata.title, main=main_content and not include)
    roots = [content.heading, content.root] if content.heading else [content.root]
    markdown = to_markdown(roots, addresses, content.left_out)
    text = plain_text(content, metadata.title)
    links, too_many = links_of(anchors, addresses)
    article = Article(
        title=metadata.title,
        markdown=markdown.text,
        text=text,
        html=to_html(roots, addresses, content.left_out),
        metadata=metadata,
        links=links,
        words=len(text.split()),
        fallback=content.fallback,
        cut=tree.cut or markdown.cut or too_many,
    )
    release(tree)
    return article


def content_of(tree: Tree, title: str, *, main: bool) -> Content:
    if not main:
        return whole_page(tree)
    content = find_content(tree, title)
    kept = content.root.text if not content.left_out else len(plain_text(content, ""))
    if kept < TOO_LITTLE and tree.body.text > 2 * kept:
        whole = whole_page(tree)
        whole.fallback = True
        return whole
    return content


def base_of(nodes: Sequence[LexborNode]) -> str:
    return next((node.attributes.get("href") or "" for node in nodes if node.tag == "base"), "")


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
