"""Masks: what a line says once everything that changes by itself is taken out of it."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import Final

from msgspec import Struct

from gossamer.web.html.dates import iso_date
from gossamer.web.html.vocabulary import read_sections
from gossamer.web.monitors.noise.noise_kind import NoiseKind, NoiseOptions

SHORT_LINE: Final = 16  # words; in a longer one, a number is part of a sentence
MAX_KEY_CHARS: Final = 2_000
DAY_SECONDS: Final = 86_400
TODAY_DAYS: Final = 1  # a date this near the look is today's, somewhere on earth

_SECTIONS: Final = read_sections("gossamer.web.monitors.noise", "words.txt")
# Possessive: a page of digits must not be tried in every way.
_N: Final = (
    r"(?<!\d)\d(?:[.,' \u00a0\u202f]?\d){0,11}+(?: ?(?:k|m|mio\.?|tsd\.?|mil|万|千|만|천)(?![^\W_]))?+"
)
_UNITS: Final = {
    int(seconds): "|".join(names) for seconds, *names in (line.split() for line in _SECTIONS["units"])
}
_T: Final = f"(?:{'|'.join(_UNITS.values())})"
# Not inside of a word. In scripts without spaces, words have no edges.
_EDGE, _END = (
    r"(?:(?<![^\W_])|(?<=[\u3000-\u9fff\uac00-\ud7af])|(?=[\u3000-\u9fff\uac00-\ud7af]))",
    r"(?:(?![^\W_])|(?<=[\u3000-\u9fff\uac00-\ud7af])|(?=[\u3000-\u9fff\uac00-\ud7af]))",
)


class _LazyPattern:
    """Compiled when it is first used: all of them take a tenth of a start, and few servers compare pages."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.I)


def _pattern(section: str, before: str = "", after: str = "") -> _LazyPattern:
    either = "|".join(_SECTIONS[section]).replace("{N}", f"(?:{_N})").replace("{T}", _T)
    return _LazyPattern(f"{before}(?:{either}){after}")


_COUNTED: Final = f"(?:{'|'.join(_SECTIONS['counted'])})"
_WEEKDAY: Final = f"(?:{'|'.join(sorted(' '.join(_SECTIONS['weekdays']).split(), key=len, reverse=True))})"
_MONTH: Final = r"[^\W\d_]{3,12}"
_TIME: Final = r"\d{1,2}[:.h]\d{2}(?::\d{2})?(?: ?[ap]\.?m\.?| uhr| h)?"
_DATE: Final = (
    r"(?:\d{4}-\d{2}-\d{2}(?:t\d{2}:\d{2}(?::\d{2})?z?)?|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{4}[./]\d{1,2}[./]\d{1,2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.|er|º)? (?:de |of )?{_MONTH}\.?,? (?:de |del )?\d{{4}}"
    rf"|{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{4} ?[年년] ?\d{1,2} ?[月월] ?\d{1,2} ?[日일])"
)
_STAMP: Final = (
    rf"(?:{_WEEKDAY}\.?,? (?:den |the |le |el |il )?)?{_DATE}"
    rf"(?:,?(?: at| um| à| a las| alle| o)? ?{_TIME})?(?: \(?{_WEEKDAY}\)?)?"
)

