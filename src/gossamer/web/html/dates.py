"""Dates: turn the dates of pages into ISO 8601; ambiguous ones are None."""

import re
from datetime import UTC, date, datetime
from typing import Final

from gossamer.web.html.vocabulary import read_sections

EARLIEST: Final = 1980  # no page is older
LATEST: Final = 2100
_ISO: Final = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})(?:[T\s]+(\d{1,2}):?(\d{2})(?::?(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?",
    re.I,
)
# The names of each month in many languages, and their short forms.
_MONTHS: Final = {
    name: number
    for number, line in enumerate(read_sections("gossamer.web.html.byline", "words.txt")["months"], start=1)
    for name in line.split()
}
_MONTH: Final = r"[^\W\d_]{3,12}"
_DAY_FIRST: Final = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|\.|er|\u00ba|\u00b0|-\u0433\u043e)?[\s-]*(?:de\s+|of\s+|\u05d1)?"
    rf"({_MONTH})\.?,?[\s-]+(?:de\s+|del\s+)?(\d{{4}})\b"
)
_MONTH_FIRST: Final = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th|\.)?,?\s+(\d{{4}})\b")
_YEAR_FIRST: Final = re.compile(rf"\b(\d{{4}})\.?\s+({_MONTH})\.?\s+(\d{{1,2}})\b")  # Hungarian, Lithuanian
_IDEOGRAPHIC: Final = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]")
_DOTTED: Final = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")  # with dots, the day always comes first
_SLASHED_YEAR: Final = re.compile(r"\b(\d{4})[/.](\d{1,2})[/.](\d{1,2})\b")
_CLOCK: Final = re.compile(r"\b(\d{1,2}):(\d{2})(?::\d{2})?\b")
_ZONED: Final = re.compile(r"\s(Z|UTC|GMT|[+-]\d{2}:?\d{2})\b")


def iso_date(text: str, earliest: int = EARLIEST) -> str | None:
    """Return a date such as `2024-05-01T09:30:00+02:00`, or `2024-05-01` without a time."""
    text = " ".join(text.split())[:80]
    match = _ISO.match(text)
    if match:
        return _iso(match, earliest)
    if text.isdigit() and len(text) in (10, 13):
        return None  # Unix seconds are not a date that a page states
    return _parse_words(text, earliest)


def _iso(match: re.Match[str], earliest: int) -> str | None:
    day = _day(match[1], match[2], match[3], earliest)
    if day is None or match[4] is None:
        return day
    hour, minute, second = int(match[4]), int(match[5]), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return day
    return f"{day}T{hour:02}:{minute:02}:{second:02}{_zone(match[7])}"


def _zone(text: str | None) -> str:
    if not text:
        return ""
    if text.upper() in ("Z", "UTC", "GMT"):
        return "Z"
    digits = text[1:].replace(":", "").ljust(4, "0")
    return "Z" if digits == "0000" else f"{text[0]}{digits[:2]}:{digits[2:]}"


def _parse_words(text: str, earliest: int) -> str | None:
    if match := _IDEOGRAPHIC.search(text) or _SLASHED_YEAR.search(text):
        return _day(match[1], match[2], match[3], earliest)
    if match := _DOTTED.search(text):
        return _day(match[3], match[2], match[1], earliest)
    for match in _DAY_FIRST.finditer(text):
        if month := _MONTHS.get(match[2].lower()):
            return _day(match[3], str(month), match[1], earliest)
    for match in _MONTH_FIRST.finditer(text):
        if month := _MONTHS.get(match[1].lower()):
            return _day(match[3], str(month), match[2], earliest)
    for match in _YEAR_FIRST.finditer(text):
        if month := _MONTHS.get(match[2].lower()):
            return _day(match[1], str(month), match[3], earliest)
    return None


def date_beside(text: str, language: str) -> str | None:
    """Return the date in a short text near a headline, where dates are also written with two digits of the
    year and with slashes. `03/04/2021` is read as its language does; in English it is ambiguous."""
    found = iso_date(text) or _search_iso(text)
    if found is not None:
        return found
    match = _SHORT.search(text)
    if match is None:
        return None
    one, sign, other, year = match.groups()
    ambiguous = sign != "." and int(one) <= 12 and int(other) <= 12 and one != other
    if ambiguous and language == "en":
        return None
    if (ambiguous and language == "en-US") or int(other) > 12:
        one, other = other, one
    return _day(year if len(year) == 4 else f"20{year}", other, one, EARLIEST)


_SHORT: Final = re.compile(r"(?<![\d./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4}|\d{2})(?![\d/-]|\.\d)")
_INNER_ISO: Final = re.compile(r"(?<!\d)(?:19|20)\d\d-[01]\d-[0-3]\d(?!\d)")


def _search_iso(text: str) -> str | None:
    match = _INNER_ISO.search(text[:120])
    return iso_date(match[0]) if match else None


def _day(year: str, month: str, day: str, earliest: int) -> str | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.isoformat() if earliest <= found.year <= LATEST else None


def unix_time(text: str) -> float | None:
    """Return the Unix time of an ISO 8601 date; without a zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def is_later(one: str, other: str) -> bool:
    return datetime.fromisoformat(one[:10]) > datetime.fromisoformat(other[:10])
