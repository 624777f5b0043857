"""Content kinds: find out what a body is, which may differ from its declared type.

This follows the MIME sniffing of the WHATWG, with two exceptions: HTML declared as plain text is HTML, and a
body that is clearly of another kind than declared is of that kind.
"""

import re
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit


class ContentKind(StrEnum):
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
    OFFICE = "office"  # DOCX, XLSX, PPTX, OpenDocument, EPUB
    BINARY = "binary"


READABLE: Final = frozenset(
    {
        ContentKind.HTML,
        ContentKind.JSON,
        ContentKind.XML,
        ContentKind.FEED,
        ContentKind.MARKDOWN,
        ContentKind.TABLE,
        ContentKind.TEXT,
        ContentKind.PDF,
        ContentKind.OFFICE,
    }
)
SNIFFED_BYTES: Final = 2048


def kind_of(media_type: str, body: bytes, path: str = "") -> ContentKind:
    """Return the kind of a body, by its declared type, its first bytes and, for text, its path."""
    head = body[:SNIFFED_BYTES]
    declared = _kind_declared(media_type, path)
    if _is_pdf(head):
        return ContentKind.PDF
    if not _is_text(head):
        if declared is ContentKind.OFFICE and head.startswith(_ZIP):
            return declared
        return _kind_by_signature(head) or _kind_of_binary(declared)
    return _kind_by_opening(head.lstrip(b"\xef\xbb\xbf\t\n\r\x0c "), declared)


_OPENS_HTML: Final = re.compile(rb"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+)?html[\s>]", re.I)


def is_html(media_type: str, body: bytes, url: str) -> bool:
    """Whether a body is HTML. Most are declared as such and begin as such, which is checked first."""
    if media_type == "text/html" and _OPENS_HTML.match(body):
        return True
    return kind_of(media_type, body, urlsplit(url).path) is ContentKind.HTML


_TYPES: Final = {
    "text/html": ContentKind.HTML,
    "application/xhtml+xml": ContentKind.HTML,
    "application/json": ContentKind.JSON,
    "text/json": ContentKind.JSON,
    "application/xml": ContentKind.XML,
    "text/xml": ContentKind.XML,
    "image/svg+xml": ContentKind.XML,
    "application/rss+xml": ContentKind.FEED,
    "application/atom+xml": ContentKind.FEED,
    "application/rdf+xml": ContentKind.FEED,
    "application/feed+json": ContentKind.JSON,
    "text/markdown": ContentKind.MARKDOWN,
    "text/x-markdown": ContentKind.MARKDOWN,
    "text/csv": ContentKind.TABLE,
    "application/csv": ContentKind.TABLE,
    "text/tab-separated-values": ContentKind.TABLE,
    "application/pdf": ContentKind.PDF,
    "application/x-pdf": ContentKind.PDF,
    "application/zip": ContentKind.ARCHIVE,
    "application/gzip": ContentKind.ARCHIVE,
    "application/x-gzip": ContentKind.ARCHIVE,
    "application/x-tar": ContentKind.ARCHIVE,
    "application/x-7z-compressed": ContentKind.ARCHIVE,
    "application/vnd.rar": ContentKind.ARCHIVE,
    "application/x-bzip2": ContentKind.ARCHIVE,
    "application/zstd": ContentKind.ARCHIVE,
    "application/java-archive": ContentKind.ARCHIVE,
    "application/epub+zip": ContentKind.OFFICE,
    "application/msword": ContentKind.OFFICE,
    "application/rtf": ContentKind.OFFICE,
}
_FAMILIES: Final = (
    ("image/", ContentKind.IMAGE),
    ("audio/", ContentKind.AUDIO),
    ("video/", ContentKind.VIDEO),
    ("font/", ContentKind.FONT),
    ("application/font", ContentKind.FONT),
    ("application/x-font", ContentKind.FONT),
    ("application/vnd.openxmlformats", ContentKind.OFFICE),
    ("application/vnd.oasis", ContentKind.OFFICE),
    ("application/vnd.ms-", ContentKind.OFFICE),
    ("text/", ContentKind.TEXT),
)
# Types that servers use for unknown content.
_VAGUE: Final = frozenset(
    {"", "text/plain", "application/octet-stream", "binary/octet-stream", "unknown/unknown"}
)
_ENDINGS: Final = {
    "md": ContentKind.MARKDOWN,
    "markdown": ContentKind.MARKDOWN,
    "csv": ContentKind.TABLE,
    "tsv": ContentKind.TABLE,
    "json": ContentKind.JSON,
    "xml": ContentKind.XML,
    "rss": ContentKind.FEED,
    "atom": ContentKind.FEED,
    **dict.fromkeys(("docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"), ContentKind.OFFICE),
}


