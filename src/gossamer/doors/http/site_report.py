"""The report of a site's audit as a page, complete in itself like that of a single page."""

from typing import Any, Final
from urllib.parse import urlsplit

from gossamer import __version__
from gossamer.doors import wording
from gossamer.doors.http.report import Rendered, by_theme, counts, filled, gauge, groups
from gossamer.web.site_audit import PageLine, SiteReport
from gossamer.web.site_comparison import Comparison

MOST_SHOWN: Final = 500  # addresses in the table; the JSON has them all


def render(
    report: SiteReport, comparison: Comparison | None = None, *, version: str = __version__
) -> Rendered:
    return filled(
        "site_report.html",
        report=report,
        comparison=comparison,
        version=version,
        **_context(report, comparison),
    )


def _context(report: SiteReport, comparison: Comparison | None) -> dict[str, Any]:
    lines = sorted(report.pages, key=_urgency)
    return {
        "groups": groups(report.findings),
        "counts": counts(report.counted()),
        "host": urlsplit(report.site.start).netloc,
        "moment": wording.moment(report.audited_at),
        "before": None if comparison is None else wording.moment(comparison.before_at),
        "moved": [] if comparison is None else comparison.moved,
        "verdict": wording.site_verdict(report),
        "gauge": gauge(report.score),
        "passed": by_theme(report.themes, report.passed),
        "not_checked": by_theme(report.themes, report.not_checked),
        "themes": {one.theme: one.name for one in report.themes},
        "lines": lines[:MOST_SHOWN],
        "left": max(0, len(lines) - MOST_SHOWN),
    }


def _urgency(line: PageLine) -> tuple[int, int, str]:
    """Pages with the lowest score first, then the most findings; what is no page comes last."""
    return (101 if line.score is None else line.score, -len(line.findings), line.url)
