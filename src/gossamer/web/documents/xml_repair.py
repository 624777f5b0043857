"""Repair XML of feeds and sitemaps, as it stands on the web.

Only mistakes with one meaning are repaired. A DOCTYPE that declares entities stays, so readers refuse it.
"""

import codecs
import re
from html import entities
from typing import Final

from gossamer.web.html.charset import charset_of, decode

_AMPERSAND: Final = re.compile(r"&(?!#\d{1,7};|#x[0-9A-Fa-f]{1,6};|(?:amp|lt|gt|quot|apos);)(?:(\w{2,32});)?")
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BEGINNING: Final = re.compile(
    r"<(?:\?xml\s|!DOCTYPE\s|(?:\w{1,20}:)?(?:rss|feed|rdf|urlset|sitemapindex)[\s>])", re.I
)
_DOCTYPE: Final = re.compile(r"<!DOCTYPE[^<>\[]{0,500}>", re.I)
_CDATA: Final = re.compile(r"(<!\[CDATA\[.*?\]\]>)", re.DOTALL)
_MAX_JUNK_CHARS: Final = 20_000  # before the document


def to_text(body: bytes) -> str:
    """Decode XML, also UTF-16 without a byte order mark."""
    if body.startswith((b"<\x00", b"\x00<")):
        return body.decode("utf-16-le" if body.startswith(b"<") else "utf-16-be", "replace")
    return decode(body, charset_of(body, ""))


def is_wide(body: bytes) -> bool:
    """Whether a body is in UTF-16."""
    return body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\x00", b"\x00<"))


def without_doctype(text: str) -> str:
    """Remove a DOCTYPE that declares nothing itself, as RSS 0.91 has one."""
    return _DOCTYPE.sub("", text, count=1) if "<!" in text[:_MAX_JUNK_CHARS] else text


def repair_xml(text: str) -> str:
    """Remove what stands before the document, control characters and a DOCTYPE without declarations; escape
    stray ampersands, and replace the entities of HTML."""
    text = _NOT_XML.sub("", text)
    begins = _BEGINNING.search(text, 0, _MAX_JUNK_CHARS)
    text = text[begins.start() if begins else max(0, text.find("<")) :]
    parts = _CDATA.split(without_doctype(text))
    parts[::2] = [_AMPERSAND.sub(_spell_out, part) for part in parts[::2]]
    return "".join(parts)


def _spell_out(match: re.Match[str]) -> str:
    known = entities.html5.get(f"{match[1]};") if match[1] else None
    return known or f"&amp;{match[0][1:]}"
