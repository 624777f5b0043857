"""Grounding: whether a page says what somebody claims that it says."""

import re
from functools import cached_property
from typing import Any, Final

from gossamer.web.dates import iso_date
from gossamer.web.structured.numbers import LONGEST, NUMBER, number
from gossamer.web.structured.wanted import Wanted

MOST_NUMBERS: Final = 50_000
_MARKS: Final = re.compile(r"[\W_]+")


class Ground:
    """The text of one page, to hold claims against."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, claim: str) -> bool:
        """Whether these words stand there one after the other, whatever stands between them."""
        words = _normal(claim).strip()
        return bool(words) and f" {words} " in self._words

    def bears(self, value: Any, wanted: Wanted, quote: str) -> bool:
        """Whether a single value is on the page, or follows from a passage that is."""
        quoted = self.says(quote)
        if isinstance(value, bool) or wanted.choices or wanted.derived:
            return quoted
        if isinstance(value, int | float):
            return float(value) in self._numbers or (quoted and number(quote[:LONGEST]) == value)
        if wanted.format in ("date", "date-time"):
            return self.says(value) or (quoted and (iso_date(quote, earliest=1) or "")[:10] == value[:10])
        if wanted.format in ("uri", "url", "iri"):
            return str(value) in self._text
        return self.says(str(value))

    @cached_property
    def _words(self) -> str:
        return f" {_normal(self._text)} "

    @cached_property
    def _numbers(self) -> frozenset[float]:
        found: set[float] = set()
        for place, match in enumerate(NUMBER.finditer(self._text)):
            if place > MOST_NUMBERS:
                break
            piece = match[0][:LONGEST]
            values = [number(piece, comma=comma) for comma in (False, True)]
            found |= {float(one) for one in values if one is not None}
        return frozenset(found)


def _normal(text: str) -> str:
    return _MARKS.sub(" ", text.casefold())
