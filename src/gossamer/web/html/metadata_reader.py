"""Reads what a page says about itself in its head, its structured data, and next to its headline."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.html.byline.authors import find_authors, fold, people
from gossamer.web.html.byline.headline import Headline
from gossamer.web.html.byline.published import find_published
from gossamer.web.html.byline.titles import choose_title, own_name
from gossamer.web.html.dates import is_later, iso_date
from gossamer.web.html.elements.element import Element
from gossamer.web.html.links import Addresses
from gossamer.web.html.metadata import Metadata
from gossamer.web.html.tree import Tree

METADATA_SELECTOR: Final = "meta[content], title, link[href], script[type*='ld+json']"
MAX_VALUE_CHARS: Final = 5_000
MAX_VALUES: Final = 200  # of one kind
MAX_JSON_CHARS: Final = 500_000
MAX_JSON_DEPTH: Final = 8

_ARTICLES: Final = re.compile(
    r"(?:Article|Posting|Report|Review|Recipe|HowTo|QAPage|FAQPage|Book|Product|VideoObject|WebPage|Event|Course)$"
)
_PIECES: Final = re.compile(r"(?:Article|Posting|Report|Review|Recipe|HowTo|QAPage|VideoObject)$")
_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3}")
_PUBLISHED: Final = (
    "article:published_time",
    "og:article:published_time",
    "article:published",
    "datepublished",
    "date.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "citation_publication_date",
    "citation_date",
    "sailthru.date",
    "parsely-pub-date",
    "pubdate",
    "publish-date",
    "publish_date",
    "publication_date",
    "publicationdate",
    "og:published_time",
    "cxenseparse:recs:publishtime",
    "article_date_original",
    "originalpublicationdate",
)
# Open Graph's `article:…` describes an article: a page that calls itself a website has it from a template.
_PUBLISHED_BY_SITE: Final = tuple(name for name in _PUBLISHED if not name.startswith("article:"))
_PERHAPS_PUBLISHED: Final = ("date",)  # some name any date
_MODIFIED: Final = (
    "article:modified_time",
    "og:updated_time",
    "og:article:modified_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "lastmod",
    "revised",
    "article:modified",
)
_HOME: Final = re.compile(r"(?:https?://[^/?#]+)?/?(?:index\.\w{2,5})?|\.{1,2}/")
_AUTHORS: Final = (
    "author",
    "article:author",
    "dc.creator",
    "dcterms.creator",
    "parsely-author",
    "sailthru.author",
    "citation_author",
    "twitter:creator:name",
    "byl",
    "article.author",
)


def metadata_of(tree: Tree, nodes: Sequence[LexborNode], addresses: Addresses, host: str) -> Metadata:
    """Collect the metadata from these nodes, which match `METADATA_SELECTOR`, and from the page."""
    head = _MetadataHead.read(nodes)
    articles = [node for node in _nodes(head.json_ld) if _is_article(node)]
    open_graph = {name[3:]: text for name, text in head.metas.items() if name.startswith("og:")}
    site_name = head.first("og:site_name", "application-name", "apple-mobile-web-app-title") or _publisher(
        articles
    )
    language = _language(tree.source, head, articles)
    title = _title(tree, head, articles, site_name, host)
    headline = Headline(tree, title)
    published = _published(tree, head, headline, addresses.page, language or "")
    modified = _date(head, articles, "dateModified", _MODIFIED) or _modified_on_page(tree.source)
    return Metadata(
        title=title,
        description=head.first("description", "og:description", "twitter:description", "dc.description")
        or _first_text(articles, "description"),
        author=_author(tree, head, articles, headline, _site_names(site_name, host)),
        published_at=published,
        modified_at=modified if modified and not (published and is_later(published, modified)) else None,
        language=language,
        canonical=head.find_link("canonical", addresses)
        or addresses.absolute(open_graph.get("url", ""))
        or None,
        site_name=site_name or None,
        image=addresses.absolute(
            head.first("og:image", "og:image:url", "twitter:image", "twitter:image:src") or ""
        )
        or None,
        favicon=head.find_link("icon", addresses),
        keywords=_keywords(head.first("keywords", "news_keywords") or ""),
        robots=head.first("robots"),
        feeds=_feeds(head, addresses),
        open_graph=open_graph,
        twitter={name[8:]: text for name, text in head.metas.items() if name.startswith("twitter:")},
        json_ld=head.json_ld,
    )


class _MetadataHead(Struct, frozen=True):
    title: str
    metas: dict[str, str]
    links: list[dict[str, str | None]]  # the attributes of each
    json_ld: list[dict[str, Any]]

    @classmethod
    def read(cls, nodes: Sequence[LexborNode]) -> "_MetadataHead":
        metas: dict[str, str] = {}
        titles = (
            one.text() for one in nodes if one.tag == "title" and one.parent and one.parent.tag != "svg"
        )
        for node in nodes:
            if node.tag == "meta" and len(metas) < MAX_VALUES:
                _add_meta(metas, node.attributes)
        links = [node.attributes for node in nodes if node.tag == "link"]
        return cls(next(titles, ""), metas, links, list(_json_ld(nodes)))

    def find_link(self, rel: str, addresses: Addresses) -> str | None:
        for link in self.links:
            if rel in (link.get("rel") or "").lower().split():
                url = addresses.absolute(link.get("href") or "")
                if url.startswith(("http:", "https:")):
                    return url
        return None

    def first(self, *names: str) -> str | None:
        return next((" ".join(self.metas[name].split()) for name in names if self.metas.get(name)), None)


def _add_meta(metas: dict[str, str], attributes: dict[str, str | None]) -> None:
    text = (attributes.get("content") or "").strip()
    for key in ("property", "name", "itemprop", "http-equiv") if text else ():
        for name in (attributes.get(key) or "").lower().split()[:4]:
            metas.setdefault(name, text[:MAX_VALUE_CHARS])


def _json_ld(nodes: Sequence[LexborNode]) -> Iterator[dict[str, Any]]:
    scripts = [node for node in nodes if node.tag == "script"]
    for script in scripts[:50]:
        text = script.text() or ""
        if len(text) > MAX_JSON_CHARS:
            continue
        try:
            found = json.loads(
                text.strip().removeprefix("<!--").removesuffix("-->").strip().rstrip(";"), strict=False
            )
        except (ValueError, RecursionError):
            continue
        yield from (one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict))


def _nodes(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects of the structured data at the top level, in a graph, or as the main entity."""
    found: list[dict[str, Any]] = []
    waiting: list[tuple[Any, int]] = [(one, 0) for one in documents]
    while waiting and len(found) < MAX_VALUES:
        node, depth = waiting.pop(0)
        if isinstance(node, list):
            waiting.extend((one, depth) for one in node[:MAX_VALUES])
        elif isinstance(node, dict) and depth < MAX_JSON_DEPTH:
            found.append(node)
            waiting.extend(
                (node[key], depth + 1) for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in node
            )
    return found


