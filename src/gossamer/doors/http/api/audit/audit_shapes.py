"""Bodies and answers of the audit endpoints."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.state.jobs.audits import Audit, ListedAudit
from gossamer.state.jobs.job import Job
from gossamer.web.audit.audit_answer import AuditAccepted, AuditAnswer, AuditLine
from gossamer.web.audit.check import Severity, Theme
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.report import (
    AuditReport,
    Finding,
    ThemeScore,
)
from gossamer.web.outcome.job_state import JobState
from gossamer.web.pages.timestamps import iso

MAX_LISTED: Final = 100
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"
_EXAMPLE_AUDIT_ID: Final = "01JGGR2Z3WAAAAAAAAAAAAAAAA"
_NO_REPORT: Final[dict[str, Any]] = {  # the fields of a report, as they are shown until there is one
    "themes": (),
    "findings": (),
    "passed": (),
    "not_checked": (),
    "page": None,
    "agent": None,
    "preview": None,
    "site": None,
    "pages": (),
    "whole": (),
}


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which audits to list."""

    cursor: Annotated[Cursor | None, Meta(description="`nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Audits per page.")] = 50


class ReportQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which audit to compare a site's audit with."""

    against: Annotated[
        Cursor | None,
        Meta(description="The id of another audit of the site; without it, the last one before this."),
    ] = None


def to_accepted(job: Job, audit_id: str) -> AuditAccepted:
    status = f"/api/jobs/{job.job_id}"
    return AuditAccepted(job.job_id, audit_id, status, f"{status}/events", f"/audits/{audit_id}")


def to_line(listed: ListedAudit) -> AuditLine:
    return AuditLine(**_line_fields(listed.audit, listed.status))


def to_answer(audit: Audit, job: Job | None, comparison: Comparison | None = None) -> AuditAnswer:
    """Reports are kept longer than jobs, so the job may be gone."""
    report = audit.report()
    fields = {
        **_line_fields(audit, ListedAudit(audit, job.status if job else None).status),
        **_NO_REPORT,
        "error": str(job.last_error) if job and job.last_error else None,
        "crawl_id": audit.crawl_id,
        "comparison": None if comparison is None else comparison_to_api(comparison),
    }
    if job is not None:
        fields["finished_at"] = timestamps.from_ms(job.finished_at)
    if report is not None:
        fields.update((name, getattr(report, name)) for name in _NO_REPORT)
        fields["audited_at"] = iso(report.audited_at)
    return AuditAnswer(**fields)


def _line_fields(audit: Audit, status: JobState) -> dict[str, Any]:
    return {
        "audit_id": audit.id,
        "job_id": audit.job_id,
        "kind": audit.options.scope,
        "url": audit.url,
        "status": status,
        "score": audit.score,
        "severities": audit.severities,
        "created_at": timestamps.from_ms(audit.created_at),
        "finished_at": timestamps.from_ms(audit.finished_at),
    }


def report_to_api(report: AuditReport) -> dict[str, Any]:
    """A report by itself, with its time as the API writes times."""
    return {**msgspec.to_builtins(report), "auditedAt": iso(report.audited_at)}


def comparison_to_api(comparison: Comparison) -> dict[str, Any]:
    return {**msgspec.to_builtins(comparison), "beforeAt": iso(comparison.before_at)}


EXAMPLE_ACCEPTED: Final = AuditAccepted(
    _EXAMPLE_ID,
    _EXAMPLE_AUDIT_ID,
    f"/api/jobs/{_EXAMPLE_ID}",
    f"/api/jobs/{_EXAMPLE_ID}/events",
    f"/audits/{_EXAMPLE_AUDIT_ID}",
)
_EXAMPLE_FIELDS: Final[dict[str, Any]] = {
    "audit_id": _EXAMPLE_AUDIT_ID,
    "job_id": _EXAMPLE_ID,
    "kind": "page",
    "url": "https://example.com/",
    "status": JobState.DONE,
    "score": 87,
    "severities": {Severity.MODERATE: 1},
    "created_at": "2026-01-01T12:00:00.000Z",
    "finished_at": "2026-01-01T12:00:04.000Z",
}
EXAMPLE_LINE: Final = AuditLine(**_EXAMPLE_FIELDS)
EXAMPLE_AUDIT: Final = AuditAnswer(
    **_EXAMPLE_FIELDS,
    error=None,
    passed=(),
    not_checked=(),
    page=None,
    agent=None,
    preview=None,
    themes=(
        ThemeScore(
            theme=Theme.TITLES, name="Title and description", score=88, findings=1, passed=7, not_checked=0
        ),
    ),
    findings=(
        Finding(
            id="description-missing",
            severity=Severity.MODERATE,
            theme=Theme.TITLES,
            title="The page has no description",
            why="Search engines then choose a passage by themselves.",
            fix="Add <meta name=description> with one or two sentences.",
            evidence=(),
            more=0,
        ),
    ),
)
