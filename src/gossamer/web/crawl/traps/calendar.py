"""Dates in URLs that are so far off that nobody has written anything about them yet."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from gossamer.web.crawl.traps.url_pattern import pairs_of
from gossamer.web.url.url import Url

AHEAD_DAYS: Final = 400
EARLIEST: Final = 1970
_DAY_MS: Final = 86_400_000
_YEAR: Final = r"(?P<year>1[5-9]\d\d|2[0-4]\d\d)"
_PATH: Final = re.compile(
    rf"/{_YEAR}[-/](?P<month>0?[1-9]|1[0-2])(?:[-/](?:0?[1-9]|[12]\d|3[01]))?(?:\.\w{{1,5}})?/?$"
)
_DATE: Final = re.compile(rf"{_YEAR}[-/.]?(?P<month>0[1-9]|1[0-2]|[1-9])(?:[-/.]?\d{{1,2}})?(?:T.*)?")
_YEARS: Final = frozenset(("year", "yr", "y", "jahr", "annee", "anno"))
_DATES: Final = frozenset(("date", "day", "month", "week", "ym", "datum"))
_MONTHS: Final = frozenset(("month", "mon", "mo", "m", "monat", "mois", "mes"))
# What differs between two empty pages of a calendar.
_DATE_WORDS: Final = re.compile(
    r"\d+(?:st|nd|rd|th)?|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*",
    re.I,
)


class DateRange(StrEnum):
    NEAR = "near"
    FAR_OFF = "far_off"  # nobody has written anything about it yet, or knew of the web then


def time_of(url: Url, now: int) -> DateRange | None:
    """Whether the URL is that of a date, and one far ahead of `now` (milliseconds) or far behind."""
    found = _date_of(url)
    if found is None:
        return None
    year, month = found
    last = datetime.fromtimestamp((now + AHEAD_DAYS * _DAY_MS) / 1000, UTC)
    is_near = year >= EARLIEST and (year, month) <= (last.year, last.month)
    return DateRange.NEAR if is_near else DateRange.FAR_OFF


def without_dates(text: str) -> str:
    return _DATE_WORDS.sub("", text)


def _date_of(url: Url) -> tuple[int, int] | None:
    """A year and a month. A number alone is none, whatever year it could be."""
    if url.query:
        pairs = pairs_of(url.query)
        months = [int(value) for name, value in pairs if name in _MONTHS and value.isdecimal()]
        for name, value in pairs:
            if name in _YEARS and value.isdecimal() and len(value) == 4:
                return int(value), months[0] if months else 1
            if (not value.isdecimal() or name in _DATES) and (found := _DATE.fullmatch(value)):
                return int(found["year"]), int(found["month"])
    if found := _PATH.search(url.path):
        return int(found["year"]), int(found["month"])
    return None