def _is_article(node: dict[str, Any]) -> bool:
    return _is_of(node, _ARTICLES)


def _is_piece(node: dict[str, Any]) -> bool:
    return _is_of(node, _PIECES)


def _is_of(node: dict[str, Any], names: re.Pattern[str]) -> bool:
    kinds = node.get("@type")
    return any(
        isinstance(kind, str) and names.search(kind)
        for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _title(
    tree: Tree, head: _MetadataHead, articles: list[dict[str, Any]], site_name: str | None, host: str
) -> str:
    headings = [one for one in tree.headings if one.tag == "h1"][:5]
    logos = [one.plain() for one in headings if _is_logo(one)]
    declared = [
        _first_text([one for one in articles if one.get("headline")], "headline"),
        head.first("og:title"),
        head.first("twitter:title", "dc.title", "citation_title", "parsely-title", "sailthru.title"),
    ]
    return choose_title(
        document=head.title,
        headings=[one.plain() for one in headings if not _is_logo(one)],
        declared=[text for text in declared if text],
        site_name=site_name or next(iter(logos), ""),
        host=host,
    )


def _is_logo(heading: Element) -> bool:
    """Whether a heading is the name of the site: it links to its front page."""
    link = heading.find("a") or next((one for one in heading.above() if one.tag == "a"), None)
    return link is not None and _HOME.fullmatch(link.get("href")) is not None


def _first_text(nodes: list[dict[str, Any]], key: str) -> str | None:
    for node in nodes:
        text = node.get(key)
        if isinstance(text, str) and text.strip():
            return " ".join(text.split())[:MAX_VALUE_CHARS]
    return None


def _publisher(articles: list[dict[str, Any]]) -> str | None:
    return next((name for one in articles for name in _names(one.get("publisher"))), None)


def _names(value: Any, depth: int = 0) -> list[str]:
    if depth > 2:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [name for one in value[:20] for name in _names(one, depth + 1)]
    return _names(value.get("name"), depth + 1) if isinstance(value, dict) else []


def _author(
    tree: Tree, head: _MetadataHead, articles: list[dict[str, Any]], headline: Headline, sites: frozenset[str]
) -> str | None:
    stated = [name for one in articles for name in _names(one.get("author") or one.get("creator"))]
    found = (
        people(stated, sites)
        or people([head.metas[name] for name in _AUTHORS if name in head.metas], sites)
        or find_authors(tree, headline, sites)
    )
    return ", ".join(found) or None


def _site_names(site_name: str | None, host: str) -> frozenset[str]:
    """Return what the site may call itself as an author, folded."""
    names = (
        site_name or "",
        (site_name or "").partition(" - ")[0],
        host,
        host.removeprefix("www."),
        own_name(host),
    )
    return frozenset(filter(None, map(fold, names)))


def _date(
    head: _MetadataHead, articles: list[dict[str, Any]], key: str, names: tuple[str, ...]
) -> str | None:
    texts = [one[key] for one in articles if isinstance(one.get(key), str)]
    texts += [head.metas[name] for name in names if name in head.metas]
    return next((found for found in map(iso_date, texts) if found), None)


def _published(tree: Tree, head: _MetadataHead, headline: Headline, url: str, language: str) -> str | None:
    """Some systems date each page as a `WebPage`: unlike that of an article, this is when it was created."""
    pieces = [node for node in _nodes(head.json_ld) if _is_piece(node)]
    is_site = head.metas.get("og:type", "").lower() == "website"
    stated = _date(head, pieces, "datePublished", _PUBLISHED_BY_SITE if is_site else _PUBLISHED)
    return (
        stated
        or find_published(tree, headline, url, language)
        or _date(head, [], "datePublished", _PERHAPS_PUBLISHED)
    )


def _modified_on_page(source: LexborHTMLParser) -> str | None:
    for node in source.css("[itemprop~=dateModified]")[:3]:
        attributes = node.attributes
        if found := iso_date(attributes.get("datetime") or attributes.get("content") or node.text()):
            return found
    return None


def _language(source: LexborHTMLParser, head: _MetadataHead, articles: list[dict[str, Any]]) -> str | None:
    root = source.root
    attributes = root.attributes if root is not None else {}
    stated = (
        attributes.get("lang"),
        attributes.get("xml:lang"),
        head.first("content-language", "language", "dc.language"),
        _first_text(articles, "inLanguage"),
        head.first("og:locale"),
    )
    for text in stated:
        match = _LANGUAGE.fullmatch((text or "").split(",")[0].strip())
        if match:
            primary, *others = match[0].replace("_", "-").split("-")
            return "-".join([primary.lower(), *(one.upper() if len(one) == 2 else one for one in others)])
    return None


def _feeds(head: _MetadataHead, addresses: Addresses) -> tuple[str, ...]:
    kinds = ("application/rss+xml", "application/atom+xml", "application/feed+json")
    found = [link.get("href") or "" for link in head.links if link.get("type") in kinds][:20]
    return tuple(dict.fromkeys(url for url in map(addresses.absolute, found) if url))


def _keywords(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))[:50]
