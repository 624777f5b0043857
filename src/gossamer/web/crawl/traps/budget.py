"""Budgets of patterns: how many URLs of a pattern may still be found on pages that add nothing.

A page that resembles others may still be the index of a part of the site that resembles another part. So its
links cost nothing. Those of pages that only such a page leads to do: traps go on, one after the other.

Every new page raises the budget of its pattern, up to a bound. A site that has something to say never runs
out of it, however many of its pages resemble each other.
"""

from typing import Final

from gossamer.web.crawl.traps.novelty import Novelty

START: Final = 1_000
MOST: Final = 5_000
GAIN: Final = 25  # for a new page
# What a URL costs that was found on a page that adds nothing.
COSTS: Final = {Novelty.NEW: 0, Novelty.NEAR: 5, Novelty.EXACT: 20, Novelty.COPY: 20}
DATED: Final = 1  # a date of the present or the past, on a page that resembles others: it may have figures
FAR_OFF: Final = 40  # a date far ahead or behind
ENOUGH: Final = 20  # pages, from which on a pattern is known
FERTILE: Final = 10  # one new page in so many is worth a visit


class PatternBudget:
    """One for each pattern of a host."""

    __slots__ = ("level", "new", "pages")

    def __init__(self, level: int = START, pages: int = 0, new: int = 0) -> None:
        self.level = level
        self.pages = pages
        self.new = new

    def record(self, novelty: Novelty) -> None:
        """A page of the pattern was fetched."""
        self.pages += 1
        if novelty is Novelty.NEW:
            self.new += 1
            self.level = min(MOST, self.level + GAIN)

    def spend(self, cost: int) -> bool:
        """Whether there is enough for one more URL."""
        if self.level < cost:
            return False
        self.level -= cost
        return True

    @property
    def is_promising(self) -> bool:
        """Its pages bring something new, or it is too early to tell."""
        return self.pages < ENOUGH or self.new * FERTILE >= self.pages