def _kind_declared(media_type: str, path: str) -> ContentKind | None:
    """Return the declared kind; None if the declaration is missing or vague."""
    essence = media_type.partition(";")[0].strip().lower()
    if essence in _VAGUE:
        return _ENDINGS.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    if known := _TYPES.get(essence):
        return known
    if essence.endswith("+json"):
        return ContentKind.JSON
    if essence.endswith("+xml"):
        return ContentKind.XML
    return next((kind for start, kind in _FAMILIES if essence.startswith(start)), None)


_SIGNATURES: Final = (
    (b"\x89PNG\r\n", ContentKind.IMAGE),
    (b"\xff\xd8\xff", ContentKind.IMAGE),
    (b"GIF87a", ContentKind.IMAGE),
    (b"GIF89a", ContentKind.IMAGE),
    (b"\x00\x00\x01\x00", ContentKind.IMAGE),
    (b"II*\x00", ContentKind.IMAGE),
    (b"MM\x00*", ContentKind.IMAGE),
    (b"BM", ContentKind.IMAGE),
    (b"OggS", ContentKind.AUDIO),
    (b"ID3", ContentKind.AUDIO),
    (b"fLaC", ContentKind.AUDIO),
    (b"\xff\xfb", ContentKind.AUDIO),
    (b"\x1a\x45\xdf\xa3", ContentKind.VIDEO),
    (b"FLV\x01", ContentKind.VIDEO),
    (b"wOFF", ContentKind.FONT),
    (b"wOF2", ContentKind.FONT),
    (b"OTTO", ContentKind.FONT),
    (b"\x00\x01\x00\x00", ContentKind.FONT),
    (b"\x1f\x8b", ContentKind.ARCHIVE),
    (b"Rar!\x1a\x07", ContentKind.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", ContentKind.ARCHIVE),
    (b"BZh", ContentKind.ARCHIVE),
    (b"\xfd7zXZ\x00", ContentKind.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", ContentKind.ARCHIVE),
    (b"\xd0\xcf\x11\xe0", ContentKind.OFFICE),
)
_ZIP: Final = b"PK\x03\x04"
_CONTAINERS: Final = {b"WEBP": ContentKind.IMAGE, b"WAVE": ContentKind.AUDIO, b"AVI ": ContentKind.VIDEO}
_OFFICE_PARTS: Final = re.compile(
    rb"\[Content_Types\]\.xml|mimetypeapplication/(?:vnd\.oasis|epub)|(?:word|xl|ppt)/"
)


def _kind_by_signature(head: bytes) -> ContentKind | None:
    if head.startswith(b"RIFF"):
        return _CONTAINERS.get(head[8:12])
    if head[4:8] == b"ftyp":
        return ContentKind.IMAGE if head[8:12] in (b"avif", b"heic", b"mif1") else ContentKind.VIDEO
    if head.startswith(_ZIP):
        return ContentKind.OFFICE if _OFFICE_PARTS.search(head) else ContentKind.ARCHIVE
    if head[257:262] == b"ustar":
        return ContentKind.ARCHIVE
    return next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)


def _kind_of_binary(declared: ContentKind | None) -> ContentKind:
    """Return the kind of a binary body. HTML may have stray control characters; text may not."""
    if declared is None or declared in (
        ContentKind.TEXT,
        ContentKind.MARKDOWN,
        ContentKind.TABLE,
        ContentKind.JSON,
        ContentKind.PDF,
    ):
        return ContentKind.BINARY
    return declared


_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def _is_pdf(head: bytes) -> bool:
    """Look for the signature in the first kilobyte, because some servers put something before it."""
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


def _kind_by_opening(start: bytes, declared: ContentKind | None) -> ContentKind:
    prolog = _PROLOG.match(start)
    root = start[prolog.end() if prolog else 0 :]
    if _HTML.match(root):
        return ContentKind.HTML
    if _FEED.match(root):
        return ContentKind.FEED
    if start.startswith(b"<?xml") or (
        declared in (ContentKind.XML, ContentKind.FEED) and _ELEMENT.match(root)
    ):
        return (
            ContentKind.HTML if declared is ContentKind.HTML and not _ELEMENT.match(root) else ContentKind.XML
        )
    if declared in (None, ContentKind.HTML) and _looks_like_json(start):
        return ContentKind.JSON
    if declared is None and _HTML_PART.match(root):
        return ContentKind.HTML
    return _kind_of_text(declared)


_JSON: Final = re.compile(
    rb"\{\s*+(?:\"(?:[^\"\\]|\\.){0,500}+\"\s*+:|\})|\[\s*+(?:[\[{\"\d\]-]|true|false|null)"
)


def _looks_like_json(start: bytes) -> bool:
    return _JSON.match(start) is not None


def _kind_of_text(declared: ContentKind | None) -> ContentKind:
    if declared is None or declared in (
        ContentKind.BINARY,
        ContentKind.PDF,
        ContentKind.ARCHIVE,
        ContentKind.FEED,
    ):
        return ContentKind.TEXT
    return declared
