"""Writes an HTML document in ASCII alone: it reads the same, in whatever pieces it arrives.

Other characters become numeric references in text and attributes. In scripts, JSON-LD and style sheets,
where references mean nothing, they become escapes of the language.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

PIECE_CHARS: Final = 50_000  # at a time, so that other threads get their turns
_RAW: Final = re.compile(r"<!--|<(script|style)(?:[ \t\n\f\r/][^>]*+)?(?:>|\Z)", re.IGNORECASE)
_END_OF: Final = {
    "": re.compile("-->"),
    "script": re.compile(r"</script[ \t\n\f\r/>]", re.IGNORECASE),
    "style": re.compile(r"</style[ \t\n\f\r/>]", re.IGNORECASE),
}
_TYPE: Final = re.compile(r"""\stype\s*=\s*["']?\s*([^"'\s>;]*)""", re.IGNORECASE)
_SCRIPT_TYPES: Final = re.compile(
    r"|module|importmap|speculationrules|.*(?:javascript|ecmascript|json)", re.I
)
# References to these mean other characters, for compatibility with Windows; and they show nothing.
_CONTROLS: Final = re.compile(r"[\x80-\x9f]+")

Write = Callable[[str], str]


def to_ascii(html: str) -> str:
    return html if html.isascii() else "".join(_write(html))


def _write(html: str) -> Iterator[str]:
    at = 0
    while (raw := _RAW.search(html, at)) is not None:
        yield from _by_pieces(html, at, raw.end(), _refer)
        found = _END_OF[(raw[1] or "").lower()].search(html, raw.end())
        at = found.start() if found else len(html)
        yield from _by_pieces(html, raw.end(), at, _language(raw))
    yield from _by_pieces(html, at, len(html), _refer)


def _by_pieces(html: str, start: int, end: int, write: Write) -> Iterator[str]:
    for at in range(start, end, PIECE_CHARS):
        piece = html[at : min(at + PIECE_CHARS, end)]
        yield piece if piece.isascii() else write(piece)


def _language(tag: re.Match[str]) -> Write:
    """How characters are written between this tag and its end. In comments nobody reads them."""
    if tag[1] is None:
        return _refer
    if tag[1].lower() == "style":
        return _escape_in_css
    kind = _TYPE.search(tag[0])
    return _escape_in_script if _SCRIPT_TYPES.fullmatch(kind[1] if kind else "") else _refer


def _refer(text: str) -> str:
    return _CONTROLS.sub("", text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _escape_in_css(text: str) -> str:
    return _escape(text, lambda letter: f"\\{ord(letter):x} ")  # the space ends it


def _escape_in_script(text: str) -> str:
    return _escape(text, _escape_unit)


def _escape(text: str, write: Write) -> str:
    return text.translate({ord(letter): write(letter) for letter in set(text) if not letter.isascii()})


def _escape_unit(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
