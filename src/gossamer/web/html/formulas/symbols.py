"""Symbols: characters of formulas as TeX commands."""

import unicodedata
from functools import lru_cache
from typing import Final

from gossamer.web.html.vocabulary import read_sections, tags

_TABLE: Final = read_sections("gossamer.web.html.formulas", "symbols.txt")


def _pairs(section: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in _TABLE[section])


def _words(section: str) -> frozenset[str]:
    return tags(" ".join(_TABLE[section]))


_INVISIBLE: Final = dict.fromkeys("\u2061\u2062\u2063\u2064", "")  # operators that only tell the meaning
_COMMANDS: Final = _pairs("commands") | _INVISIBLE | {"#": r"\#", "\\": r"\backslash"}
_LIKE_LATIN: Final = _pairs("latin")
_RELATIONS: Final = _words("relations")
FUNCTIONS: Final = _words("functions")
BIG: Final = _words("big")
ACCENTS: Final = _pairs("accents")
_SHAPES: Final = (
    ("DOUBLE-STRUCK", "mathbb"),
    ("FRAKTUR", "mathfrak"),
    ("BLACK-LETTER", "mathfrak"),
    ("SCRIPT", "mathcal"),
    ("SANS-SERIF", "mathsf"),
    ("MONOSPACE", "mathtt"),
    ("BOLD", "mathbf"),
)


@lru_cache(maxsize=2048)
def symbol(sign: str) -> str:
    """Return one character as TeX."""
    if sign.isascii() and sign not in _COMMANDS:
        return sign
    if (command := _COMMANDS.get(sign)) is not None:
        return command
    name = unicodedata.name(sign, "")
    plain = unicodedata.normalize("NFKC", sign)
    shape = next((shape for word, shape in _SHAPES if word in name), "")
    if shape and plain != sign and len(plain) == 1:
        return rf"\{shape}{{{symbol(plain)}}}"
    if name.startswith(("GREEK SMALL LETTER ", "GREEK CAPITAL LETTER ")) and name.count(" ") == 3:
        command = name.rpartition(" ")[2].lower().replace("lamda", "lambda")
        return _LIKE_LATIN.get(sign) or "\\" + (command.capitalize() if "CAPITAL" in name else command)
    if plain != sign and len(plain) == 1:
        return symbol(plain)
    return sign


def is_relation(text: str) -> bool:
    """Whether an operator stands between two others, with room around it."""
    return text in _RELATIONS
