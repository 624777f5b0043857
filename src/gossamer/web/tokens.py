"""Tokens: about how many a language model makes of a text.

Every model cuts text in its own way, by a vocabulary of megabytes that another model does not share. So this
counts by rule: a word, a number or a run of signs is priced by its script and its length. The prices are set
so that ordinary English, code, tables and addresses come out at or up to a third above what o200k makes of
them, and most other languages about even. The same text always counts the same, and texts with empty lines
between them weigh what each weighs alone and `GAP` for each line, or less.
"""

import re
from typing import Final, NamedTuple

GAP: Final = 100  # hundredths of a token, like every weight here
_LOOKED_UP: Final = 64  # characters of a run whose price is in the table; each one more costs the same

_ACCENTED: Final = "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u1e00-\u1eff"
_EAST_ASIAN: Final = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_HANGUL: Final = "\u1100-\u11ff\uac00-\ud7af"
_EUROPEAN: Final = "\u0370-\u058f\u10a0-\u10ff"  # Greek, Cyrillic, Armenian, Georgian
_SEMITIC: Final = "\u0590-\u08ff"
_SOUTH_ASIAN: Final = "\u0900-\u0eff\u1000-\u109f\u1780-\u17ff"
_DEARER: Final = "\u0a00-\u0a7f\u0b00-\u0b7f"  # Gurmukhi and Odia, of which vocabularies know little
_SIGNS: Final = "\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u02b0-\u02ff\u2000-\u2bff"
_KNOWN: Final = f"{_ACCENTED}{_EAST_ASIAN}{_HANGUL}{_EUROPEAN}{_SEMITIC}{_SOUTH_ASIAN}{_SIGNS}"


class _Class(NamedTuple):
    """Runs of characters, and what one costs by its length."""

    pattern: re.Pattern[str]
    prices: list[int]
    rate: int


def _priced(pattern: str, first: int, free: int = 1, rate: int = 0, *, later: int | None = None) -> _Class:
    """`first` for the first `free` characters, `rate` for each one more, `later` for those beyond 16."""
    later = rate if later is None else later
    prices = [
        first + rate * max(0, min(length, 16) - free) + later * max(0, length - 16)
        for length in range(_LOOKED_UP + 1)
    ]
    return _Class(re.compile(pattern), prices, later)


_PLAIN: Final = (
    _priced(f"(?<![A-Za-z{_ACCENTED}])[A-Za-z]+(?![A-Za-z{_ACCENTED}])", 100, 5, 21, later=50),
    _priced(r"[a-z][A-Z]", 80, 2),  # within a word: it is cut there
    _priced(r"[A-Z]{4,}", 20, 4, 15),
    _priced(r"[0-9]+", 110, 3, 34),
    _priced(r"[0-9][A-Za-z]|[A-Za-z][0-9]", 20, 2),
    _priced(r"[!-/:-@\[-`{-~]+", 105, 1, 30),
    _priced(r"(?<![^\S\n])[^\S\n]*+\n\s*+| {2,}|\t+", GAP, _LOOKED_UP),
)
_CLASSES: Final = (
    *_PLAIN,
    _priced(f"(?<![A-Za-z{_ACCENTED}])[A-Za-z]*[{_ACCENTED}][A-Za-z{_ACCENTED}]*", 150, 2, 31, later=60),
    _priced(f"[{_EAST_ASIAN}]", 95),
    _priced(f"[{_HANGUL}]+", 100, 1, 50),
    _priced(f"[{_EUROPEAN}]+", 120, 3, 31),
    _priced(f"[{_SEMITIC}]+", 120, 2, 35),
    _priced(f"(?:(?![{_DEARER}])[{_SOUTH_ASIAN}])+", 120, 2, 42),
    _priced(f"[{_DEARER}]", 90),
    _priced(f"[{_SIGNS}]", 110),
    _priced(f"[^\x00-\x7f{_KNOWN}]", 200),
)


def count(text: str) -> int:
    return tokens_of(weight(text))


def tokens_of(weighed: int) -> int:
    return -(-weighed // 100)


def weight(text: str) -> int:
    """In hundredths of a token, so that it can be added up."""
    total = 0
    for pattern, prices, rate in _PLAIN if text.isascii() else _CLASSES:
        for length in map(len, pattern.findall(text)):
            if length <= _LOOKED_UP:
                total += prices[length]
            else:
                total += prices[_LOOKED_UP] + (length - _LOOKED_UP) * rate
    return total
