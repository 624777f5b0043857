"""Sitemaps: read the pages that a site lists, in XML, text or a feed, without entities and within limits.

The extensions for news and images are read too. Namespaces are ignored, because sites misspell them.
"""

import re
import zlib
from typing import Final
from xml.parsers import expat

from msgspec import Struct, field

from gossamer.web.documents.feeds import from_xml
from gossamer.web.documents.xml_repair import is_wide, repair_xml, to_text

MAX_SITEMAP_BYTES: Final = 50_000_000  # unpacked
MAX_SITEMAP_ENTRIES: Final = 50_000
MAX_DEPTH: Final = 256
MAX_VALUE_CHARS: Final = 2_048  # of a URL or a headline
MAX_IMAGES: Final = 1_000  # of one page
MAX_GZIP_MEMBERS: Final = 100
QUICK_BYTES: Final = 64 * 1024  # are read in a few milliseconds
MAX_REPAIRED_BYTES: Final = 10_000_000  # larger ones are read as they are
_XML_LATER: Final = re.compile(rb"<\?xml\s|<(?:urlset|sitemapindex|rss|feed)[\s>]")
_GZIP: Final = b"\x1f\x8b"
_ENTRY: Final = {"urlset": "url", "sitemapindex": "sitemap"}
_READ_PATHS: Final = frozenset(
    ("loc", "lastmod", "changefreq", "image/loc", "news/title", "news/publication_date")
)


class SitemapEntry(Struct, frozen=True):
    url: str
    modified: str = ""  # as written, which should be a W3C date
    published: str = ""  # of news
    headline: str = ""
    images: tuple[str, ...] = ()
    frequency: str = ""  # `changefreq`, as written


class Entries(Struct, frozen=True):
    """The entries of a sitemap: pages, or further sitemaps if it is an index."""

    entries: tuple[SitemapEntry, ...]
    is_index: bool = False
    problem: str = ""  # why it could not be read to the end

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(entry.url for entry in self.entries)


class _Stop(Exception):
    pass


def is_quick(body: bytes) -> bool:
    """Whether it can be read in the event loop. A compressed one may be a thousand times as large."""
    return len(body) <= QUICK_BYTES and not body.startswith(_GZIP)


def read(body: bytes) -> Entries:
    """Read a sitemap without raising: `problem` says what is wrong, and readable entries are kept."""
    try:
        text, problem = _unpack(body)
    except _Stop as stop:
        return Entries((), problem=str(stop))
    if is_wide(text):
        text = to_text(text).encode()
    start = text.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return (
        _lines(text, problem)
        if start != b"<" and not _XML_LATER.search(text, 0, 20_000)
        else _xml(text, problem)
    )


def _xml(text: bytes, problem: str) -> Entries:
    """Read XML, and read it again repaired if that is of use."""
    found = _SitemapReader().read(text, problem)
    if (
        found.problem
        and not problem
        and len(found.entries) < MAX_SITEMAP_ENTRIES
        and len(text) <= MAX_REPAIRED_BYTES
    ):
        repaired = repair_xml(to_text(text))
        second = _SitemapReader().read(repaired, problem)
        if not second.problem or len(second.entries) > len(found.entries):
            return second
        return _feed(repaired) or found
    return found


def _feed(text: str) -> Entries | None:
    """Read a feed in place of a sitemap, as the protocol allows."""
    feed = from_xml(text)
    if feed is None or not feed.entries:
        return None
    entries = [
        SitemapEntry(one.link[:MAX_VALUE_CHARS], published=one.published, headline=one.title)
        for one in feed.entries
    ]
    return Entries(
        tuple(one for one in entries if one.url.startswith(("http://", "https://")))[:MAX_SITEMAP_ENTRIES]
    )


def _unpack(body: bytes) -> tuple[bytes, str]:
    """Unpack all members of a gzip file, and say what is wrong with it."""
    pieces: list[bytes] = []
    left, room = body, MAX_SITEMAP_BYTES
    while left.startswith(_GZIP):
        if len(pieces) >= MAX_GZIP_MEMBERS:
            raise _Stop("it is packed in too many pieces")
        inflating = zlib.decompressobj(wbits=31)
        try:
            pieces.append(inflating.decompress(left, room + 1))
        except zlib.error:
            return b"".join(pieces), "it cannot be unpacked"
        room -= len(pieces[-1])
        if room < 0:
            raise _Stop("it is larger than 50 MB")
        if not inflating.eof:
            return b"".join(pieces), "it ends too early"
        left = inflating.unused_data
    if not pieces:
        return body, ""
    return b"".join(pieces), ""


def _lines(text: bytes, problem: str) -> Entries:
    """Read the plain form, with one URL on each line."""
    lines = text.decode("utf-8-sig", "replace").split()
    found = [
        line for line in lines if line.startswith(("http://", "https://")) and len(line) <= MAX_VALUE_CHARS
    ]
    if len(found) > MAX_SITEMAP_ENTRIES:
        problem = problem or "it has more than 50,000 entries"
    entries = tuple(SitemapEntry(line) for line in found[:MAX_SITEMAP_ENTRIES])
    return Entries(entries, problem=problem or ("" if entries else "it is not a sitemap"))


class _EntryDraft(Struct):
    """An entry while it is being read."""

    said: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)

    def take(self, path: str, text: str) -> None:
        if path == "image/loc":
            if len(self.images) < MAX_IMAGES:
                self.images.append(text)
        else:
            self.said.setdefault(path, text)

    def entry(self) -> SitemapEntry | None:
        said, url = self.said, self.said.get("loc", "")
        if not url:
            return None
        headline, published = said.get("news/title", ""), said.get("news/publication_date", "")
        modified, frequency = said.get("lastmod", ""), said.get("changefreq", "")
        return SitemapEntry(url, modified, published, headline, tuple(self.images), frequency)


class _SitemapReader:
    def __init__(self) -> None:
        self._entries: list[SitemapEntry] = []
        self._path: list[str] = []
        self._draft: _EntryDraft | None = None
        self._text: list[str] | None = None
        self._root = ""

    def read(self, text: bytes | str, problem: str) -> Entries:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            problem = problem or f"it is not well formed: {expat.errors.messages.get(error.code, 'error')}"
        except _Stop as stop:
            problem = problem or str(stop)
        except (ValueError, LookupError):  # expat asks Python for unknown encodings
            problem = problem or "its encoding is not known"
        if not problem and self._root not in _ENTRY:
            problem = "it is not a sitemap"
        return Entries(tuple(self._entries), self._root == "sitemapindex", problem)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self._root = self._root or local
        self._path.append(local)
        if len(self._path) > MAX_DEPTH:
            raise _Stop("it is nested too deeply")
        if len(self._path) == 2 and local == _ENTRY.get(self._root):
            self._draft = _EntryDraft()
        elif self._draft is not None and "/".join(self._path[2:]) in _READ_PATHS:
            self._text = []

    def _end(self, name: str) -> None:
        if self._draft is not None and self._text is not None:
            self._draft.take("/".join(self._path[2:]), "".join(self._text).strip()[:MAX_VALUE_CHARS])
            self._text = None
        elif self._draft is not None and len(self._path) == 2:
            self._finish(self._draft)
            self._draft = None
        self._path.pop()

    def _finish(self, draft: _EntryDraft) -> None:
        entry = draft.entry()
        if entry is None:
            return
        if len(self._entries) >= MAX_SITEMAP_ENTRIES:
            raise _Stop("it has more than 50,000 entries")
        self._entries.append(entry)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse(self, *_: object) -> None:
        raise _Stop("it has a DOCTYPE")
