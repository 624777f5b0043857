"""Grounding: check that a page contains what a model claims it says."""

import re
from functools import cached_property
from typing import Any, Final

from gossamer.web.extract.schema.numbers import MAX_NUMBER_CHARS, NUMBER, number
from gossamer.web.extract.value_spec import ValueSpec
from gossamer.web.html.dates import iso_date

MAX_NUMBERS: Final = 50_000
_MARKS: Final = re.compile(r"[\W_]+")


class Ground:
    """The text of one page, against which claims are checked."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, claim: str) -> bool:
        """Whether the text has these words in this order, ignoring punctuation."""
        words = _normal(claim).strip()
        return bool(words) and f" {words} " in self._words

    def supports(self, value: Any, spec: ValueSpec, quote: str) -> bool:
        """Whether the page contains a single value, or a quote from which it follows."""
        quoted = self.says(quote)
        if isinstance(value, bool) or spec.choices or spec.derived:
            return quoted
        if isinstance(value, int | float):
            return float(value) in self._numbers or (quoted and number(quote[:MAX_NUMBER_CHARS]) == value)
        if spec.format in ("date", "date-time"):
            return self.says(value) or (quoted and (iso_date(quote, earliest=1) or "")[:10] == value[:10])
        if spec.format in ("uri", "url", "iri"):
            return str(value) in self._text
        return self.says(str(value))

    @cached_property
    def _words(self) -> str:
        return f" {_normal(self._text)} "

    @cached_property
    def _numbers(self) -> frozenset[float]:
        found: set[float] = set()
        for place, match in enumerate(NUMBER.finditer(self._text)):
            if place > MAX_NUMBERS:
                break
            piece = match[0][:MAX_NUMBER_CHARS]
            values = [number(piece, comma=comma) for comma in (False, True)]
            found |= {float(one) for one in values if one is not None}
        return frozenset(found)


def _normal(text: str) -> str:
    return _MARKS.sub(" ", text.casefold())
