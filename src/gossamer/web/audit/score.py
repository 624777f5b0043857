"""The score of a page or a site: what is left of 100 points after every finding has taken its part.

A finding takes a part of the points that are left, by its severity. On a site it takes that part times the
square root of the share of the pages that have it: a fault of one page in a hundred costs a tenth of what it
costs on all of them, so that many faults of a few pages each show in the score. A theme's score counts
only its own findings.

So fixing a finding, or one page of it, never lowers the score. 100 means that no finding costs anything, and
one critical finding on all pages leaves no more than 49. A page is a site of one page.
"""

from collections.abc import Iterable, Mapping
from math import floor, prod, sqrt
from typing import Any, Final, Self

from msgspec import Struct

from gossamer.web.audit.check import Check, Hit, PageAnswer, Severity, SiteAnswer, Theme, Unanswered
from gossamer.web.audit.report import ThemeScore

PARTS: Final[Mapping[Severity, float]] = {  # of what is left, where every page has the finding
    Severity.CRITICAL: 0.51,
    Severity.SERIOUS: 0.21,
    Severity.MODERATE: 0.05,
    Severity.MINOR: 0.01,
    Severity.INFO: 0.0,
}
THEMES: Final[Mapping[Theme, str]] = {
    Theme.STATUS: "Status and redirects",
    Theme.TITLES: "Title and description",
    Theme.HEADINGS: "Headings",
    Theme.CONTENT: "Content",
    Theme.CANONICAL: "Canonical address",
    Theme.ROBOTS: "Robots and sitemap",
    Theme.LANGUAGES: "Languages",
    Theme.LINKS: "Links",
    Theme.IMAGES: "Images",
    Theme.STRUCTURED: "Structured data",
    Theme.SHARING: "Sharing",
    Theme.DOCUMENT: "Document",
    Theme.ADDRESS: "Address",
    Theme.SPEED: "Speed",
    Theme.SECURITY: "Security",
    Theme.AGENTS: "Agent readiness",
}


class CheckResult(Struct, frozen=True):
    """What one check found in the whole audit."""

    check: Check[Any]
    hits: tuple[Hit, ...] = ()
    unanswered: Unanswered | None = None

    @classmethod
    def of(cls, check: Check[Any], answer: PageAnswer | SiteAnswer) -> Self:
        if isinstance(answer, Unanswered):
            return cls(check, (), answer)
        return cls(check, tuple(Hit(one) if isinstance(one, str) else one for one in answer))

    @property
    def urls(self) -> frozenset[str]:
        return frozenset(url for hit in self.hits for url in hit.urls)

    @property
    def is_whole(self) -> bool:
        """Whether it concerns everything that was audited."""
        return any(not hit.urls for hit in self.hits)

    @property
    def is_known(self) -> bool:
        """Whether it is answered, or there is nothing that it could be asked about."""
        return self.unanswered is None or self.unanswered.harmless

    @property
    def has_passed(self) -> bool:
        return not self.hits and self.unanswered is None

    def share(self, pages: int) -> float:
        """The share of the pages that have it."""
        if not self.hits:
            return 0.0
        return 1.0 if self.is_whole or not pages else min(1.0, len(self.urls) / pages)

    def points_left(self, pages: int) -> float:
        """The part of the points that remains after this finding."""
        return 1 - PARTS[self.check.severity] * sqrt(self.share(pages))


def score(results: Iterable[CheckResult], pages: int = 1) -> tuple[int, tuple[ThemeScore, ...]]:
    """The score of everything together, and of each theme that has checks."""
    results = list(results)
    groups = {theme: [one for one in results if one.check.theme is theme] for theme in THEMES}
    themes = tuple(_score_theme(theme, group, pages) for theme, group in groups.items() if group)
    return _points(results, pages) or 0, themes


def _points(results: list[CheckResult], pages: int) -> int | None:
    """None if nothing is known."""
    if not any(one.is_known for one in results):
        return None
    return floor(round(100 * prod(one.points_left(pages) for one in results), 9))


def _score_theme(theme: Theme, results: list[CheckResult], pages: int) -> ThemeScore:
    return ThemeScore(
        theme=theme,
        name=THEMES[theme],
        score=_points(results, pages),
        findings=sum(bool(one.hits) and one.check.severity is not Severity.INFO for one in results),
        passed=sum(one.has_passed for one in results),
        not_checked=sum(one.unanswered is not None for one in results),
    )
