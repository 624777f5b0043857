"""The shapes of audits over HTTP: what is asked for, and what is told of a page or of a whole site."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gossamer.doors.http import moments
from gossamer.doors.http.jobs import Cursor
from gossamer.flows import audit as flow
from gossamer.flows import site_audit
from gossamer.flows.site_audit import Compared
from gossamer.state.audits import Audit
from gossamer.state.jobs import Job, State
from gossamer.web.audit import Severity, Theme

MOST_LISTED: Final = 100
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class AuditOptions(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """How thorough to be."""

    max_links: Annotated[
        int, Meta(ge=0, le=flow.MOST_LINKS, description="Links of the page that are tried; 0 for none.")
    ] = 20
    timeout: Annotated[int, Meta(ge=1_000, le=60_000, description="Milliseconds for the page itself.")] = (
        30_000
    )
    max_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=site_audit.MOST_PAGES,
            description="With more than one, the whole site is crawled from here and audited; so many pages.",
        ),
    ] = 1


class NewAudit(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which page or site to audit."""

    url: Annotated[str, Meta(description="The address of the page, or of where the site begins.")]
    options: AuditOptions = msgspec.field(default_factory=AuditOptions)


class AuditAccepted(msgspec.Struct, rename="camel"):
    """The audit is under way."""

    job_id: str
    audit_id: str
    status_url: Annotated[str, Meta(description="Ask here until the job is done.")]
    events_url: Annotated[str, Meta(description="Or follow it here.")]
    report_url: Annotated[str, Meta(description="What came of it; a page for people, JSON for programs.")]


class ShownTheme(msgspec.Struct, rename="camel"):
    """One side of the page, or of the site."""

    theme: Theme
    name: str
    score: int | None
    findings: int
    passed: int
    not_checked: int


class ShownPlace(msgspec.Struct, rename="camel"):
    """One thing that is wrong on a site, and where."""

    evidence: str
    urls: Annotated[list[str], Meta(description="Pages that have it; none where it is the whole site's.")]
    more: Annotated[int, Meta(description="Pages that are not named.")]


class ShownFinding(msgspec.Struct, rename="camel"):
    """Something to do something about."""

    id: str
    severity: Severity
    theme: Theme
    title: str
    why: str
    fix: str
    evidence: list[str]
    more: Annotated[int, Meta(description="Pieces of evidence that are not shown.")]
    scope: Annotated[
        Literal["page", "site"], Meta(description="Whether it was asked of each page, or of all together.")
    ] = "page"
    pages: Annotated[int, Meta(description="Pages of the site that have it.")] = 0
    places: list[ShownPlace] = msgspec.field(default_factory=list)


class ShownAudit(msgspec.Struct, rename="camel"):
    """An audit; without a report until its job is done."""

    audit_id: str
    job_id: str
    kind: Literal["page", "site"]
    url: str
    status: State
    created_at: str
    finished_at: str | None
    error: str | None
    score: Annotated[int | None, Meta(description="0 to 100.")]
    themes: list[ShownTheme]
    findings: Annotated[list[ShownFinding], Meta(description="The worst first.")]
    passed: list[dict[str, Any]]
    not_checked: list[dict[str, Any]]
    page: dict[str, Any] | None
    agent: Annotated[dict[str, Any] | None, Meta(description="What an agent gets of the page.")]
    preview: Annotated[dict[str, Any] | None, Meta(description="What others show of the page.")]
    site: Annotated[dict[str, Any] | None, Meta(description="What was seen of a site.")] = None
    pages: Annotated[list[dict[str, Any]], Meta(description="Every address of a site.")] = msgspec.field(
        default_factory=list
    )
    crawl_id: Annotated[str | None, Meta(description="The crawl that fetched the pages of a site.")] = None
    comparison: Annotated[
        dict[str, Any] | None,
        Meta(description="What was fixed, is new and remains since another audit of the site."),
    ] = None


class AuditLine(msgspec.Struct, rename="camel"):
    """An audit in a list."""

    audit_id: str
    job_id: str
    kind: Literal["page", "site"]
    url: str
    score: int | None
    created_at: str
    finished_at: str | None


class AuditList(msgspec.Struct, rename="camel"):
    """Audits, newest first."""

    audits: list[AuditLine]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class AuditQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which audits to list."""

    cursor: Annotated[Cursor | None, Meta(description="Where the page before ended.")] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="Audits a page.")] = 50


class ReportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What a site's audit is compared with."""

    against: Annotated[
        Cursor | None,
        Meta(description="The id of another audit of the site; without it, the last one before this."),
    ] = None


