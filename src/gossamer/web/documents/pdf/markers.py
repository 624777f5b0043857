"""Markers: the bullets and numbers that begin the items of a list."""

import re
from typing import Final

import msgspec

_BULLETS: Final = "•‣▪●◦∙·○■□▸►➢➤✓\u2043\uf0b7\uf0a7\uf076\uf0d8"
_MARKER: Final = re.compile(
    rf"(?P<bullet>[{_BULLETS}])(?: +|$)|(?P<dash>[-\u2013\u2014*])(?: +|$)"
    r"|(?P<number>\(?(?P<digits>\d{1,3})[.)])(?: +|$)"
    r"|(?P<letter>\(?(?:[a-z]|[ivx]{1,5})[.)]|\(?[A-Z]\))(?: +|$)"
)
_LINE_BULLET: Final = re.compile(rf"^[ \t]*[{_BULLETS}][ \t]*", re.MULTILINE)


class Marked(msgspec.Struct):
    marker: str  # as Markdown writes it
    text: str
    is_sure: bool  # a bullet; a dash or a number may also begin a line of prose


def is_marker(text: str) -> bool:
    found = _MARKER.match(text)
    return found is not None and found.end() == len(text)


def split_marker(text: str) -> Marked | None:
    found = _MARKER.match(text)
    if found is None:
        return None
    rest = text[found.end() :]
    if found["digits"]:
        return Marked(f"{int(found['digits'])}.", rest, is_sure=False)
    if found["letter"]:  # Markdown counts with numbers only
        return Marked("-", text, is_sure=False)
    return Marked("-", rest, is_sure=bool(found["bullet"]))


def write_bullets(text: str) -> str:
    """Write the bullets at the beginnings of lines as Markdown does."""
    return _LINE_BULLET.sub("- ", text)
