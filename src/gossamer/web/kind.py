"""The kind of a body: what it is, which is not always what its target says.

After the WHATWG's MIME sniffing, with two liberties: HTML that is declared as plain text is HTML, and a body
that is plainly of another kind than declared is of the other kind.
"""

import re
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit


class Kind(StrEnum):
    HTML = "html"
    JSON = "json"
    XML = "xml"
    FEED = "feed"  # RSS, Atom; a JSON feed is JSON until it is read
    MARKDOWN = "markdown"
    TABLE = "table"  # CSV, TSV
    TEXT = "text"
    PDF = "pdf"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FONT = "font"
    ARCHIVE = "archive"
    OFFICE = "office"
    BINARY = "binary"


READABLE: Final = frozenset(
    {Kind.HTML, Kind.JSON, Kind.XML, Kind.FEED, Kind.MARKDOWN, Kind.TABLE, Kind.TEXT, Kind.PDF}
)
HEAD: Final = 2048  # bytes that are looked at


def kind_of(media_type: str, body: bytes, path: str = "") -> Kind:
    """What `body` is, given its declared type and, for what text looks like, the path it was found at."""
    head = body[:HEAD]
    declared = _declared(media_type, path)
    if _is_pdf(head):
        return Kind.PDF
    if not _is_text(head):
        return _by_signature(head) or _when_binary(declared)
    return _by_opening(head.lstrip(b"\xef\xbb\xbf\t\n\r\x0c "), declared)


_OPENS_HTML: Final = re.compile(rb"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+)?html[\s>]", re.I)


def is_html(media_type: str, body: bytes, url: str) -> bool:
    """Whether it is that, which most bodies say in both ways."""
    if media_type == "text/html" and _OPENS_HTML.match(body):
        return True
    return kind_of(media_type, body, urlsplit(url).path) is Kind.HTML


_TYPES: Final = {
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "application/json": Kind.JSON,
    "text/json": Kind.JSON,
    "application/xml": Kind.XML,
    "text/xml": Kind.XML,
    "image/svg+xml": Kind.XML,
    "application/rss+xml": Kind.FEED,
    "application/atom+xml": Kind.FEED,
    "application/rdf+xml": Kind.FEED,
    "application/feed+json": Kind.JSON,
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
    "text/csv": Kind.TABLE,
    "application/csv": Kind.TABLE,
    "text/tab-separated-values": Kind.TABLE,
    "application/pdf": Kind.PDF,
    "application/x-pdf": Kind.PDF,
    "application/zip": Kind.ARCHIVE,
    "application/gzip": Kind.ARCHIVE,
    "application/x-gzip": Kind.ARCHIVE,
    "application/x-tar": Kind.ARCHIVE,
    "application/x-7z-compressed": Kind.ARCHIVE,
    "application/vnd.rar": Kind.ARCHIVE,
    "application/x-bzip2": Kind.ARCHIVE,
    "application/zstd": Kind.ARCHIVE,
    "application/java-archive": Kind.ARCHIVE,
    "application/epub+zip": Kind.OFFICE,
    "application/msword": Kind.OFFICE,
    "application/rtf": Kind.OFFICE,
}
_FAMILIES: Final = (
    ("image/", Kind.IMAGE),
    ("audio/", Kind.AUDIO),
    ("video/", Kind.VIDEO),
    ("font/", Kind.FONT),
    ("application/font", Kind.FONT),
    ("application/x-font", Kind.FONT),
    ("application/vnd.openxmlformats", Kind.OFFICE),
    ("application/vnd.oasis", Kind.OFFICE),
    ("application/vnd.ms-", Kind.OFFICE),
    ("text/", Kind.TEXT),
)
# Types that say nothing, or that servers give to whatever they do not know.
_VAGUE: Final = frozenset(
    {"", "text/plain", "application/octet-stream", "binary/octet-stream", "unknown/unknown"}
)
_ENDINGS: Final = {
    "md": Kind.MARKDOWN,
    "markdown": Kind.MARKDOWN,
    "csv": Kind.TABLE,
    "tsv": Kind.TABLE,
    "json": Kind.JSON,
    "xml": Kind.XML,
    "rss": Kind.FEED,
    "atom": Kind.FEED,
}


def _declared(media_type: str, path: str) -> Kind | None:
    """None: nothing was said, or nothing that is worth anything."""
    essence = media_type.partition(";")[0].strip().lower()
    if essence in _VAGUE:
        return _ENDINGS.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    if known := _TYPES.get(essence):
        return known
    if essence.endswith("+json"):
        return Kind.JSON
    if essence.endswith("+xml"):
        return Kind.XML
    return next((kind for start, kind in _FAMILIES if essence.startswith(start)), None)


