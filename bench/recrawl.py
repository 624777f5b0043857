"""Keeping a crawl fresh: what a request brings, beside visits at a fixed interval.

The site is synthetic, and its clock is passed in. Texts are real enough to be compared by the product's own
rules, which also decide about every visit. Some pages have a validator, and some show a clock that is no
change. Its sitemap is read every hour, which is counted.
"""

import argparse
import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Final

from bench.recrawl_site import (
    FASTEST,
    NOISY,
    PARAGRAPHS,
    SKEW,
    SLOWEST,
    STATIC,
    VALIDATED,
    WORDS,
    Lastmod,
    SitePage,
    make_site,
)
from bench.recrawlers import LEAST_MS, FixedRecrawler, GossamerRecrawler, NutchRecrawler
from bench.servers import say
from bench.table import Machine, save, table, this_machine
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS

PAGES: Final = 800
SEEDS: Final = (1, 2, 3)
WARM_UP: Final = 10  # days that are not measured, in which rates are learned
DAYS: Final = 30  # that are
HEADER_BYTES: Final = 350  # of any answer
ENTRY_BYTES: Final = 15  # of a page in the sitemap, compressed
STEP: Final = HOUR_MS  # how often due pages are put into the frontier, and the sitemap is read


@dataclass(slots=True)
class Spent:
    """What a way of recrawling brought, and what it took, in the days that are measured."""

    freshness: float = 0.0  # the share of the time in which a stored page is what the site shows
    weighted: float = 0.0  # the same, each page by its share of the site's visits
    age: float = 0.0  # days since a stored page ceased to be, on average over all pages
    requests: float = 0.0  # a day
    megabytes: float = 0.0  # a day
    unmodified: float = 0.0  # the share of answers without a body
    mistaken: float = 0.0  # changes seen where there are none, a day


@dataclass(slots=True)
class Recrawl:
    """One way of recrawling a site, from the first day to the last."""

    site: Sequence[SitePage]
    way: FixedRecrawler
    budget: int | None = None  # requests a day
    visited: list[float] = field(init=False)
    stored: list[int] = field(init=False)
    due_at: list[int] = field(init=False)
    planned: list[tuple[int, int]] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    answers: int = 0
    unmodified: int = 0
    size: int = 0
    mistaken: int = 0
    stale: float = 0.0
    missed: float = 0.0  # stale days, by rank
    age: float = 0.0

    def __post_init__(self) -> None:
        chance, count = random.Random(7), len(self.site)
        self.visited, self.stored = [0.0] * count, [0] * count
        self.due_at = [self.way.first(chance.random()) for _ in self.site]
        self.planned = [(at, number) for number, at in enumerate(self.due_at)]
        heapq.heapify(self.planned)

    def run(self) -> Spent:
        allowed, end = 0.0, WARM_UP + DAYS
        for now in range(STEP, end * DAY_MS + 1, STEP):
            most = self.budget or len(self.site) * 24
            allowed = min(allowed + most * STEP / DAY_MS, most / 4)
            if self.way.sitemap is not None:
                allowed -= 1
                self._read_sitemap(now)
            chosen = self._choose(now, int(allowed))
            allowed -= len(chosen)
            for number in chosen:
                self._visit(self.site[number], now)
        for page in self.site:
            self._account(page, end)
        total = len(self.site) * DAYS
        return Spent(
            1 - self.stale / total,
            1 - self.missed / DAYS,
            self.age / total,
            self.answers / DAYS,
            self.size / DAYS / 1e6,
            self.unmodified / max(1, self.answers),
            self.mistaken / DAYS,
        )

    def _read_sitemap(self, now: int) -> None:
        if now / DAY_MS > WARM_UP:
            self.answers += 1
            self.size += HEADER_BYTES + ENTRY_BYTES * len(self.site)
        for number in self.way.hinted(self.site, now):
            at = max(now, round(self.visited[number] * DAY_MS) + LEAST_MS)
            if at < self.due_at[number]:
                self.due_at[number] = at
                heapq.heappush(self.planned, (at, number))

    def _choose(self, now: int, most: int) -> list[int]:
        while self.planned and self.planned[0][0] <= now:
            at, number = heapq.heappop(self.planned)
            if at == self.due_at[number]:  # else it was planned anew
                self.waiting.append(number)
                self.due_at[number] = -1
        if len(self.waiting) > most:
            self.waiting.sort(key=lambda number: -self.way.gain(self.site[number], now))
        chosen, self.waiting = self.waiting[:most], self.waiting[most:]
        return chosen

    def _visit(self, page: SitePage, now: int) -> None:
        number, day = page.number, now / DAY_MS
        self._account(page, day)
        version = page.version(day)
        known = bool(self.visited[number]) and version == self.stored[number]
        same = self.way.conditional and page.validates and known
        visit = self.way.next(page, day, partial(page.answer, day, version, same=same))
        if day > WARM_UP:
            self.answers += 1
            self.unmodified += same
            self.size += HEADER_BYTES + (0 if same else page.markup + PARAGRAPHS * WORDS * 8)
            self.mistaken += visit.is_change and version == self.stored[number]
        self.visited[number], self.stored[number] = day, version
        self.due_at[number] = now + visit.interval
        heapq.heappush(self.planned, (self.due_at[number], number))

    def _account(self, page: SitePage, day: float) -> None:
        """The time since the page on the site became another than the stored one."""
        number = page.number
        if self.stored[number] < len(page.changes):
            since = page.changes[self.stored[number]]
            first, last = max(since, self.visited[number], WARM_UP), day
            if first < last:
                self.stale += last - first
                self.missed += (last - first) * page.rank
                self.age += ((last - since) ** 2 - (first - since) ** 2) / 2


