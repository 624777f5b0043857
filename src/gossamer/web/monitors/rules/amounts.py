"""Amounts: the number that a text states, whatever its currency and notation."""

import re
from typing import Final

from gossamer.web.extract.schema.numbers import COMMA_LANGUAGES, NUMBER, number
from gossamer.web.html.vocabulary import read_lines
from gossamer.web.monitors.noise.masks import plain_line

MAX_TEXT_CHARS: Final = 2_000
MAX_DISTANCE: Final = 120  # characters between words and the number that follows them
_CURRENCY: Final = f"(?:{'|'.join(read_lines('gossamer.web.monitors.rules', 'currencies.txt'))})"
_PRICED: Final = re.compile(
    rf"{_CURRENCY} {{0,2}}({NUMBER.pattern})|({NUMBER.pattern}) {{0,2}}{_CURRENCY}", re.I
)
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")


def amount_in(text: str, language: str = "") -> float | None:
    """The first price in a text, or else its only number."""
    text = plain_line(text[:MAX_TEXT_CHARS])
    comma = language.partition("-")[0].lower() in COMMA_LANGUAGES
    priced = _PRICED.search(text)
    if priced:
        return _price(priced[1] or priced[2], comma)
    found = NUMBER.search(text)
    value = number(text, comma=comma)
    if value is None and found:
        value = number(found[0], comma=comma)
    return None if value is None else float(value)


def amount_after(text: str, words: str, language: str = "") -> float | None:
    """The number that follows these words."""
    flat = plain_line(text)
    at = flat.casefold().find(plain_line(words).casefold())
    if at < 0:
        return None
    rest = flat[at + len(plain_line(words)) :][:MAX_DISTANCE]
    found = NUMBER.search(rest)
    if found is None:
        return None
    end = rest.find(" ", found.end() + 1)
    return amount_in(rest[: end if end > 0 else None] if _PRICED.search(rest) is None else rest, language)


def _price(digits: str, comma: bool) -> float | None:
    """Nobody writes three decimals of a price: `1.299 €` is more than a thousand, in any language."""
    grouped = _THOUSANDS.fullmatch(digits)
    value = number(digits, comma=grouped[1] == "." if grouped else comma)
    return None if value is None else float(value)
