"""What the report of an audit says about its numbers, wherever it is shown."""

from datetime import UTC, datetime
from typing import Final

from gossamer.web.audit import Report, Severity
from gossamer.web.bots import Purpose
from gossamer.web.site_audit import SiteReport

SEVERITIES: Final = {
    Severity.CRITICAL: ("Critical", "keeps the page from being found or read"),
    Severity.SERIOUS: ("Serious", "is found, read or protected wrongly"),
    Severity.MODERATE: ("Moderate", "makes the page do worse than it could"),
    Severity.MINOR: ("Minor", "is polish"),
    Severity.INFO: ("Good to know", "costs nothing"),
}
PURPOSES: Final = {
    Purpose.SEARCH: ("AI search", "finds pages to answer from"),
    Purpose.USER: ("Assistants", "fetch what their users ask for"),
    Purpose.TRAINING: ("Training", "collects what models are made of"),
}
_VERDICTS: Final = {
    Severity.CRITICAL: "Something keeps this page from being found or read as it should. That comes first.",
    Severity.SERIOUS: "The page can be read, but something important about it is wrong.",
    Severity.MODERATE: "Nothing serious is wrong. What is left would make the page do better.",
    Severity.MINOR: "The page is in good order. Only polish is left.",
}
_SITE_VERDICTS: Final = {
    Severity.CRITICAL: "Something keeps pages of this site from being found or read. That comes first.",
    Severity.SERIOUS: "The site can be read, but something important about it is wrong.",
    Severity.MODERATE: "Nothing serious is wrong. What is left would make the site do better.",
    Severity.MINOR: "The site is in good order. Only polish is left.",
}


def verdict(report: Report) -> str:
    return _VERDICTS.get(report.worst or Severity.INFO, "Nothing is wrong with this page.")


def site_verdict(report: SiteReport) -> str:
    return _SITE_VERDICTS.get(report.worst or Severity.INFO, "Nothing is wrong with this site.")


def band(score: int | None) -> str:
    """What a score is called, and coloured by."""
    if score is None:
        return "unknown"
    return "good" if score >= 90 else "fair" if score >= 70 else "weak" if score >= 50 else "poor"


def moment(seconds: float) -> str:
    told = datetime.fromtimestamp(seconds, UTC)
    return f"{told.day} {told:%B %Y, %H:%M} UTC"


def size(count: int) -> str:
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:,.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"