def find_interval(site: Sequence[SitePage], freshness: float) -> float:
    """The fixed interval, in days, that keeps the site as fresh."""
    low, high = 0.02, 30.0
    for _ in range(9):
        middle = (low * high) ** 0.5
        fresh = Recrawl(site, FixedRecrawler(middle)).run().freshness
        low, high = (middle, high) if fresh > freshness else (low, middle)
    return math.sqrt(low * high)


def measure(pages: int, seed: int) -> dict[str, Spent]:
    site = make_site(pages, WARM_UP + DAYS, seed)
    found: dict[str, Spent] = {}
    budget = pages // 4

    def run(name: str, way: FixedRecrawler, budget: int | None = None) -> Spent:
        found[name] = Recrawl(site, way, budget).run()
        say(f"seed {seed}, {name}: {found[name]}")
        return found[name]

    own = run("Gossamer", GossamerRecrawler(site))
    run("fixed interval, as many requests", FixedRecrawler(pages / own.requests))
    same = find_interval(site, own.freshness)
    run("fixed interval, as fresh", FixedRecrawler(same))
    run("the same without conditional requests", FixedRecrawler(same, conditional=False))
    run("Nutch's adaptive schedule", NutchRecrawler())
    told = run("Gossamer, honest `lastmod`", GossamerRecrawler(site, Lastmod.HONEST))
    run("fixed interval, as fresh as that", FixedRecrawler(find_interval(site, told.freshness)))
    run("Gossamer, `lastmod` always today", GossamerRecrawler(site, Lastmod.TODAY))
    run("Gossamer, `lastmod` never changes", GossamerRecrawler(site, Lastmod.FROZEN))
    run("a quarter of the pages a day: fixed", FixedRecrawler(4.0))
    run("… Gossamer", GossamerRecrawler(site), budget)
    run("… by importance", GossamerRecrawler(site, weighs=True), budget)
    both = GossamerRecrawler(site, Lastmod.HONEST, weighs=True)
    run("… by importance, honest `lastmod`", both, budget)
    return found


def spread(values: Sequence[float], shape: str) -> str:
    """The mean, and the range where the seeds differ as it is written."""
    mean = format(sum(values) / len(values), shape)
    low, high = format(min(values), shape), format(max(values), shape)
    return mean if low == high else f"{mean} ({low}-{high})"


def render(machine: Machine, pages: int, found: Sequence[dict[str, Spent]]) -> str:
    shapes = {
        "freshness": ".3f", "weighted": ".3f", "age": ".3f", "requests": ",.0f", "megabytes": ",.1f",
        "unmodified": ".0%", "mistaken": ",.0f",
    }  # fmt: skip
    rows = [
        [name, *(spread([getattr(one[name], each) for one in found], shapes[each]) for each in shapes)]
        for name in found[0]
    ]
    columns = [
        "way", "freshness", "by importance", "mean age, days", "requests a day", "MB a day", "304",
        "false changes a day",
    ]  # fmt: skip
    about = (
        f"{pages:,} pages over {DAYS} days after {WARM_UP} days of learning, mean of {len(found)} sites (and "
        f"range): {STATIC:.0%} of the pages never change, the others by chance at rates from "
        f"{10**SLOWEST:.3f} to {10**FASTEST:g} a day. {VALIDATED:.0%} answer conditional requests, "
        f"{NOISY:.0%} show a clock. Freshness is the share of time in which a stored page is what the "
        f"site shows; by importance, each page counts by its share of the visits (a power law, exponent "
        f"{SKEW:g}). Age "
        "counts from the moment a page is stale, and is 0 for fresh ones. Readings of the sitemap count as "
        "requests."
    )
    return f"# Recrawl\n\n{machine}\n\n{about}\n\n{table(columns, rows)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    asked = parser.parse_args()
    machine, found = this_machine(), [measure(asked.pages, seed) for seed in asked.seeds]
    text = render(machine, asked.pages, found)
    print(text)
    ways = {
        name: {each.name: [asdict(one[name])[each.name] for one in found] for each in fields(Spent)}
        for name in found[0]
    }
    save("recrawl", machine, text, {"pages": asked.pages, "seeds": list(asked.seeds), "ways": ways})


if __name__ == "__main__":
    main()
