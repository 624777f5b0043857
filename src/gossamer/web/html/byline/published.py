"""The date of publication on a page that does not state it in its head.

The ladder: the URL, marked-up dates, the text beside the headline, elements that are named after a date, and
scripts. A date in a comment, a list of other pages, or the footer is not the page's, and a page without one
stays without.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.web.html.byline.headline import Headline
from gossamer.web.html.dates import date_beside, iso_date
from gossamer.web.html.elements.element import Element
from gossamer.web.html.tree import MAX_LINE_CHARS, Tree
from gossamer.web.html.vocabulary import read_sections

BEFORE: Final = 30  # elements before a headline
AFTER: Final = 60  # and after it
BESIDE: Final = 10  # elements from a headline; so near, an aside with a date belongs to it
MAX_SCRIPT_CHARS: Final = 300_000
ENOUGH: Final = 3  # points of a text with a date

_WORDS: Final = read_sections("gossamer.web.html.byline", "words.txt")
_BEGINS_WITH_DATE: Final = re.compile(
    r"[\s(]*(?:[^\W\d_]{2,20}, )?\d{1,2}\. ?(?:\d{1,2}\.|[^\W\d_]{3,12}) ?\d{4}"
)
_URL_DATE: Final = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?P<a>[/_-])(0?[1-9]|1[0-2])(?:(?P=a)|/)(0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<![\d-])(0[1-9]|[12]\d|3[01])[-_.](0[1-9]|1[0-2])[-_.]((?:19|20)\d\d)(?!\d)"
    r"|(?<!\d)(20[012]\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)"
    r"|/(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])(20[012]\d)(?!\d)"
)
_YEAR: Final = re.compile(r"(?<!\d)(?:19[89]\d|20[0-4]\d)(?!\d)|\d[./-]\s?\d\d?[./-]\s?\d\d(?!\d)")
_DATED: Final = re.compile(  # all begin with a letter, which is found fast
    r"date|datum|dato(?![a-z])|fecha|pub(?:lish|lic)|posted|submitted|time|erschienen|meta|byline|author|info|subline"
    r"|kicker|details?|caption|category|data(?<![^\s_-]data)(?![^\s_-])"
)
_HOURS: Final = re.compile(  # from when to when something takes place
    r"(?<![\d./-])\d{1,2}[:.]\d\d\s*(?:[ap]\.?m\.?|[^\W\d_]{1,4})?\s*(?:[-\u2013\u2014]|to|bis|until)"
    r"\s*\d{1,2}[:.]\d\d(?![.\d])",
    re.I,
)
_LABEL: Final = re.compile(rf"\b(?:{'|'.join(_WORDS['published'])})\b", re.I)
_CHANGED: Final = re.compile("|".join(_WORDS["changed"]), re.I)
_SCRIPT_DATE: Final = re.compile(
    r"[\"'](?:date_?published|publish(?:ed)?_?(?:date|at|on|time)|publication_?date|pub_?date|first_?published(?:_?at)?)"
    r"[\"']\s*[:,=]\s*[\"']([^\"']{8,40})[\"']",
    re.I,
)


def find_published(tree: Tree, headline: Headline, url: str, language: str) -> str | None:
    """Return the date in ISO 8601, or None."""
    return (
        date_in_url(url)
        or _marked_up(tree, headline)
        or _best(headline.beside(BEFORE, AFTER), headline, language)
        or _named(tree, headline, language)
        or _in_scripts(tree.source)
    )


def date_in_url(url: str) -> str | None:
    match = _URL_DATE.search(url.rpartition("://")[2].partition("?")[0])
    if match is None:
        return None
    orders = (match.group(1, 3, 4), match.group(7, 6, 5), match.group(8, 9, 10), match.group(13, 12, 11))
    year, month, day = next(parts for parts in orders if parts[0])
    return iso_date(f"{year}-{month:0>2}-{day:0>2}")


# Marked-up dates.

_PUBLISHED: Final = frozenset(("datepublished", "datecreated"))
_PUBLISHED_CLASS: Final = re.compile(r"(?:^|\s)(?:published|entry-date|post-date|dt-published)(?:$|\s)", re.I)


def _marked_up(tree: Tree, headline: Headline) -> str | None:
    """Return the date of an element that is marked up as such, or the only one of all `time` elements."""
    times: dict[str, str] = {}
    aside: dict[str, str] = {}
    for element in tree.lines.marked_up:
        declared = _is_declared(element)
        if not (declared or element.tag == "time") or not (found := _machine_date(element)):
            continue
        elsewhere = headline.is_elsewhere(element)
        if declared and not elsewhere:
            return found
        if declared or not elsewhere:
            (aside if declared else times).setdefault(found[:10], found)
    return _only(times) or _only(aside)


def _is_declared(element: Element) -> bool:
    attributes = element.attributes
    stated = attributes.get("itemprop") or attributes.get("property")
    if stated and stated.lower().rpartition(":")[2] in _PUBLISHED:
        return True
    return element.tag == "time" and ("pubdate" in attributes or bool(_PUBLISHED_CLASS.search(element.hints)))


def _only(days: dict[str, str]) -> str | None:
    return next(iter(days.values())) if len(days) == 1 else None


def _machine_date(element: Element) -> str | None:
    for name in ("datetime", "content", "title"):
        if found := iso_date(element.get(name)):
            return found
    return iso_date(element.plain()) if element.text <= MAX_LINE_CHARS else None


# Text.


def _named(tree: Tree, headline: Headline, language: str) -> str | None:
    named = ((one, AFTER) for one in tree.lines.named if one.text > 5 and _is_dated(one.hints))
    return _best(named, headline, language)


def _best(candidates: Iterable[tuple[Element, int]], headline: Headline, language: str) -> str | None:
    best, most = None, ENOUGH - 1
    for element, distance in candidates:
        text = _dateline(element)
        found = date_beside(text, language) if text and not _HOURS.search(text) else None
        if found and (points := _points(element, text, distance, headline)) > most:
            best, most = found, points
    return best


def _dateline(element: Element) -> str:
    """Return a short text with a year: that of the element, or a part of it that is in no other element."""
    for child in element.children:
        if not isinstance(child, str):
            continue
        if len(child) > MAX_LINE_CHARS:
            begins = _BEGINS_WITH_DATE.match(child)
            return begins[0] if begins else ""
        if _YEAR.search(child):
            return element.plain() if element.text <= MAX_LINE_CHARS else child.strip()
    return ""


def _points(element: Element, text: str, distance: int, headline: Headline) -> int:
    points = 3 if distance <= 8 else 2 if distance <= 20 else 1 if distance < AFTER else 0
    points += 1 if len(text) <= 30 else 0 if len(text) <= 70 else -1
    dated = any(_is_dated(one.hints) for one in (element, *_above(element, 2)))
    points += 2 * dated
    points += _LABEL.search(text) is not None
    points -= 3 * (len(text) > 40 and text.endswith((".", "!", "?")))  # a sentence of the text
    points -= 2 * (_CHANGED.search(text) is not None)
    return points - 4 * headline.is_elsewhere(element, but_in_aside=dated and distance <= BESIDE)


def _above(element: Element, most: int) -> list[Element]:
    return [one for one, _ in zip(element.above(), range(most), strict=False)]


@lru_cache(maxsize=4096)
def _is_dated(hints: str) -> bool:
    return _DATED.search(hints.lower()) is not None


# Scripts.


def _in_scripts(source: LexborHTMLParser) -> str | None:
    days: dict[str, str] = {}
    for script in source.css("script:not([src]):not([type*='ld+json'])")[:60]:
        text = script.text() or ""
        if len(text) > MAX_SCRIPT_CHARS or "ubli" not in text:
            continue
        for match in _SCRIPT_DATE.finditer(text):
            if found := iso_date(match[1]):
                days.setdefault(found[:10], found)
    return _only(days)
