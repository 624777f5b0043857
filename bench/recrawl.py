"""Keeping a crawl fresh: what a request brings, beside visits at a fixed interval.

A synthetic site, whose pages change at random at rates over several orders of magnitude, under a clock that
is passed in. Texts are real enough to be compared by the product's own rules, which also decide about every
visit. Some pages have a validator, and some show a clock that is no change.
"""

import argparse
import hashlib
import heapq
import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final, NamedTuple, Protocol

from bench.servers import say
from bench.table import Machine, save, table, this_machine
from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.crawl.refresh.page_change import NOT_MODIFIED, PageContentMark, compare
from gossamer.web.crawl.refresh.revisit import gain_of, interval_of
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS, VisitHistory

PAGES: Final = 2_000
WARM_UP: Final = 10  # days that are not measured, in which rates are learned
DAYS: Final = 30  # that are
STATIC: Final = 0.3  # share of the pages that never change
SLOWEST, FASTEST = -2.3, 1.0  # powers of ten of changes a day
VALIDATED: Final = 0.6  # share that answers conditional requests
NOISY: Final = 0.1  # share that shows a clock
SMALL: Final = 0.3  # share of the changes that are one word
PARAGRAPHS, WORDS = 12, 45
HEADER_BYTES: Final = 350  # of any answer
MARKUP: Final = (8_000, 60_000)  # bytes of a page besides its text
STEP: Final = HOUR_MS  # how often due pages are put into the frontier
LEAST_MS, MOST_MS = HOUR_MS, 30 * DAY_MS
VOCABULARY: Final = tuple(f"word{number}" for number in range(5_000))


@dataclass(slots=True)
class SitePage:
    """A page of the site, with all its changes to come."""

    number: int
    changes: list[float]  # in days
    validates: bool
    is_noisy: bool
    markup: int
    rate: float
    shown: int = -1
    words: list[str] = field(default_factory=list)

    def version(self, day: float) -> int:
        return bisect_right(self.changes, day)

    def text(self, day: float, wanted: int) -> str:
        """The text after this many changes, which only grow."""
        if self.shown < 0:
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
        site.append(SitePage(number, changes, validates, noisy, chance.randint(*MARKUP), rate))
    return site


@dataclass(slots=True)
class Spent:
    """What a way of recrawling brought, and what it took, in the days that are measured."""

    freshness: float = 0.0  # the share of the time in which a stored page is what the site shows
    age: float = 0.0  # days since a stored page ceased to be, on average over all pages
    requests: float = 0.0  # a day
    megabytes: float = 0.0  # a day
    unmodified: float = 0.0  # the share of answers without a body
    mistaken: float = 0.0  # changes seen where there are none, a day


class NextVisit(NamedTuple):
    """What follows from a visit: the time to the next one, and what was made of the answer."""

    interval: int
    is_change: bool = False


class Recrawler(Protocol):
    conditional: bool

    def first(self, randomness: float) -> int: ...
    def next(self, page: SitePage, day: float, answer: Callable[[], PageContentMark]) -> NextVisit: ...
    def gain(self, page: SitePage, now: int) -> float: ...


class FixedRecrawler:
    """Every page after the same time."""

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


class GossamerRecrawler:
    """The rules of the product."""

    conditional = True

    def __init__(self) -> None:
        self._histories: dict[int, VisitHistory] = {}
        self._marks: dict[int, PageContentMark] = {}

    def first(self, randomness: float) -> int:
        return round(DAY_MS * randomness)

    def next(self, page: SitePage, day: float, answer: Callable[[], PageContentMark]) -> NextVisit:
        at, found = round(day * DAY_MS), answer()
        history = self._histories.get(page.number) or VisitHistory(visited_at=0)
        known = self._marks.get(page.number)
        change = compare(known, found, history.past)
        if change.is_stored:
            self._marks[page.number] = found
        history = self._histories[page.number] = history.after(change, at)
        interval = interval_of(history, 1.0, LEAST_MS, MOST_MS)
        return NextVisit(interval, change.is_change)

    def gain(self, page: SitePage, now: int) -> float:
        history = self._histories.get(page.number) or VisitHistory(visited_at=0)
        return gain_of(history, 1.0, now)


