"""A synthetic site for the bench of recrawling: pages that change at random at rates over several orders of
magnitude, under a clock that is passed in, and a sitemap that tells of it, or lies."""

import hashlib
import random
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.crawl.refresh.page_change import NOT_MODIFIED, PageContentMark
from gossamer.web.crawl.refresh.sitemap_hints import SaidTime
from gossamer.web.crawl.refresh.visit_history import DAY_MS

STATIC: Final = 0.3  # share of the pages that never change
SLOWEST, FASTEST = -2.3, 1.0  # powers of ten of changes a day
VALIDATED: Final = 0.6  # share that answers conditional requests
NOISY: Final = 0.1  # share that shows a clock
SMALL: Final = 0.3  # share of the changes that are one word
PARAGRAPHS, WORDS = 12, 45
MARKUP: Final = (8_000, 60_000)  # bytes of a page besides its text
SKEW: Final = 0.8  # the n-th most important page has a rank of n to the power of this, inverted
VOCABULARY: Final = tuple(f"word{number}" for number in range(5_000))


class Lastmod(StrEnum):
    """What the sitemap says."""

    HONEST = "honest"
    TODAY = "always today"
    FROZEN = "never changes"


@dataclass(slots=True)
class SitePage:
    """A page of the site, with all its changes to come."""

    number: int
    changes: list[float]  # in days
    validates: bool
    is_noisy: bool
    markup: int
    rank: float  # the share of visits that it gets
    shown: int = -1
    words: list[str] = field(default_factory=list)
    marks: dict[int, PageContentMark] = field(default_factory=dict)

    def version(self, day: float) -> int:
        return bisect_right(self.changes, day)

    def lastmod(self, kind: Lastmod, day: float) -> SaidTime:
        version = self.version(day)
        at = round((self.changes[version - 1] if version else 0.0) * DAY_MS)
        at = {Lastmod.HONEST: at, Lastmod.TODAY: round(day * DAY_MS), Lastmod.FROZEN: 0}[kind]
        return SaidTime(at, at)

    def answer(self, day: float, version: int, *, same: bool) -> PageContentMark:
        if same:
            return PageContentMark(status=NOT_MODIFIED)
        if not self.is_noisy and version in self.marks:
            return self.marks[version]
        text = self._text(day, version)
        digest = hashlib.sha256(text.encode()).hexdigest()
        mark = PageContentMark(status=200, content_hash=digest, fingerprint=fingerprint(text))
        if not self.is_noisy:
            self.marks[version] = mark
        return mark

    def _text(self, day: float, wanted: int) -> str:
        """The text after this many changes."""
        if self.shown < 0 or wanted < self.shown:
            self.words = random.Random(self.number).choices(VOCABULARY, k=PARAGRAPHS * WORDS)
            self.shown = 0
        for change in range(self.shown, wanted):
            own = random.Random(f"{self.number} {change}")
            size = 1 if own.random() < SMALL else WORDS
            start = own.randrange(PARAGRAPHS) * WORDS
            self.words[start : start + size] = own.choices(VOCABULARY, k=size)
        self.shown = wanted
        clock = f" served at {day:.6f}" if self.is_noisy else ""
        return " ".join(self.words) + clock


def make_site(pages: int, days: float, seed: int) -> list[SitePage]:
    chance = random.Random(seed)
    places = list(range(1, pages + 1))
    chance.shuffle(places)
    total = sum(place**-SKEW for place in places)
    site: list[SitePage] = []
    for number in range(pages):
        rate = 0.0 if chance.random() < STATIC else 10 ** chance.uniform(SLOWEST, FASTEST)
        changes: list[float] = []
        day = chance.expovariate(rate) if rate else days
        while day < days:
            changes.append(day)
            day += chance.expovariate(rate)
        noisy = chance.random() < NOISY
        validates = not noisy and chance.random() < VALIDATED
        rank = places[number] ** -SKEW / total
        site.append(SitePage(number, changes, validates, noisy, chance.randint(*MARKUP), rank))
    return site
