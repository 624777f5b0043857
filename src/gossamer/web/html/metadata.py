"""Metadata: what a page says about itself in its head, its structured data, and next to its headline."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.web.html.dates import is_later, iso_date
from gossamer.web.html.links import Addresses
from gossamer.web.html.titles import choose_title
from gossamer.web.html.tree import Tree

METADATA_SELECTOR: Final = "meta[content], title, link[href], script[type*='ld+json']"
MAX_VALUE_CHARS: Final = 5_000
MAX_VALUES: Final = 200  # of one kind
MAX_JSON_CHARS: Final = 500_000
MAX_JSON_DEPTH: Final = 8

_ARTICLES: Final = re.compile(
    r"(?:Article|Posting|Report|Review|Recipe|HowTo|QAPage|FAQPage|Book|Product|VideoObject|WebPage|Event|Course)$"
)
_LANGUAGE: Final = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3}")
_BY: Final = re.compile(
    r"^(?:by|von|par|por|di|door|av|af|written by|posted by|author|autor|auteur)\s*:?\s+", re.I
)
_NO_NAME: Final = re.compile(
    r"https?:|www\.|@|\d|^(?:admin|administrator|editor|staff|user|guest|unknown|null|none|redaktion|author)$",
    re.I,
)
_TIMES: Final = (
    "time.published, time.entry-date, .published time, article header time, main header time, article time, "
    ".byline time, .post-date time"
)
_DATED: Final = ".published, .post-date, .entry-date, .article-date, .publish-date, .date, #pubdate"
_PUBLISHED: Final = (
    "article:published_time",
    "og:article:published_time",
    "article:published",
    "datepublished",
    "date.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "dc.date",
    "dcterms.date",
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
    "timestamp",
    "date",
)
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


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str = ""
    description: str | None = None
    author: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    language: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    image: str | None = None
    favicon: str | None = None
    keywords: tuple[str, ...] = ()
    robots: str | None = None
    feeds: tuple[str, ...] = ()
    open_graph: dict[str, str] = field(default_factory=dict)
    twitter: dict[str, str] = field(default_factory=dict)
    json_ld: list[dict[str, Any]] = field(default_factory=list)


def metadata_of(tree: Tree, nodes: Sequence[LexborNode], addresses: Addresses, host: str) -> Metadata:
    """Collect the metadata from these nodes, which match `METADATA_SELECTOR`, and from the page."""
    head = _MetadataHead.read(nodes)
    articles = [node for node in _nodes(head.json_ld) if _is_article(node)]
    open_graph = {name[3:]: text for name, text in head.metas.items() if name.startswith("og:")}
    site_name = head.first("og:site_name", "application-name", "apple-mobile-web-app-title") or _publisher(
        articles
    )
    published = _date(head, articles, "datePublished", _PUBLISHED) or _date_on_page(
        tree.source, published=True
    )
    modified = _date(head, articles, "dateModified", _MODIFIED) or _date_on_page(tree.source, published=False)
    return Metadata(
        title=_title(tree, head, articles, site_name, host),
        description=head.first("description", "og:description", "twitter:description", "dc.description")
        or _first_text(articles, "description"),
        author=_author(tree.source, head, articles),
        published_at=published,
        modified_at=modified if modified and not (published and is_later(published, modified)) else None,
        language=_language(tree.source, head, articles),
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


@dataclass(frozen=True, slots=True)
class _MetadataHead:
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
    kinds = node.get("@type")
    return any(
        isinstance(kind, str) and _ARTICLES.search(kind)
        for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _title(
    tree: Tree, head: _MetadataHead, articles: list[dict[str, Any]], site_name: str | None, host: str
) -> str:
    headings = [one.plain() for one in tree.order if one.tag == "h1" and one.text][:3]
    declared = [
        _first_text([one for one in articles if one.get("headline")], "headline"),
        head.first("og:title"),
        head.first("twitter:title", "dc.title", "citation_title", "parsely-title", "sailthru.title"),
    ]
    return choose_title(
        document=head.title,
        headings=headings,
        declared=[text for text in declared if text],
        site_name=site_name or "",
        host=host,
    )


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


def _author(source: LexborHTMLParser, head: _MetadataHead, articles: list[dict[str, Any]]) -> str | None:
    stated = [name for one in articles for name in _names(one.get("author") or one.get("creator"))]
    people = _people(stated) or _people([head.metas[name] for name in _AUTHORS if name in head.metas])
    if not people:
        for selector in (
            "[rel~=author]",
            "[itemprop~=author]",
            ".author-name, .byline__name, .byline-name, .p-author, .vcard .fn",
            ".byline, .author",
        ):
            people = _people([node.text(separator=" ") for node in source.css(selector)[:3]])
            if people:
                break
    return ", ".join(people) or None


def _people(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        clean = _BY.sub("", " ".join(name.split())).strip(" ,;|·•-\u2013")
        if _is_name(clean) and clean.casefold() not in (one.casefold() for one in found):
            found.append(clean)
    return found[:8]


def _is_name(text: str) -> bool:
    return 2 < len(text) <= 80 and len(text.split()) <= 8 and not _NO_NAME.search(text)


def _date(
    head: _MetadataHead, articles: list[dict[str, Any]], key: str, names: tuple[str, ...]
) -> str | None:
    texts = [one[key] for one in articles if isinstance(one.get(key), str)]
    texts += [head.metas[name] for name in names if name in head.metas]
    return next((found for found in map(iso_date, texts) if found), None)


def _date_on_page(source: LexborHTMLParser, *, published: bool) -> str | None:
    """Find a date beside the headline. A `time` elsewhere counts only as the publication date, if unique."""
    key = "datePublished" if published else "dateModified"
    for node in source.css(f"[itemprop~={key}], time[pubdate]" if published else f"[itemprop~={key}]")[:3]:
        attributes = node.attributes
        found = iso_date(attributes.get("datetime") or attributes.get("content") or node.text())
        if found:
            return found
    if not published:
        return None
    for node in [*source.css(_TIMES)[:2], *_only(source, "time[datetime]")]:
        found = iso_date(node.attributes.get("datetime") or node.text())
        if found:
            return found
    for node in source.css(_DATED)[:2]:
        found = iso_date(node.text()) if len(node.text()) < 100 else None
        if found:
            return found
    return None


def _only(source: LexborHTMLParser, selector: str) -> list[Any]:
    found = source.css(selector)
    return found if len(found) == 1 else []


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
