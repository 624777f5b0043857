"""Charsets: find the encoding of a body as browsers do, and decode it.

A byte order mark comes first, then the HTTP header, then the declaration in the document. After these, the
body is checked for UTF-8, and last comes the detector of Firefox. Labels have the meaning that the WHATWG
Encoding Standard gives them (`iso-8859-1` is windows-1252), and no input makes decoding fail.
"""

import codecs
import re
from functools import lru_cache
from typing import Final

import webencodings

MAX_DECLARATION_BYTES: Final = 2048  # the standard asks for 1,024, and pages exceed it
MAX_SAMPLE_BYTES: Final = 256 * 1024
MAX_DETECTION_BYTES: Final = 32 * 1024  # from the first non-ASCII byte on; each may take a microsecond

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
PARAMETER: Final = re.compile(r"""charset\s*+=\s*+["']?+\s*+([^\s"';,]++)""", re.IGNORECASE)
META: Final = re.compile(rb"""<meta[^>]{0,1000}?charset\s*+=\s*+["']?+\s*+([^\s"'/>;,]++)""", re.IGNORECASE)
XML: Final = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,50})["']""")
SHIFTS: Final = re.compile(rb"\x1b(?:\$[@B]|\([JI])")  # into the characters of ISO-2022-JP
NOT_ASCII: Final = re.compile(rb"[\x80-\xff]")
COMMENT: Final = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)

# Python's codec of the same name knows less than the standard's encoding.
CODECS: Final = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
SINGLE_BYTE_PREFIXES: Final = ("windows-", "iso-8859-", "koi8-", "ibm866", "macintosh", "x-mac-")


def charset_of(body: bytes, content_type: str) -> str:
    """Return the standard's name of the encoding, in lower case."""
    return (
        _from_byte_order_mark(body)
        or from_content_type(content_type)
        or _from_declaration(body[:MAX_DECLARATION_BYTES])
        or _detect(body[:MAX_SAMPLE_BYTES])
    )


@lru_cache(maxsize=1024)  # most pages have one of a few values
def from_content_type(content_type: str) -> str | None:
    match = PARAMETER.search(content_type)
    return encoding_named(match[1]) if match else None


def encoding_named(label: str) -> str | None:
    """Return the encoding of a label; None if it is unknown or not an encoding of text."""
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in ("replacement", "x-user-defined"):
        return None
    return str(encoding.name)


def decode(body: bytes, charset: str) -> str:
    """Decode a body; invalid bytes become U+FFFD."""
    for mark, name in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    codec = CODECS.get(charset, charset)
    if charset.startswith(SINGLE_BYTE_PREFIXES):
        return codecs.charmap_decode(body, "strict", _characters(codec))[0]
    return body.decode(codec, "replace")


@lru_cache(maxsize=64)
def _characters(codec: str) -> str:
    """Return the character of each byte. A complete table decodes a body of undefined bytes a hundred times
    faster."""
    return "".join(bytes([byte]).decode(codec, "replace") for byte in range(256))


def _from_byte_order_mark(body: bytes) -> str | None:
    return next((name for mark, name in BYTE_ORDER_MARKS if body.startswith(mark)), None)


def _from_declaration(start: bytes) -> str | None:
    match = XML.search(start) or META.search(COMMENT.sub(b"", start) if b"<!--" in start else start)
    name = encoding_named(match[1].decode("latin-1")) if match else None
    # A declaration that can be read as ASCII is never in UTF-16.
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _detect(sample: bytes) -> str:
    if sample.isascii():
        return "iso-2022-jp" if SHIFTS.search(sample) else "utf-8"
    if _is_utf8(sample):
        return "utf-8"
    start = NOT_ASCII.search(sample)
    import chardetng_py  # few pages do not say what they are encoded in

    detector = chardetng_py.EncodingDetector()
    detector.feed(sample[start.start() : start.start() + MAX_DETECTION_BYTES] if start else sample, last=True)
    return encoding_named(detector.guess(tld=None, allow_utf8=False)) or "windows-1252"


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # accepts a character cut at the end
    except UnicodeDecodeError:
        return False
    return True