_SIGNATURES: Final = (
    (b"\x89PNG\r\n", Kind.IMAGE),
    (b"\xff\xd8\xff", Kind.IMAGE),
    (b"GIF87a", Kind.IMAGE),
    (b"GIF89a", Kind.IMAGE),
    (b"\x00\x00\x01\x00", Kind.IMAGE),
    (b"II*\x00", Kind.IMAGE),
    (b"MM\x00*", Kind.IMAGE),
    (b"BM", Kind.IMAGE),
    (b"OggS", Kind.AUDIO),
    (b"ID3", Kind.AUDIO),
    (b"fLaC", Kind.AUDIO),
    (b"\xff\xfb", Kind.AUDIO),
    (b"\x1a\x45\xdf\xa3", Kind.VIDEO),
    (b"FLV\x01", Kind.VIDEO),
    (b"wOFF", Kind.FONT),
    (b"wOF2", Kind.FONT),
    (b"OTTO", Kind.FONT),
    (b"\x00\x01\x00\x00", Kind.FONT),
    (b"\x1f\x8b", Kind.ARCHIVE),
    (b"Rar!\x1a\x07", Kind.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", Kind.ARCHIVE),
    (b"BZh", Kind.ARCHIVE),
    (b"\xfd7zXZ\x00", Kind.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Kind.ARCHIVE),
    (b"\xd0\xcf\x11\xe0", Kind.OFFICE),
)
_CONTAINERS: Final = {b"WEBP": Kind.IMAGE, b"WAVE": Kind.AUDIO, b"AVI ": Kind.VIDEO}
_OFFICE_PARTS: Final = re.compile(
    rb"\[Content_Types\]\.xml|mimetypeapplication/(?:vnd\.oasis|epub)|(?:word|xl|ppt)/"
)


def _by_signature(head: bytes) -> Kind | None:
    if head.startswith(b"RIFF"):
        return _CONTAINERS.get(head[8:12])
    if head[4:8] == b"ftyp":
        return Kind.IMAGE if head[8:12] in (b"avif", b"heic", b"mif1") else Kind.VIDEO
    if head.startswith(b"PK\x03\x04"):
        return Kind.OFFICE if _OFFICE_PARTS.search(head) else Kind.ARCHIVE
    if head[257:262] == b"ustar":
        return Kind.ARCHIVE
    return next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)


def _when_binary(declared: Kind | None) -> Kind:
    """A page with stray control characters is still a page; text with them is not text."""
    if declared is None or declared in (Kind.TEXT, Kind.MARKDOWN, Kind.TABLE, Kind.JSON, Kind.PDF):
        return Kind.BINARY
    return declared


_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def _is_pdf(head: bytes) -> bool:
    """Readers look for the mark in the first kilobyte; a careless server may have put something before it."""
    at = head.find(b"%PDF-", 0, 1024)
    if at <= 0:
        return at == 0
    return not head.lstrip().startswith((b"<", b"{", b"[")) and _CONTROL.search(head) is not None


def _is_text(head: bytes) -> bool:
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or not _CONTROL.search(head)


_PROLOG: Final = re.compile(rb"(?:<\?[^>]{0,500}>|<!--(?:[^-]|-(?!->)){0,1500}-->|\s)*+")
_HTML: Final = re.compile(rb"<!doctype\s+html|<(?:html|head|body)[\s>]", re.IGNORECASE)
_HTML_PART: Final = re.compile(
    rb"<(?:script|iframe|h1|div|font|table|a|style|title|b|br|p|meta|main|article|section|ul|link)[\s/>]",
    re.IGNORECASE,
)
_FEED: Final = re.compile(rb"<(?:rss|(?:\w{1,20}:)?feed|rdf:rdf)[\s>]", re.IGNORECASE)
_ELEMENT: Final = re.compile(rb"<(?:[A-Za-z_][\w.:-]*[\s/>]|!doctype\s)", re.IGNORECASE)


def _by_opening(start: bytes, declared: Kind | None) -> Kind:
    prolog = _PROLOG.match(start)
    root = start[prolog.end() if prolog else 0 :]
    if _HTML.match(root):
        return Kind.HTML
    if _FEED.match(root):
        return Kind.FEED
    if start.startswith(b"<?xml") or (declared in (Kind.XML, Kind.FEED) and _ELEMENT.match(root)):
        return Kind.HTML if declared is Kind.HTML and not _ELEMENT.match(root) else Kind.XML
    if declared in (None, Kind.HTML) and _looks_like_json(start):
        return Kind.JSON
    if declared is None and _HTML_PART.match(root):
        return Kind.HTML
    return _when_text(declared)


_JSON: Final = re.compile(
    rb"\{\s*+(?:\"(?:[^\"\\]|\\.){0,500}+\"\s*+:|\})|\[\s*+(?:[\[{\"\d\]-]|true|false|null)"
)


def _looks_like_json(start: bytes) -> bool:
    return _JSON.match(start) is not None


def _when_text(declared: Kind | None) -> Kind:
    if declared is None or declared in (Kind.BINARY, Kind.PDF, Kind.ARCHIVE, Kind.FEED):
        return Kind.TEXT
    return declared
