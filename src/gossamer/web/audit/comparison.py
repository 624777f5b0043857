"""Two audits of one site: what was fixed between them, what is new, and what remains.

Faults are compared page by page. A fault that could not be looked at again, because its page was not seen or
its check had no answer, counts as neither fixed nor remaining.
"""

from collections import Counter
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gossamer.web.audit.check import SEVERITIES, Severity, Theme
from gossamer.web.audit.report import AuditReport, Finding

MAX_CHANGE_URLS: Final = 50
WHOLE_SITE: Final = ""  # stands for the address of a fault of the whole site

Fault = tuple[str, str]  # the check's id, and the page's address


class Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the findings of one check have changed."""

    id: str
    severity: Severity
    theme: Theme
    title: str
    fixed: int
    new: int
    remaining: int
    unseen: int
    fixed_urls: Annotated[tuple[str, ...], Meta(description=f"The first {MAX_CHANGE_URLS} of them.")]
    new_urls: Annotated[tuple[str, ...], Meta(description=f"The first {MAX_CHANGE_URLS} of them.")]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An audit of a site against an earlier one."""

    audit_id: Annotated[str, Meta(description="The id of the earlier audit.")] = ""
    before_at: float  # Unix seconds
    before_score: int
    score: int
    fixed: int
    new: int
    remaining: int
    unseen: int
    pages_gone: int
    pages_new: int
    changes: Annotated[tuple[Change, ...], Meta(description="The worst first.")]

    @property
    def moved(self) -> list[Change]:
        """The changes with something fixed or new."""
        return [change for change in self.changes if change.fixed or change.new]


def compare(before: AuditReport, after: AuditReport, *, audit_id: str = "") -> Comparison:
    old, new = _faults(before), _faults(after)
    fates: dict[Fault, str] = {fault: "remaining" if fault in old else "new" for fault in new}
    again = _Coverage(after)
    fates.update((fault, "fixed" if again.covers(fault) else "unseen") for fault in old - new)
    totals = Counter(fates.values())
    was, is_now = _addresses(before), _addresses(after)
    return Comparison(
        audit_id=audit_id,
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


class _Coverage:
    """What the later audit has looked at."""

    def __init__(self, report: AuditReport) -> None:
        self._pages = _addresses(report)
        self._is_complete = report.site is not None and report.site.is_complete
        self._not_checked = {one.id for one in report.not_checked}

    def covers(self, fault: Fault) -> bool:
        """A page that a complete crawl no longer finds has lost its faults too."""
        check, url = fault
        if check in self._not_checked:
            return False
        return url == WHOLE_SITE or url in self._pages or self._is_complete


def _faults(report: AuditReport) -> set[Fault]:
    found = {(check, page.url) for page in report.pages for check in page.findings}
    return found | {(check, WHOLE_SITE) for check in report.whole}


def _addresses(report: AuditReport) -> set[str]:
    return {page.url for page in report.pages}


def _changes(before: AuditReport, after: AuditReport, fates: dict[Fault, str]) -> list[Change]:
    findings = {one.id: one for one in (*before.findings, *after.findings)}
    by_check: dict[str, dict[str, list[str]]] = {}
    for (check, url), fate in sorted(fates.items()):
        by_check.setdefault(check, {}).setdefault(fate, []).append(url)
    changes = [_change(findings[check], urls) for check, urls in by_check.items()]
    return sorted(changes, key=lambda one: (SEVERITIES.index(one.severity), -one.new, -one.fixed, one.id))


def _change(finding: Finding, urls: dict[str, list[str]]) -> Change:
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
        fixed_urls=tuple(fixed[:MAX_CHANGE_URLS]),
        new_urls=tuple(new[:MAX_CHANGE_URLS]),
    )
