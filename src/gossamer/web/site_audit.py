"""An audit of a site: every check asked of each page, others of all pages together, and what it is worth.

The score. Every finding costs its theme the points of its severity, times the share of the pages that have
it; a theme has 100 points and never less than 0. The score of the site is the mean of its themes by their
weights, rounded down, and no higher than its worst findings allow: what a page's ceiling takes from it, the
share of the pages takes from the site. So fixing a finding on any page never lowers the score, and 100 means
that there is none that costs anything.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Final, Literal

from gossamer.web.audit import (
    CEILINGS,
    LONGEST_EVIDENCE,
    POINTS,
    SEVERITIES,
    THEMES,
    NotChecked,
    Passed,
    Report,
    Severity,
    Theme,
    ThemeScore,
    short,
)
from gossamer.web.checks import CHECKS
from gossamer.web.checks.rule import Check, Unanswered
from gossamer.web.site_checks import SITE_CHECKS
from gossamer.web.site_checks.rule import NOTHING_READ, Hit, SiteAnswer, SiteCheck
from gossamer.web.site_checks.site import Site, SitePage

MOST_PLACES: Final = 20  # of one finding that are told
MOST_URLS: Final = 10  # of one place
WHOLE: Final = ""  # the address of what is wrong with the site as a whole

# Asked of the pages together in another way: what is a fault of a page may be right for one of many.
REPLACED: Final = frozenset(
    {"noindex", "canonical-elsewhere", "links-broken", "links-broken-outside", "sitemap-omits-page"}
)
PAGE_CHECKS: Final = tuple(check for check in CHECKS if check.id not in REPLACED)

Scope = Literal["page", "site"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One thing that is wrong, and where."""

    evidence: str
    urls: tuple[str, ...]  # none: the whole site
    more: int = 0  # pages that are not named


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFinding:
    id: str
    scope: Scope  # asked of each page, or of all of them together
    severity: Severity
    theme: Theme
    title: str
    why: str
    fix: str
    pages: int  # that have it; 0: it is the whole site's
    places: tuple[Place, ...]
    more: int = 0  # places that are not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLine:
    """What is told of each address."""

    url: str
    status: int | None
    problem: str
    final_url: str
    title: str
    clicks: int | None  # from the start; None: no link leads there
    words: int | None
    score: int | None  # None: its page was not checked by itself
    findings: tuple[str, ...]  # their ids


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    start: str
    addresses: int  # that were asked for
    pages: int  # of the site that can be read
    indexable: int
    checked: int  # pages that were checked each by itself
    statuses: tuple[tuple[str, int], ...]  # `2xx`, `3xx`, …, and how many
    listed: int | None  # by sitemaps
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    score: int
    audited_at: float  # Unix seconds
    crawl_id: str
    themes: tuple[ThemeScore, ...]
    findings: tuple[SiteFinding, ...]  # the worst first, and the widest spread of them
    passed: tuple[Passed, ...]
    not_checked: tuple[NotChecked, ...]
    site: SiteFacts
    pages: tuple[PageLine, ...]
    whole: tuple[str, ...] = ()  # ids of findings that are the whole site's

    @property
    def worst(self) -> Severity | None:
        return self.findings[0].severity if self.findings else None

    def counted(self) -> dict[Severity, int]:
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}


