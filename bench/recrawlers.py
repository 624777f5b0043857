"""Ways to recrawl a site: at a fixed interval, as Apache Nutch does, and by the rules of the product."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from bench.recrawl_site import Lastmod, SitePage
from gossamer.web.crawl.refresh.importance import importances
from gossamer.web.crawl.refresh.page_change import NOT_MODIFIED, PageContentMark, compare
from gossamer.web.crawl.refresh.revisit import (
    gain_of,
    interval_of,
    is_fresh_by,
    is_worth_a_hint,
    patience_of,
)
from gossamer.web.crawl.refresh.sitemap_hints import TRIED_AT_ONCE, HintRecord
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory

LEAST_MS, MOST_MS = HOUR_MS, 30 * DAY_MS
_JUDGED_AFTER_MS: Final = 2 * DAY_MS


class NextVisit(NamedTuple):
    """What follows from a visit: the time to the next one, and what was made of the answer."""

    interval: int
    is_change: bool = False


class FixedRecrawler:
    """Every page after the same time."""

    sitemap: Lastmod | None = None  # that is read every hour

    def __init__(self, days: float, *, conditional: bool = True) -> None:
        self.interval = round(days * DAY_MS)
        self.conditional = conditional
        self._visited: dict[int, int] = {}

    def first(self, randomness: float) -> int:
        return round(self.interval * randomness)

    def next(self, page: SitePage, day: float, answer: Callable[[], PageContentMark]) -> NextVisit:
        self._visited[page.number] = round(day * DAY_MS)
        return NextVisit(self.interval)

    def gain(self, page: SitePage, now: int) -> float:
        return now - self._visited.get(page.number, 0)

    def hinted(self, site: Sequence[SitePage], now: int) -> Iterable[int]:
        """Pages that a reading of the sitemap makes due."""
        return ()


class NutchRecrawler(FixedRecrawler):
    """The adaptive schedule of Apache Nutch: a fifth sooner after a change, two fifths later without."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self._known: dict[int, tuple[int, str]] = {}

    def next(self, page: SitePage, day: float, answer: Callable[[], PageContentMark]) -> NextVisit:
        super().next(page, day, answer)
        found = answer()
        interval, known = self._known.get(page.number, (self.interval, ""))
        same = found.status == NOT_MODIFIED or found.content_hash == known
        interval = round(min(max(interval * (1.4 if same else 0.8), LEAST_MS), MOST_MS))
        self._known[page.number] = (interval, known if same else found.content_hash)
        return NextVisit(interval, not same)


class GossamerRecrawler(FixedRecrawler):
    """The rules of the product, with what the database does around them."""

    def __init__(self, site: Sequence[SitePage], sitemap: Lastmod | None = None, *, weighs: bool = False):
        super().__init__(1.0)
        self.sitemap = sitemap
        self.record = HintRecord()
        self._weights = importances([page.rank for page in site]) if weighs else [1.0] * len(site)
        self._histories: dict[int, VisitHistory] = {}
        self._marks: dict[int, PageContentMark] = {}
        self._said: dict[int, int] = {}
        self._hinted: set[int] = set()
        self._unjudged: dict[int, tuple[int, int]] = {}  # when a change was found, and the visit before

    def next(self, page: SitePage, day: float, answer: Callable[[], PageContentMark]) -> NextVisit:
        number, at, found = page.number, round(day * DAY_MS), answer()
        before = self._histories.get(number) or VisitHistory(visited_at=0)
        change = compare(self._marks.get(number), found, before.past)
        if change.is_stored:
            self._marks[number] = found
        if change.is_evidence:
            if number in self._hinted:
                expected = 1 - is_fresh_by(before, at)
                self.record = self.record.after_hint(changed=change.is_change, expected=expected)
            elif change.is_change and number in self._said:
                self._unjudged.setdefault(number, (at, before.visited_at))
            self._hinted.discard(number)
        history = self._histories[number] = before.after(change, at)
        weight, record = self._weights[number], self._record_of(number)
        interval = interval_of(history, weight, LEAST_MS, MOST_MS, patience_of(history, weight, record))
        return NextVisit(interval, change.is_change)

    def gain(self, page: SitePage, now: int) -> float:
        history = self._histories.get(page.number) or VisitHistory(visited_at=0)
        weight, record = self._weights[page.number], self._record_of(page.number)
        believed = page.number in self._hinted and self.record.is_believed
        return gain_of(
            history,
            weight,
            now,
            patience=patience_of(history, weight, record),
            changed=self.record.rightness if believed else 0.0,
        )

    def _record_of(self, number: int) -> HintRecord | None:
        return self.record if number in self._said else None

    def hinted(self, site: Sequence[SitePage], now: int) -> Iterable[int]:
        due: list[int] = []
        room = TRIED_AT_ONCE if self.record.is_tried else len(site)
        for page in site:
            number = page.number
            history = self._histories.get(number)
            if history is None:
                continue
            said = page.lastmod(self.sitemap or Lastmod.HONEST, now / DAY_MS)
            if said.is_news(history.visited_at, self._said.get(number)):
                self._hinted.add(number)
            self._said[number] = said.last
            worth = is_worth_a_hint(history, self._weights[number], self.record)
            if number in self._hinted and worth and len(due) < room:
                due.append(number)
        self._judge(now)
        return due

    def _judge(self, now: int) -> None:
        for number, (at, visited_before) in list(self._unjudged.items()):
            if at < now - _JUDGED_AFTER_MS:
                self.record = self.record.after_change(announced=self._said[number] > visited_before)
                del self._unjudged[number]
