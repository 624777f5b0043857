"""The words for the numbers of an audit report, in every format."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from gossamer.web.audit.check import Scope, Severity
from gossamer.web.audit.report import AuditReport
from gossamer.web.robots.bots import Purpose

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
_VERDICTS: Final[Mapping[Severity, str]] = {
    Severity.SERIOUS: "The {} can be read, but something important about it is wrong.",
    Severity.MODERATE: "Nothing serious is wrong. Fixing the remaining findings would make the {} better.",
    Severity.MINOR: "The {} is in good order. Only polish is left.",
    Severity.INFO: "Nothing is wrong with this {}.",
}
_CRITICAL: Final[Mapping[Scope, str]] = {
    "page": "Something keeps this page from being found or read as it should. That comes first.",
    "site": "Something keeps pages of this site from being found or read. That comes first.",
}


def verdict(report: AuditReport) -> str:
    """The whole report in a sentence or two."""
    worst = report.worst or Severity.INFO
    if worst is Severity.CRITICAL:
        return _CRITICAL[report.scope]
    return _VERDICTS[worst].format(report.scope)


def band(score: int | None) -> str:
    """The name of a range of scores, which also decides the colour."""
    if score is None:
        return "unknown"
    return "good" if score >= 90 else "fair" if score >= 70 else "weak" if score >= 50 else "poor"


def moment(seconds: float) -> str:
    when = datetime.fromtimestamp(seconds, UTC)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def size(count: int) -> str:
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1_000:,.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"