Question = Check | SiteCheck


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one check on the whole site."""

    check: Question
    hits: tuple[Hit, ...]
    unanswered: Unanswered | None = None

    @property
    def urls(self) -> frozenset[str]:
        return frozenset(url for hit in self.hits for url in hit.urls)

    @property
    def is_whole(self) -> bool:
        return any(not hit.urls for hit in self.hits)

    def share(self, pages: int) -> Fraction:
        """Of the pages, that have it."""
        if not self.hits:
            return Fraction(0)
        if self.is_whole or not pages:
            return Fraction(1)
        return min(Fraction(1), Fraction(len(self.urls), pages))


class Gathering:
    """The reports of single pages, put together as they come: what they have in common is kept once."""

    def __init__(self) -> None:
        self.scores: dict[str, int] = {}
        self._hits: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._passed: set[str] = set()
        self._reasons: dict[str, Unanswered] = {}

    def add(self, report: Report) -> None:
        url = report.page.final_url
        self.scores[url] = report.score
        for finding in report.findings:
            self._hits[finding.id]["; ".join(finding.evidence[:3])].append(url)
        self._passed.update(one.id for one in report.passed)
        for one in report.not_checked:
            self._reasons.setdefault(one.id, Unanswered(one.reason, harmless=False))

    def verdict(self, check: Check) -> Verdict:
        groups = self._hits.get(check.id, {})
        hits = [Hit(short(text, LONGEST_EVIDENCE), tuple(urls)) for text, urls in groups.items()]
        hits.sort(key=lambda hit: -len(hit.urls))
        if hits or check.id in self._passed:
            return Verdict(check, tuple(hits))
        missing = Unanswered("No page was checked by itself", harmless=False)
        return Verdict(check, (), self._reasons.get(check.id, missing))


def site_audit(
    site: Site,
    gathering: Gathering,
    *,
    now: float,
    crawl_id: str = "",
    page_checks: Iterable[Check] = PAGE_CHECKS,
    site_checks: Iterable[SiteCheck] = SITE_CHECKS,
) -> SiteReport:
    """Never raises: a check that does has no answer."""
    verdicts = [gathering.verdict(check) for check in page_checks]
    verdicts += [_asked(check, site) for check in site_checks]
    pages = len(site.documents)
    points, themes = site_score(verdicts, pages)
    found = [verdict for verdict in verdicts if verdict.hits]
    found.sort(key=lambda one: (SEVERITIES.index(one.check.severity), -one.share(pages)))
    return SiteReport(
        score=points,
        audited_at=now,
        crawl_id=crawl_id,
        themes=themes,
        findings=tuple(map(_finding, found)),
        passed=tuple(
            Passed(one.check.id, one.check.theme, one.check.passed)
            for one in verdicts
            if not one.hits and one.unanswered is None
        ),
        not_checked=tuple(
            NotChecked(one.check.id, one.check.theme, one.check.passed, one.unanswered.reason)
            for one in verdicts
            if one.unanswered is not None
        ),
        site=_facts(site, gathering),
        pages=tuple(_lines(site, gathering, found)),
        whole=tuple(one.check.id for one in found if one.is_whole),
    )


def site_score(verdicts: Iterable[Verdict], pages: int) -> tuple[int, tuple[ThemeScore, ...]]:
    verdicts = list(verdicts)
    grouped: Mapping[Theme, list[Verdict]] = {
        theme: [one for one in verdicts if one.check.theme is theme] for theme in THEMES
    }
    exact = {theme: _theme_points(group, pages) for theme, group in grouped.items()}
    known = [(points, THEMES[theme][1]) for theme, points in exact.items() if points is not None]
    total = sum((points * weight for points, weight in known), Fraction(0))
    mean = total / sum(weight for _, weight in known) if known else Fraction(0)
    themes = tuple(_theme(theme, group, exact[theme]) for theme, group in grouped.items() if group)
    return floor(min([mean, *_ceilings(verdicts, pages)])), themes


def _ceilings(verdicts: list[Verdict], pages: int) -> Iterator[Fraction]:
    for severity, ceiling in CEILINGS.items():
        shares = [one.share(pages) for one in verdicts if one.check.severity is severity]
        yield 100 - (100 - ceiling) * max(shares, default=Fraction(0))


def _theme_points(verdicts: list[Verdict], pages: int) -> Fraction | None:
    if all(one.unanswered is not None and not one.unanswered.harmless for one in verdicts):
        return None
    costs = sum((POINTS[one.check.severity] * one.share(pages) for one in verdicts), Fraction(0))
    return max(Fraction(0), 100 - costs)


def _theme(theme: Theme, verdicts: list[Verdict], points: Fraction | None) -> ThemeScore:
    return ThemeScore(
        theme=theme,
        name=THEMES[theme][0],
        score=None if points is None else floor(points),
        findings=sum(bool(one.hits) and one.check.severity is not Severity.INFO for one in verdicts),
        passed=sum(not one.hits and one.unanswered is None for one in verdicts),
        not_checked=sum(one.unanswered is not None for one in verdicts),
    )


def _asked(check: SiteCheck, site: Site) -> Verdict:
    try:
        answer: SiteAnswer = check.answer(site)
    except Exception as error:  # noqa: BLE001  (one faulty check must not take the other answers with it)
        answer = Unanswered(f"The check failed ({type(error).__name__})", harmless=False)
    if not site.documents and (isinstance(answer, Unanswered) or not answer):
        answer = NOTHING_READ  # nothing is right with pages that nobody has seen
    return Verdict(check, (), answer) if isinstance(answer, Unanswered) else Verdict(check, tuple(answer))


def _finding(verdict: Verdict) -> SiteFinding:
    check = verdict.check
    return SiteFinding(
        id=check.id,
        scope="page" if isinstance(check, Check) else "site",
        severity=check.severity,
        theme=check.theme,
        title=check.title,
        why=check.why,
        fix=check.fix,
        pages=len(verdict.urls),
        places=tuple(
            Place(
                evidence=short(hit.text, LONGEST_EVIDENCE),
                urls=hit.urls[:MOST_URLS],
                more=max(0, len(hit.urls) - MOST_URLS),
            )
            for hit in verdict.hits[:MOST_PLACES]
        ),
        more=max(0, len(verdict.hits) - MOST_PLACES),
    )


def _facts(site: Site, gathering: Gathering) -> SiteFacts:
    statuses = Counter(map(_status_class, site.pages))
    return SiteFacts(
        start=site.start,
        addresses=len(site.pages),
        pages=len(site.documents),
        indexable=len(site.indexable),
        checked=len(gathering.scores),
        statuses=tuple(sorted(statuses.items())),
        listed=None if site.listed is None else len(set(site.listed)),
        is_complete=site.is_complete,
    )


def _status_class(page: SitePage) -> str:
    if page.blocked:
        return "closed"
    if page.status is None:
        return "no answer"
    return "3xx" if page.is_redirected and page.is_good else f"{page.status // 100}xx"


def _lines(site: Site, gathering: Gathering, found: list[Verdict]) -> Iterator[PageLine]:
    """Every address that was asked for, and every other at which something was found."""
    ids: dict[str, list[str]] = defaultdict(list)
    for verdict in found:
        for url in verdict.urls:
            ids[url].append(verdict.check.id)
    seen = set()
    for page in site.pages:
        seen.add(page.url)
        yield PageLine(
            url=page.url,
            status=page.status,
            problem=page.problem,
            final_url=page.final_url,
            title=short(page.title, LONGEST_EVIDENCE),
            clicks=site.clicks.get(page.final_url) if page.is_good else None,
            words=page.words,
            score=gathering.scores.get(page.url),
            findings=tuple(ids.get(page.url, ())),
        )
    for url in ids.keys() - seen:
        yield _elsewhere(url, tuple(ids[url]), gathering)


def _elsewhere(url: str, findings: tuple[str, ...], gathering: Gathering) -> PageLine:
    return PageLine(
        url=url,
        status=None,
        problem="",
        final_url=url,
        title="",
        clicks=None,
        words=None,
        score=gathering.scores.get(url),
        findings=findings,
    )
