"""Two audits of one site: what was fixed between them, what is new, and what remains.

Faults are compared page by page. What could not be looked at again is neither fixed nor there: its page was
not seen, or its check had no answer.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from gossamer.web.audit import SEVERITIES, Severity, Theme
from gossamer.web.site_audit import WHOLE, SiteFinding, SiteReport

MOST_URLS: Final = 50  # of one change that are named

Fault = tuple[str, str]  # the check's id, and the page's address


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one check's findings."""

    id: str
    severity: Severity
    theme: Theme
    title: str
    fixed: int
    new: int
    remaining: int
    unseen: int
    fixed_urls: tuple[str, ...]  # the first of them
    new_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    before_at: float  # Unix seconds
    before_score: int
    score: int
    fixed: int
    new: int
    remaining: int
    unseen: int
    pages_gone: int
    pages_new: int
    changes: tuple[Change, ...]  # the worst first

    @property
    def moved(self) -> list[Change]:
        """Those that are more than what it was."""
        return [change for change in self.changes if change.fixed or change.new]


def compare(before: SiteReport, after: SiteReport) -> Comparison:
    old, new = _faults(before), _faults(after)
    fates: dict[Fault, str] = {fault: "remaining" if fault in old else "new" for fault in new}
    again = _Again(after)
    fates.update((fault, "fixed" if again.looked(fault) else "unseen") for fault in old - new)
    totals = Counter(fates.values())
    was, is_now = _addresses(before), _addresses(after)
    return Comparison(
        before_at=before.audited_at,
        before_score=before.score,
        score=after.score,
        fixed=totals["fixed"],
        new=totals["new"],
        remaining=totals["remaining"],
        unseen=totals["unseen"],
        pages_gone=len(was - is_now),
        pages_new=len(is_now - was),
        changes=tuple(_changes(before, after, fates)),
    )


class _Again:
    """What the later audit has looked at."""

    def __init__(self, report: SiteReport) -> None:
        self._pages = _addresses(report)
        self._is_complete = report.site.is_complete
        self._unasked = {one.id for one in report.not_checked}

    def looked(self, fault: Fault) -> bool:
        """A page that a whole crawl does not find any more has lost its faults with it."""
        check, url = fault
        if check in self._unasked:
            return False
        return url == WHOLE or url in self._pages or self._is_complete


def _faults(report: SiteReport) -> set[Fault]:
    found = {(check, page.url) for page in report.pages for check in page.findings}
    return found | {(check, WHOLE) for check in report.whole}


def _addresses(report: SiteReport) -> set[str]:
    return {page.url for page in report.pages}


def _changes(before: SiteReport, after: SiteReport, fates: dict[Fault, str]) -> list[Change]:
    findings: dict[str, SiteFinding] = {one.id: one for one in (*before.findings, *after.findings)}
    by_check: dict[str, dict[str, list[str]]] = {}
    for (check, url), fate in sorted(fates.items()):
        by_check.setdefault(check, {}).setdefault(fate, []).append(url)
    made = [_change(findings[check], fate) for check, fate in by_check.items()]
    made.sort(key=lambda one: (SEVERITIES.index(one.severity), -one.new, -one.fixed, one.id))
    return made


def _change(finding: SiteFinding, urls: dict[str, list[str]]) -> Change:
    fixed, new = urls.get("fixed", []), urls.get("new", [])
    return Change(
        id=finding.id,
        severity=finding.severity,
        theme=finding.theme,
        title=finding.title,
        fixed=len(fixed),
        new=len(new),
        remaining=len(urls.get("remaining", ())),
        unseen=len(urls.get("unseen", ())),
        fixed_urls=tuple(fixed[:MOST_URLS]),
        new_urls=tuple(new[:MOST_URLS]),
    )
