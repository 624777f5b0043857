"""VisitHistory: what the visits to a page have shown, and the rate at which it changes.

The rate is the bias-reduced estimate of Cho and Garcia-Molina for visits that see that a page has changed,
but not how often. A weak prior keeps the first visits from deciding everything. Old visits fade, so that a
page may change its ways.
"""

import math
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.crawl.refresh.page_change import PageChange, PastVisits

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
WINDOW: Final = 48  # visits, after which their weight is halved
_PRIOR_VISITS: Final = 1.0
_PRIOR_CHANGES: Final = 0.4
PRIOR_DAYS: Final = 1.5


class VisitHistory(Struct, frozen=True, kw_only=True):
    """Of one page. Times are in milliseconds."""

    visited_at: int  # the last visit that had an answer
    visits: int = 0  # all of them
    changes: int = 0
    tries: float = 0.0  # the visits that count for the rate,
    hits: float = 0.0  # those of them that found a change,
    observed_ms: int = 0  # and the time between them
    touches: int = 0  # visits in a row that found a small difference
    misses: int = 0  # visits in a row that found no page
    failures: int = 0  # visits in a row without an answer
    gone_at: int | None = None
    prior_days: float = PRIOR_DAYS  # in which as much is expected of it before it was visited

    @property
    def rate(self) -> float:
        """Changes in a day, as far as is known; never 0."""
        tries, hits = self.tries + _PRIOR_VISITS, self.hits + _PRIOR_CHANGES
        days = self.observed_ms / DAY_MS + self.prior_days
        return -math.log((tries - hits + 0.5) / (tries + 0.5)) * tries / days

    @property
    def past(self) -> PastVisits:
        return PastVisits(misses=self.misses, touches=self.touches)

    def after(self, change: PageChange, at: int) -> "VisitHistory":
        """The history with one more visit."""
        if change is PageChange.FAILED:
            return replace(self, visits=self.visits + 1, failures=self.failures + 1)
        if change is PageChange.MISSED:
            return replace(self, visits=self.visits + 1, misses=self.misses + 1, failures=0)
        seen = self._weighed(change, at) if change.is_evidence else self
        small = change in (PageChange.TOUCHED, PageChange.NOISE)
        return replace(
            seen,
            visited_at=max(at, self.visited_at),
            visits=self.visits + 1,
            changes=self.changes + (change.is_told and change is not PageChange.NEW),
            touches=self.touches + 1 if small else 0,
            misses=0,
            failures=0,
            gone_at=at if change is PageChange.GONE else None if change.is_told else self.gone_at,
        )

    def _weighed(self, change: PageChange, at: int) -> "VisitHistory":
        fade = 0.5 if self.tries >= WINDOW else 1.0
        return replace(
            self,
            tries=self.tries * fade + 1,
            hits=self.hits * fade + change.is_change,
            observed_ms=round(self.observed_ms * fade) + max(0, at - self.visited_at),
        )