_AGES: Final = _pattern("ages", _EDGE, _END)
_LIVE: Final = _pattern("live")
_AFTER_NUMBER: Final = _LazyPattern(rf"{_EDGE}{_N} {{0,2}}(?:{_COUNTED}){_END}")
_BEFORE_NUMBER: Final = _LazyPattern(rf"{_EDGE}(?:{_COUNTED}) ?(?:[::] ?|\(?)(?:{_N})\)?{_END}")
_CJK_COUNTED: Final = _pattern("counted_cjk")
_UPDATED: Final = _pattern(
    "updated", f"(?P<label>{_EDGE}", rf"[^\w\n]{{0,4}}+(?:[^\W\d_]{{1,10}} ){{0,3}}?){_STAMP}"
)
_STAMPED: Final = _LazyPattern(rf"{_EDGE}{_STAMP}{_END}")
_SECONDS_CLOCK: Final = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}:\d{2}(?![\d:])")
_COPYRIGHT: Final = re.compile(r"((?:©|\(c\)|copyright)[^\d\n]{0,60})\d{4}(?: ?- ?\d{4})?", re.I)
_UNSTEADY: Final = r"(?=[\w-]{0,40}\d)(?:0x)?[0-9a-z][\w-]{5,80}"
_LABELLED_ID: Final = _pattern("ids", f"({_EDGE}", f" ?[:#=]? ?){_UNSTEADY}{_END}")
_UUID: Final = re.compile(r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])", re.I)
_GREETINGS: Final = _pattern("greetings", "^", _END)
_LEFT_BEFORE: Final = f"(?:{'|'.join(_SECTIONS['left_before'])})"
_LEFT_AFTER: Final = f"(?:{'|'.join(_SECTIONS['left_after'])})"
_COUNTDOWN: Final = _LazyPattern(
    rf"{_EDGE}(?:(?P<before>{_LEFT_BEFORE}) (?P<first>\d{{1,4}}) ?(?P<unit>{_T}){_END}"
    rf"|(?P<second>\d{{1,4}}) ?(?P<other>{_T}) {_LEFT_AFTER}{_END})"
)
_UNIT_SECONDS: Final = tuple((_LazyPattern(f"(?:{names})"), seconds) for seconds, names in _UNITS.items())
_ITEMS: Final = re.compile(r" ?[,;·|•/、] ?")
_TYPOGRAPHY: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b`\u00b4\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", None),
        "…": "...",
    }
)
_DIGIT: Final = re.compile(r"\d")


class Masked(Struct, frozen=True):
    """A line without its noise."""

    key: str
    noise: frozenset[NoiseKind] = frozenset()
    countdowns: tuple[tuple[int, int], ...] = ()  # seconds that were left, and in what unit


class Masks(Struct, frozen=True):
    """Takes out of a line what changes by itself. `seen_at` is when the page was looked at."""

    options: NoiseOptions
    seen_at: float

    def of(self, line: str) -> Masked:
        clean = plain_line(line)
        noise: set[NoiseKind] = set()
        countdowns: list[tuple[int, int]] = []
        key = clean[:MAX_KEY_CHARS]
        for kind, mask in self._steps(key, countdowns):
            masked = mask(key)
            if masked != key:
                noise.add(kind)
                key = masked
        if self.options.order and (ordered := _ordered_items(key)) != key:
            noise.add(NoiseKind.ORDER)
            key = ordered
        if clean != line:
            noise.add(NoiseKind.LAYOUT)
        rest = clean[MAX_KEY_CHARS:]
        return Masked(key + rest, frozenset(noise), tuple(countdowns))

    def _steps(
        self, line: str, countdowns: list[tuple[int, int]]
    ) -> Iterator[tuple[NoiseKind, Callable[[str], str]]]:
        """Those that can find something in this line."""
        options = self.options
        has_digit = _DIGIT.search(line) is not None
        is_short = line.count(" ") < SHORT_LINE
        if options.ids and has_digit:
            yield NoiseKind.ID, _mask_ids
        if options.counters and has_digit and is_short:
            yield NoiseKind.COUNTER, _mask_counters
        if options.dates and has_digit:
            yield NoiseKind.DATE, self._mask_dates
            yield NoiseKind.COUNTDOWN, lambda key: _mask_countdowns(key, countdowns)
        if options.ages:
            yield NoiseKind.AGE, _mask_ages
        if options.dates and is_short:
            yield NoiseKind.GREETING, lambda key: _GREETINGS.compiled.sub("⟨greeting⟩", key)

    def _mask_dates(self, line: str) -> str:
        line = _COPYRIGHT.sub(r"\1⟨year⟩", line)
        line = _SECONDS_CLOCK.sub("⟨time⟩", line)
        line = _UPDATED.compiled.sub(lambda match: f"{_label_of(match['label'])}⟨date⟩", line)
        return _STAMPED.compiled.sub(self._mask_today, line)

    def _mask_today(self, match: re.Match[str]) -> str:
        return "⟨today⟩" if self._is_today(match[0]) else match[0]

    def _is_today(self, stamp: str) -> bool:
        found = _date_of(stamp)
        return found is not None and abs((found - _day_of(self.seen_at)).days) <= TODAY_DAYS


def plain_line(line: str) -> str:
    """Without differences that only a typesetter sees."""
    if line.isascii():
        return " ".join(line.split())
    return " ".join(unicodedata.normalize("NFKC", line).translate(_TYPOGRAPHY).split())


def matches_phrase(section: str, line: str) -> bool:
    """Whether the whole line is one of the phrases of a section."""
    return _phrases(section).fullmatch(plain_line(line).strip(" :.!-|·").casefold()) is not None


def unit_tolerates(before: tuple[int, int], after: tuple[int, int], elapsed: float) -> bool:
    """Whether a countdown went on as time did: within one of the units in which it is told."""
    unit = max(before[1], after[1])
    return abs((before[0] - after[0]) - elapsed) <= unit * 1.5


@lru_cache(None)
def _phrases(section: str) -> re.Pattern[str]:
    return _pattern(section).compiled


@lru_cache(1024)
def _date_of(stamp: str) -> date | None:
    found = iso_date(re.sub(rf"^{_WEEKDAY}\.?,? (?:den |the |le |el |il )?", "", stamp, flags=re.I))
    return date.fromisoformat(found[:10]) if found else None


@lru_cache(16)
def _day_of(seconds: float) -> date:
    return date(1970, 1, 1) + timedelta(days=int(seconds // DAY_SECONDS))


def _label_of(found: str) -> str:
    """The words between a label and its date stay, except for the names of days."""
    return re.sub(rf"{_EDGE}{_WEEKDAY}{_END},? ?", "", found, flags=re.I)


def _mask_ids(line: str) -> str:
    return _UUID.sub("⟨id⟩", _LABELLED_ID.compiled.sub(r"\1⟨id⟩", line))


def _mask_counters(line: str) -> str:
    if _LIVE.compiled.fullmatch(line):
        return "⟨live⟩"
    line = _CJK_COUNTED.compiled.sub("⟨count⟩", line)
    line = _BEFORE_NUMBER.compiled.sub("⟨count⟩", line)
    return _AFTER_NUMBER.compiled.sub("⟨count⟩", line)


def _mask_ages(line: str) -> str:
    return _AGES.compiled.sub("⟨age⟩", line)


def _mask_countdowns(line: str, found: list[tuple[int, int]]) -> str:
    def mask(match: re.Match[str]) -> str:
        seconds = _seconds_of(match["unit"] or match["other"])
        found.append((int(match["first"] or match["second"]) * seconds, seconds))
        return "⟨left⟩"

    return _COUNTDOWN.compiled.sub(mask, line)


def _seconds_of(unit: str) -> int:
    return next((seconds for names, seconds in _UNIT_SECONDS if names.compiled.fullmatch(unit)), DAY_SECONDS)


def _ordered_items(line: str) -> str:
    """The items of a list in one line, in alphabetical order."""
    label, mark, items = line.rpartition(": ")
    parts = _ITEMS.split(items)
    if len(parts) < 3 or any(part.count(" ") > 3 or not part for part in parts):
        return line
    return f"{label}{mark}{', '.join(sorted(parts))}"
