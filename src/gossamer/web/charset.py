"""Charsets as browsers see them: which one a body is in, and its text.

A byte order mark decides, then the HTTP header, then what the document says of itself, then whether it is
UTF-8, then the detector that Firefox uses. Labels mean what the WHATWG Encoding Standard says they mean
(`iso-8859-1` is windows-1252), and no input makes decoding fail.
"""

import codecs
import re
from functools import lru_cache
from typing import Final

import chardetng_py
import webencodings

DECLARED_WITHIN: Final = 2048  # bytes; the standard asks for 1,024, and pages exceed it
DETECTED_WITHIN: Final = 256 * 1024

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
PARAMETER: Final = re.compile(r"""charset\s*+=\s*+["']?+\s*+([^\s"';,]++)""", re.IGNORECASE)
META: Final = re.compile(rb"""<meta[^>]{0,1000}?charset\s*+=\s*+["']?+\s*+([^\s"'/>;,]++)""", re.IGNORECASE)
XML: Final = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,50})["']""")
COMMENT: Final = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)

# Where Python's codec of that name knows less than the standard's encoding.
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


def charset_of(body: bytes, content_type: str) -> str:
    """The standard's name of the encoding, in lower case."""
    return (
        _marked(body)
        or from_content_type(content_type)
        or _declared(body[:DECLARED_WITHIN])
        or _detected(body[:DETECTED_WITHIN])
    )


@lru_cache(maxsize=1024)  # most pages say one of a few things
def from_content_type(content_type: str) -> str | None:
    match = PARAMETER.search(content_type)
    return named(match[1]) if match else None


def named(label: str) -> str | None:
    """The encoding that a label means; None for one that means nothing, or nothing that is text."""
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in ("replacement", "x-user-defined"):
        return None
    return str(encoding.name)


def decode(body: bytes, charset: str) -> str:
    """The text; what is not valid becomes U+FFFD."""
    for mark, name in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    return body.decode(CODECS.get(charset, charset), "replace")


def _marked(body: bytes) -> str | None:
    return next((name for mark, name in MARKS if body.startswith(mark)), None)


def _declared(start: bytes) -> str | None:
    match = XML.search(start) or META.search(COMMENT.sub(b"", start) if b"<!--" in start else start)
    name = named(match[1].decode("latin-1")) if match else None
    # What could be read as ASCII cannot be UTF-16, whatever it says.
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _detected(sample: bytes) -> str:
    if sample.isascii() or _is_utf8(sample):
        return "utf-8"
    detector = chardetng_py.EncodingDetector()
    detector.feed(sample, last=True)
    return named(detector.guess(tld=None, allow_utf8=False)) or "windows-1252"


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which allows for a character cut at the end
    except UnicodeDecodeError:
        return False
    return True
