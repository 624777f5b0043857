"""What calls about audits are answered with."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gossamer.web.audit.check import Scope, Severity
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.report import (
    AgentView,
    AuditReport,
    Finding,
    NotChecked,
    PageFacts,
    PageLine,
    Passed,
    Preview,
    SiteFacts,
    ThemeScore,
)
from gossamer.web.outcome.job_state import JobState
from gossamer.web.pages.timestamps import seconds_of


class AuditAccepted(msgspec.Struct, frozen=True, rename="camel"):
    """The audit has been queued."""

    job_id: str
    audit_id: str
    status_url: Annotated[str, Meta(description="Ask here until the job is done.")]
    events_url: Annotated[str, Meta(description="Or follow it here.")]
    report_url: Annotated[str, Meta(description="The report: a page for people, JSON for programs.")]


class AuditLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An audit in a list."""

    audit_id: str
    job_id: str
    kind: Scope
    url: str
    status: JobState
    score: Annotated[int | None, Meta(description="0 to 100.")]
    severities: Annotated[
        dict[Severity, int] | None,
        Meta(description="How many findings there are of each severity; `null` until there is a report."),
    ]
    created_at: str
    finished_at: str | None


class AuditAnswer(AuditLine, frozen=True, kw_only=True, rename="camel"):
    """An audit; without a report until its job is done."""

    error: str | None
    themes: tuple[ThemeScore, ...]
    findings: Annotated[tuple[Finding, ...], Meta(description="The worst first.")]
    passed: tuple[Passed, ...]
    not_checked: tuple[NotChecked, ...]
    page: PageFacts | None
    agent: Annotated[AgentView | None, Meta(description="What an agent gets from the page.")]
    preview: Annotated[Preview | None, Meta(description="What others show of the page.")]
    site: Annotated[SiteFacts | None, Meta(description="What the crawl saw of a site.")] = None
    pages: Annotated[tuple[PageLine, ...], Meta(description="Every address of a site.")] = ()
    whole: Annotated[
        tuple[str, ...], Meta(description="The ids of findings that concern the whole site.")
    ] = ()
    audited_at: Annotated[str | None, Meta(description="The time of the report.")] = None
    crawl_id: Annotated[str | None, Meta(description="The crawl that fetched the pages of a site.")] = None
    comparison: Annotated[
        dict[str, Any] | None,
        Meta(description="What was fixed, is new and remains since another audit of the site."),
    ] = None

    def to_report(self) -> AuditReport:
        """The report of an audit that is done."""
        known = {name: getattr(self, name) for name in AuditReport.__struct_fields__}
        return AuditReport(**known | {"audited_at": seconds_of(self.audited_at or "")})

    def to_comparison(self) -> Comparison | None:
        if self.comparison is None:
            return None
        before = {"beforeAt": seconds_of(self.comparison["beforeAt"])}
        return msgspec.convert(self.comparison | before, Comparison)


class AuditList(msgspec.Struct, frozen=True, rename="camel"):
    """Audits, newest first."""

    audits: list[AuditLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]