def recrawl(site: Sequence[SitePage], recrawler: Recrawler, budget: int | None = None) -> Spent:  # noqa: C901
    """`budget` is the number of requests a day."""
    for page in site:
        page.shown = -1
    chance, spent = random.Random(7), Spent()
    visited, stored = [0.0] * len(site), [0] * len(site)
    planned = [(recrawler.first(chance.random()), page.number) for page in site]
    heapq.heapify(planned)
    due: list[int] = []
    allowed, answers, unmodified, size, mistaken, stale, age = 0.0, 0, 0, 0, 0, 0.0, 0.0

    def account(page: SitePage, day: float) -> None:
        """The time since the page on the site became another than the stored one."""
        nonlocal stale, age
        if stored[page.number] < len(page.changes):
            since = page.changes[stored[page.number]]
            first, last = max(since, visited[page.number], WARM_UP), day
            if first < last:
                stale += last - first
                age += ((last - since) ** 2 - (first - since) ** 2) / 2

    end = WARM_UP + DAYS
    for now in range(STEP, end * DAY_MS + 1, STEP):
        day = now / DAY_MS
        allowed = len(site) if budget is None else min(allowed + budget * STEP / DAY_MS, budget / 4)
        while planned and planned[0][0] <= now:
            due.append(heapq.heappop(planned)[1])
        if len(due) > allowed:
            due.sort(key=lambda number: -recrawler.gain(site[number], now))
        chosen, due = due[: int(allowed)], due[int(allowed) :]
        allowed -= len(chosen)
        for number in chosen:
            page = site[number]
            account(page, day)
            version = page.version(day)
            same = (
                recrawler.conditional
                and page.validates
                and bool(visited[number])
                and version == stored[number]
            )
            visit = recrawler.next(page, day, partial(answer_of, page, day, version, same=same))
            if day > WARM_UP:
                answers += 1
                unmodified += same
                size += HEADER_BYTES + (0 if same else page.markup + PARAGRAPHS * WORDS * 8)
                mistaken += visit.is_change and version == stored[number]
            visited[number], stored[number] = day, version
            heapq.heappush(planned, (now + visit.interval, number))
    for page in site:
        account(page, end)
    total = len(site) * DAYS
    spent.freshness, spent.age = 1 - stale / total, age / total
    spent.requests, spent.megabytes = answers / DAYS, size / DAYS / 1e6
    spent.unmodified, spent.mistaken = unmodified / max(1, answers), mistaken / DAYS
    return spent


def answer_of(page: SitePage, day: float, version: int, *, same: bool) -> PageContentMark:
    if same:
        return PageContentMark(status=NOT_MODIFIED)
    text = page.text(day, version)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return PageContentMark(status=200, content_hash=digest, fingerprint=fingerprint(text))


def find_interval(site: Sequence[SitePage], freshness: float) -> float:
    """The fixed interval, in days, that keeps the site as fresh."""
    low, high = 0.05, 30.0
    for _ in range(7):
        middle = (low * high) ** 0.5
        fresh = recrawl(site, FixedRecrawler(middle)).freshness
        low, high = (middle, high) if fresh > freshness else (low, middle)
    return math.sqrt(low * high)


def measure(pages: int, seed: int) -> dict[str, Spent]:
    site = make_site(pages, WARM_UP + DAYS, seed)
    found: dict[str, Spent] = {}

    def run(name: str, recrawler: Recrawler, budget: int | None = None) -> Spent:
        found[name] = recrawl(site, recrawler, budget)
        say(f"{name}: {found[name]}")
        return found[name]

    own = run("Gossamer", GossamerRecrawler())
    equal = pages / own.requests
    run(f"fixed, every {equal:.2f} days: as many requests", FixedRecrawler(equal))
    same = find_interval(site, own.freshness)
    run(f"fixed, every {same:.2f} days: as fresh", FixedRecrawler(same))
    run("the same without conditional requests", FixedRecrawler(same, conditional=False))
    run("Nutch's adaptive schedule", NutchRecrawler())
    budget = pages // 4
    run(f"Gossamer, budget of {budget} a day", GossamerRecrawler(), budget)
    run("fixed, every 4 days", FixedRecrawler(4.0))
    return found


def render(machine: Machine, pages: int, found: dict[str, Spent]) -> str:
    rows = [
        [
            name,
            f"{spent.freshness:.3f}",
            f"{spent.age:.3f}",
            f"{spent.requests:,.0f}",
            f"{spent.megabytes:,.1f}",
            f"{spent.unmodified:.0%}",
            f"{spent.mistaken:,.0f}",
        ]
        for name, spent in found.items()
    ]
    columns = [
        "way", "freshness", "mean age, days", "requests a day", "MB a day", "304", "false changes a day",
    ]  # fmt: skip
    about = (
        f"{pages:,} pages over {DAYS} days after {WARM_UP} days of learning: {STATIC:.0%} never change, the "
        f"others by chance at rates from {10**SLOWEST:.3f} to {10**FASTEST:g} a day. {VALIDATED:.0%} answer "
        f"conditional requests, {NOISY:.0%} show a clock. Freshness is the share of time in which a stored "
        "page is what the site shows; age counts from the moment it is not, and is 0 for fresh pages."
    )
    return f"# Recrawl\n\n{machine}\n\n{about}\n\n{table(columns, rows)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    machine, found = this_machine(), measure(asked.pages, asked.seed)
    text = render(machine, asked.pages, found)
    print(text)
    save("recrawl", machine, text, {"pages": asked.pages, "ways": {n: asdict(s) for n, s in found.items()}})


if __name__ == "__main__":
    main()
