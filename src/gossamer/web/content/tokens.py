"""Tokens: about how many a language model makes of a text.

Every model splits text in its own way, by a vocabulary of megabytes that no other model shares. So tokens are
counted by rule: a word, a number or a run of signs is priced by its script and its length. The prices are set
by `scripts/bench tokens`, so that most texts come near the median of what the vocabularies of current models
make of them; docs/performance.md says how near. The same text always has the same count. The weight of texts
that are joined by empty lines is at most the sum of their weights and one `GAP` for each empty line.
"""

import re
from typing import Final, NamedTuple

GAP: Final = 100  # hundredths of a token, like every weight here
MAX_TOKENS_PER_CHAR: Final = 2
_PRICED_CHARS: Final = 64  # lengths with a price in the table; each further character costs the same
_SAMPLES: Final = 16  # parts of a text that its estimate is made from,
_SAMPLE_CHARS: Final = 512  # and the length of each

_ACCENTED: Final = "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u1e00-\u1eff"
_EAST_ASIAN: Final = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_KANA: Final = "\u3040-\u30ff"
_HANGUL: Final = "\u1100-\u11ff\uac00-\ud7af"
_GREEK: Final = "\u0370-\u03ff"
_EUROPEAN: Final = "\u0400-\u058f\u10a0-\u10ff"  # Cyrillic, Armenian, Georgian
_SEMITIC: Final = "\u0590-\u08ff"
_SOUTH_ASIAN: Final = "\u0900-\u0eff\u1000-\u109f\u1780-\u17ff"
_COSTLY: Final = "\u0a00-\u0a7f\u0b00-\u0b7f"  # Gurmukhi and Odia, of which vocabularies know little
_PUNCTUATION: Final = r"!-/:-@\[-`{-~"  # of ASCII
_SIGNS: Final = "\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u02b0-\u02ff\u2000-\u2bff"
_KNOWN: Final = f"{_ACCENTED}{_EAST_ASIAN}{_HANGUL}{_GREEK}{_EUROPEAN}{_SEMITIC}{_SOUTH_ASIAN}{_SIGNS}"


class _CharClass(NamedTuple):
    """A class of character runs, with the price of a run by its length."""

    pattern: re.Pattern[str]
    prices: list[int]  # by length
    rate: int  # of each character beyond these lengths


def _price(pattern: str, first: int, free: int = 1, rate: int = 0, *, later: int | None = None) -> _CharClass:
    """Price a run: `first` for `free` characters, `rate` for each further one, `later` beyond 16."""
    later = rate if later is None else later
    prices = [
        first + rate * max(0, min(length, 16) - free) + later * max(0, length - 16)
        for length in range(_PRICED_CHARS + 1)
    ]
    return _CharClass(re.compile(pattern), prices, later)


# Every text has these.
_ASCII: Final = (
    _price(f"(?<![A-Za-z{_ACCENTED}])[A-Za-z]+(?![A-Za-z{_ACCENTED}])", 100, 6, 19, later=50),
    _price(r"[a-z][A-Z]", 80, 2),  # within a word: it is cut there
    _price(r"[A-Z]{4,}", 20, 4, 15),
    _price(r"[0-9]+", 110, 3, 34),
    _price(r"[0-9][A-Za-z]|[A-Za-z][0-9]", 20, 2),
    _price(f"(?<![A-Za-z])[{_PUNCTUATION}]++|[{_PUNCTUATION}](?![A-Za-z])[{_PUNCTUATION}]*+", 105, 1, 30),
    _price(f"(?<=[A-Za-z])[{_PUNCTUATION}](?=[A-Za-z])", 55),  # often one token with the word after it
    # The end of a line is one token with the sign before it, unless the next line is indented.
    _price(
        f"(?<![^\\S\n{_PUNCTUATION}])[^\\S\n]*+\n\\s*+|(?<=[{_PUNCTUATION}])\n++[ \t]++| {{2,}}|\t+",
        GAP,
        _PRICED_CHARS,
    ),
)
_ACCENTED_WORDS: Final = _price(
    f"(?<![A-Za-z{_ACCENTED}])[A-Za-z]*[{_ACCENTED}][A-Za-z{_ACCENTED}]*", 150, 2, 31, later=60
)
# Runs without an ASCII character, so they are looked for in the other characters alone.
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]+")
_OTHERS: Final = (
    _price(f"(?:(?![{_KANA}])[{_EAST_ASIAN}])", 88),
    _price(f"[{_KANA}]", 72),
    _price(f"[{_HANGUL}]+", 100, 1, 50),
    _price(f"[{_GREEK}]+", 120, 3, 34),
    _price(f"[{_EUROPEAN}]+", 115, 3, 29),
    _price(f"[{_SEMITIC}]+", 115, 2, 33),
    _price(f"(?:(?![{_COSTLY}])[{_SOUTH_ASIAN}])+", 120, 2, 42),
    _price(f"[{_COSTLY}]", 90),
    _price(f"[{_SIGNS}]", 110),
    _price(f"[^\x00-\x7f{_KNOWN}]", 200),
)


def count(text: str) -> int:
    return to_tokens(weigh(text))


def estimate(text: str) -> int:
    """Count the tokens of a text; of a long one, of evenly spaced samples of it."""
    if len(text) <= _SAMPLES * _SAMPLE_CHARS:
        return count(text)
    step = len(text) // _SAMPLES
    samples = [text[at * step : at * step + _SAMPLE_CHARS] for at in range(_SAMPLES)]
    return to_tokens(sum(map(weigh, samples)) * len(text) // (_SAMPLES * _SAMPLE_CHARS))


def to_tokens(weight: int) -> int:
    return -(-weight // 100)


def weigh(text: str) -> int:
    """Weigh a text in hundredths of a token, so that weights can be added up."""
    total = 0
    for one in _ASCII:
        total += _weigh_runs(text, one)
    if text.isascii():
        return total
    total += _weigh_runs(text, _ACCENTED_WORDS)
    others = " ".join(_NOT_ASCII.findall(text))
    for one in _OTHERS:
        total += _weigh_runs(others, one)
    return total


def _weigh_runs(text: str, runs: _CharClass) -> int:
    found = runs.pattern.findall(text)
    try:
        return sum(map(runs.prices.__getitem__, map(len, found)))
    except IndexError:  # a run that is longer than the table
        over = [max(0, len(run) - _PRICED_CHARS) for run in found]
        return sum(
            runs.prices[len(run) - more] + more * runs.rate for run, more in zip(found, over, strict=True)
        )