def accepted(job: Job, audit_id: str) -> AuditAccepted:
    status = f"/api/jobs/{job.job_id}"
    return AuditAccepted(job.job_id, audit_id, status, f"{status}/events", f"/audits/{audit_id}")


def line(audit: Audit) -> AuditLine:
    created, finished = moments.stored(audit.created_at), moments.stored(audit.finished_at)
    kind: Literal["page", "site"] = "site" if site_audit.is_site(audit) else "page"
    return AuditLine(audit.id, audit.job_id, kind, audit.url, audit.score, created, finished)


def shown(audit: Audit, job: Job | None, compared: Compared | None = None) -> ShownAudit:
    """Jobs are forgotten in time; reports are not."""
    told = camel(msgspec.json.decode(audit.report_json)) if audit.report_json else {}
    return ShownAudit(
        audit_id=audit.id,
        job_id=audit.job_id,
        kind="site" if site_audit.is_site(audit) else "page",
        url=audit.url,
        status=job.status if job else State.DONE if audit.report_json else State.FAILED,
        created_at=moments.stored(audit.created_at),
        finished_at=moments.stored(job.finished_at if job else audit.finished_at),
        error=job.last_error if job else None,
        score=audit.score,
        themes=msgspec.convert(told.get("themes", []), list[ShownTheme]),
        findings=msgspec.convert([_finding(one) for one in told.get("findings", [])], list[ShownFinding]),
        passed=told.get("passed", []),
        not_checked=told.get("notChecked", []),
        page=told.get("page"),
        agent=told.get("agent"),
        preview=told.get("preview"),
        site=told.get("site"),
        pages=told.get("pages", []),
        crawl_id=audit.crawl_id,
        comparison=None if compared is None else _comparison(compared),
    )


def _finding(told: dict[str, Any]) -> dict[str, Any]:
    """Of a site it has places; their evidence is told where that of a page is."""
    places = told.get("places")
    return told if places is None else {**told, "evidence": [place["evidence"] for place in places]}


def _comparison(compared: Compared) -> dict[str, Any]:
    told: dict[str, Any] = camel(msgspec.to_builtins(compared.comparison))
    return {"auditId": compared.audit_id, **told}


def camel(value: Any) -> Any:
    """A stored report with its names and times as the API spells them; it has no keys but names."""
    if isinstance(value, dict):
        return {_camel(name): _spelt(name, inner) for name, inner in value.items()}
    return [camel(inner) for inner in value] if isinstance(value, list | tuple) else value


def _spelt(name: str, value: Any) -> Any:
    is_time = name.endswith("_at") and isinstance(value, int | float)
    return moments.iso(value) if is_time else camel(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


EXAMPLE_ACCEPTED: Final = AuditAccepted(
    _EXAMPLE_ID,
    "01JGGR2Z3WAAAAAAAAAAAAAAAA",
    f"/api/jobs/{_EXAMPLE_ID}",
    f"/api/jobs/{_EXAMPLE_ID}/events",
    "/audits/01JGGR2Z3WAAAAAAAAAAAAAAAA",
)
EXAMPLE_LINE: Final = AuditLine(
    "01JGGR2Z3WAAAAAAAAAAAAAAAA",
    _EXAMPLE_ID,
    "page",
    "https://example.com/",
    87,
    "2026-01-01T12:00:00.000Z",
    "2026-01-01T12:00:04.000Z",
)
EXAMPLE_AUDIT: Final = ShownAudit(
    audit_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    job_id=_EXAMPLE_ID,
    kind="page",
    url="https://example.com/",
    status=State.DONE,
    created_at="2026-01-01T12:00:00.000Z",
    finished_at="2026-01-01T12:00:04.000Z",
    error=None,
    score=87,
    themes=[ShownTheme(Theme.TITLES, "Title and description", 88, 1, 7, 0)],
    findings=[
        ShownFinding(
            id="description-missing",
            severity=Severity.MODERATE,
            theme=Theme.TITLES,
            title="The page has no description",
            why="Search engines then choose a passage by themselves.",
            fix="Add <meta name=description> with one or two sentences.",
            evidence=[],
            more=0,
        )
    ],
    passed=[],
    not_checked=[],
    page=None,
    agent=None,
    preview=None,
)
