"""Hints: what a sitemap says about its pages, and whether that is to be believed.

`lastmod` tells that a page has changed, `changefreq` how often it may. A `changefreq` is as good as one
visit, so it matters until there are a few. A `lastmod` is measured by host, in two ways: how often a page
with a newer one had changed, beyond what was to be expected of it anyway, and how many of the changes were
announced. A site that always says "today" fails the first, one that never says anything the second. Hints of
a site that fails are noted and measured, but not followed.
"""

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.crawl.refresh.visit_history import DAY_MS

ENOUGH: Final = 8  # cases, before anything is concluded
TRIED_AT_ONCE: Final = 20  # hints of one reading that are followed before that
BELIEVED: Final = 0.3  # share of hints that are right, beyond chance, at least
COMPLETE: Final = 0.8  # share of announced changes, at least, for silence to mean anything
MOST_PATIENCE: Final = 5.0
_WINDOW: Final = 200  # cases, after which their weight is halved: sites change their ways
_AHEAD_MS: Final = 2 * DAY_MS  # a time further in the future is a mistake
_DAY_CHARS: Final = len("2026-01-01")
# The days in which a page would change about once in three times, in place of those of a page without a hint.
_PRIOR_DAYS: Final = {
    "always": 0.1,
    "hourly": 0.1,
    "daily": 0.3,
    "weekly": 2.2,
    "monthly": 6.0,
    "yearly": 6.0,
    "never": 6.0,
}


class PageHint(Struct, frozen=True):
    """What a sitemap says of one page."""

    url_hash: str
    said: "SaidTime | None"
    prior_days: float | None = None


class SaidTime(Struct, frozen=True):
    """A `lastmod`, in milliseconds. One that names a day may be any time of it."""

    first: int
    last: int

    def is_news(self, visited_at: int, said_before: int | None) -> bool:
        """Whether it tells of a change since the last visit. A day that was said before tells nothing."""
        if said_before is None:
            return self.first > visited_at
        return self.last > visited_at and self.last != said_before


def read_frequency(text: str) -> float | None:
    """The days of a `changefreq`; None: it is none."""
    return _PRIOR_DAYS.get(text.strip().lower()) if text else None


def read_time(text: str, now: int) -> SaidTime | None:
    """A W3C date with at least a day. None: it is none, or lies in the future."""
    try:
        found = datetime.fromisoformat(text.strip()) if len(text) >= _DAY_CHARS else None
        at = None if found is None else _to_ms(found)
    except (ValueError, OverflowError):
        return None
    if at is None or not 0 < at <= now + _AHEAD_MS:
        return None
    return SaidTime(at, at + DAY_MS - 1 if len(text.strip()) == _DAY_CHARS else at)


def _to_ms(time: datetime) -> int:
    known = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return round(known.timestamp() * 1_000)


class HintRecord(Struct, frozen=True, kw_only=True):
    """How good the hints of a host were. Old cases fade."""

    followed: float = 0.0  # hints after which the page was visited,
    confirmed: float = 0.0  # those of them that were changes,
    expected: float = 0.0  # those that would have been without a hint, by the rates of the pages,
    changes: float = 0.0  # changes that were found,
    announced: float = 0.0  # and those of them of which the sitemap told

    @property
    def rightness(self) -> float:
        """How likely a hint is right about a page that would not have changed by itself."""
        return max(0.0, self.confirmed - self.expected + 1) / (self._telling + 2)

    @property
    def is_believed(self) -> bool:
        return self.is_tried or self.rightness >= BELIEVED

    @property
    def is_tried(self) -> bool:
        """Whether too little is known to follow all hints."""
        return self._telling < ENOUGH

    @property
    def _telling(self) -> float:
        """The hints that tell anything: a page that changes all the time makes every hint right."""
        return max(0.0, self.followed - self.expected)

    @property
    def patience(self) -> float:
        """How many times longer pages may wait, since most changes are announced."""
        if self.changes < ENOUGH or not self.is_believed:
            return 1.0
        silent = 1 - self.announced / (self.changes + 1)
        return min(1 / silent, MOST_PATIENCE) if silent <= 1 - COMPLETE else 1.0

    def after_hint(self, *, changed: bool, expected: float = 0.0) -> "HintRecord":
        """`expected` is how likely the page had changed without one."""
        faded = self._faded(self.followed)
        found = faded.after_change(announced=True) if changed else faded
        return replace(
            found,
            followed=faded.followed + 1,
            confirmed=faded.confirmed + changed,
            expected=faded.expected + expected,
        )

    def after_change(self, *, announced: bool) -> "HintRecord":
        faded = self._faded(self.changes)
        return replace(faded, changes=faded.changes + 1, announced=faded.announced + announced)

    def _faded(self, cases: float) -> "HintRecord":
        if cases < _WINDOW:
            return self
        return HintRecord(**{name: getattr(self, name) / 2 for name in self.__struct_fields__})
