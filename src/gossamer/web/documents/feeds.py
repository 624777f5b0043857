"""Feeds: RSS (0.9x, 1.0, 2.0), Atom and JSON Feed, as a title and a list of entries.

XML is read as a stream, without namespaces (many feeds forget to declare theirs) and without entities. A feed
with a DOCTYPE that declares something, or with too deep nesting, is refused. Of a feed that cannot be
repaired, the entries before the error are kept.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.web.documents.xml_repair import repair_xml, without_doctype

MAX_DEPTH: Final = 256
MAX_SUMMARY_CHARS: Final = 600
MAX_VALUE_CHARS: Final = 20_000  # before its tags are removed


class FeedEntry(Struct, frozen=True):
    title: str = ""
    link: str = ""  # as written
    author: str = ""
    published: str = ""  # ISO 8601, if it could be parsed
    summary: str = ""


class Feed(Struct, frozen=True):
    title: str = ""
    link: str = ""
    description: str = ""
    language: str = ""
    updated: str = ""
    entries: tuple[FeedEntry, ...] = ()
    complete: bool = True  # False if the feed is broken


def from_xml(text: str) -> Feed | None:
    """Parse a feed; None if it is not a feed, or is refused."""
    reader = _FeedReader()
    try:
        if not reader.read(without_doctype(text)):
            second = _FeedReader()
            mended = second.read(repair_xml(text))
            reader = second if mended or len(second.entries) > len(reader.entries) else reader
    except _Refused:
        return None
    return reader.to_feed() if reader.entries or reader.values else None


def from_json(value: Any) -> Feed | None:
    if not isinstance(value, dict) or "jsonfeed.org" not in str(value.get("version"))[:100]:
        return None
    items = value.get("items")
    entries = items if isinstance(items, list) else []
    return Feed(
        title=_text(value.get("title")),
        link=_text(value.get("home_page_url")),
        description=_summary(_text(value.get("description"))),
        language=_text(value.get("language")),
        entries=tuple(_json_entry(item) for item in entries if isinstance(item, dict)),
    )


def _json_entry(item: dict[Any, Any]) -> FeedEntry:
    authors = item.get("authors") or [item.get("author")]
    first = authors[0] if isinstance(authors, list) else None
    contents = (_text(item.get(name)) for name in ("summary", "content_text", "content_html"))
    return FeedEntry(
        title=_summary(_text(item.get("title"))),
        link=_text(item.get("url")) or _text(item.get("external_url")),
        author=_text(first.get("name")) if isinstance(first, dict) else "",
        published=_date(_text(item.get("date_published")) or _text(item.get("date_modified"))),
        summary=_summary(next(filter(None, contents), "")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# XML.

_FIELDS: Final = {
    "title": "title",
    "link": "link",
    "guid": "guid",
    "description": "description",
    "subtitle": "description",
    "tagline": "description",
    "summary": "description",
    "content": "content",
    "content:encoded": "content",
    "author": "author",
    "dc:creator": "author",
    "dc:author": "author",
    "itunes:author": "author",
    "googleplay:author": "author",
    "media:credit": "author",
    "managingEditor": "editor",
    "dc:title": "title",
    "media:title": "title",
    "itunes:title": "title",
    "dc:description": "description",
    "media:description": "content",
    "itunes:summary": "content",
    "itunes:subtitle": "content",
    "language": "language",
    "dc:language": "language",
    "pubDate": "published",
    "published": "published",
    "issued": "published",
    "dc:date": "published",
    "dcterms:created": "published",
    "dcterms:issued": "published",
    "dcterms:modified": "updated",
    "updated": "updated",
    "modified": "updated",
    "lastBuildDate": "updated",
}
_ENTRIES: Final = frozenset({"item", "entry"})
_ASIDE: Final = frozenset({"image", "textInput", "textinput", "source"})  # their titles are not the feed's
_DEFAULT_PREFIX: Final = re.compile(r"(?:atom|rss|a10):")


class _Refused(Exception):
    pass


class _FeedReader(Struct):
    entries: list[dict[str, str]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)  # the feed's own
    depth: int = 0
    inside: int = 0  # depth of the open entry
    aside: int = 0  # depth of the skipped element
    name: str = ""  # of the field whose text is collected
    name_depth: int = 0
    pieces: list[str] = field(default_factory=list)
    broken: bool = False

    def read(self, text: str) -> bool:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(text, True)
        except (expat.ExpatError, UnicodeError):
            self.broken = True
        return not self.broken

    def to_feed(self) -> Feed:
        own = self.values
        base = own.get("base", "") or own.get("link", "")
        return Feed(
            title=_summary(own.get("title", "")),
            link=_join(own.get("base", ""), own.get("link", "")),
            description=_summary(own.get("description", "")),
            language=own.get("language") or own.get("xml:lang", ""),
            updated=_date(own.get("updated") or own.get("published", "")),
            entries=tuple(_entry(values, base, own) for values in self.entries),
            complete=not self.broken,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Refused
        name = _DEFAULT_PREFIX.sub("", name)
        if self.name == "author" and name == "name":
            self.name_depth, self.pieces = self.depth, []
        elif self.name:
            self.pieces.append(" ")
        elif not self.aside:
            self._open(name, attributes)

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        if name in _ENTRIES:
            self.inside = self.depth
            self.entries.append({})
        self._keep_inherited(attributes)
        if name in _ENTRIES:
            return
        if name in _ASIDE:
            self.aside = self.depth
        elif name == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                self._keep("link", attributes["href"])
        elif name in _FIELDS:
            self.name, self.name_depth, self.pieces = _FIELDS[name], self.depth, []
            if name == "guid" and attributes.get("isPermaLink") == "false":
                self.name = "id"

    def _keep_inherited(self, attributes: dict[str, str]) -> None:
        if "xml:base" in attributes:
            self._keep("base", attributes["xml:base"])
        if "xml:lang" in attributes:
            self._keep("xml:lang", attributes["xml:lang"])

    def _end(self, _: str) -> None:
        if self.name and self.depth == self.name_depth:
            self._keep(self.name, "".join(self.pieces))
            self.name = ""
        if self.depth == self.inside:
            self.inside = 0
        if self.depth == self.aside:
            self.aside = 0
        self.depth -= 1

    def _characters(self, text: str) -> None:
        if self.name:
            self.pieces.append(text)

    def _keep(self, name: str, value: str) -> None:
        values = self.entries[-1] if self.inside else self.values
        if value := value.strip()[:MAX_VALUE_CHARS]:
            values.setdefault(name, value)


def _refuse(*_: object) -> None:
    raise _Refused


def _entry(values: dict[str, str], base: str, feed: dict[str, str]) -> FeedEntry:
    """An entry inherits the base of its links, and the author, from the feed."""
    author = values.get("author") or feed.get("author") or feed.get("editor", "")
    return FeedEntry(
        title=_summary(values.get("title", "")),
        link=_join(_join(base, values.get("base", "")) or base, values.get("link") or values.get("guid", "")),
        author=_summary(author),
        published=_date(values.get("published") or values.get("updated", "")),
        summary=_summary(values.get("description") or values.get("content", "")),
    )


# Values.


def _join(base: str, link: str) -> str:
    """Make a link absolute if the feed says where it begins; otherwise it stays as written."""
    if not link or not base or urlsplit(link).scheme:
        return link
    try:
        return urljoin(base, link)
    except ValueError:
        return link


_SCRIPT: Final = re.compile(r"<(script|style)\b(?:.*?</\1\s*+>|.*+)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"<!--(?:.*?-->|.*+)|</?[A-Za-z!][^<>]*+>", re.DOTALL)


def _summary(html: str) -> str:
    """Return the text of an HTML snippet on one line, cut between words."""
    text = html[:MAX_VALUE_CHARS]
    if "<" in text:
        text = _TAG.sub(" ", _SCRIPT.sub(" ", text))
    text = " ".join((unescape(text) if "&" in text else text).split())
    if len(text) <= MAX_SUMMARY_CHARS:
        return text
    return text[:MAX_SUMMARY_CHARS].rpartition(" ")[0] + " …"


def _date(text: str) -> str:
    text = text.strip()[:60]
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(text).isoformat()
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return text


def first_entries(feed: Feed, most: int) -> Feed:
    """Return the feed with at most this many entries."""
    return replace(feed, entries=feed.entries[:most])
