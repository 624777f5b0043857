"""Audits over HTTP: what search engines and agents see of a page."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response
from ulid import ULID

from gossamer import problems
from gossamer.doors.http import moments, report
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.jobs import Cursor, tenant_seen_by
from gossamer.doors.http.page import prefers_json
from gossamer.doors.http.routing import Route
from gossamer.flows import audit as flow
from gossamer.flows.audit import Options
from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.state import audits, job_table
from gossamer.state.audits import Audit
from gossamer.state.jobs import Job, Jobs, NewJob, State
from gossamer.state.tenants import Role
from gossamer.web.audit import Report, Severity, Theme
from gossamer.web.url import Url

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


class NewAudit(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which page to audit."""

    url: Annotated[str, Meta(description="The address of the page.")]
    options: AuditOptions = msgspec.field(default_factory=AuditOptions)


class AuditAccepted(msgspec.Struct, rename="camel"):
    """The audit is under way."""

    job_id: str
    audit_id: str
    status_url: Annotated[str, Meta(description="Ask here until the job is done.")]
    events_url: Annotated[str, Meta(description="Or follow it here.")]
    report_url: Annotated[str, Meta(description="What came of it; a page for people, JSON for programs.")]


class ShownTheme(msgspec.Struct, rename="camel"):
    """One side of the page."""

    theme: Theme
    name: str
    score: int | None
    findings: int
    passed: int
    not_checked: int


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


class ShownAudit(msgspec.Struct, rename="camel"):
    """An audit; without a report until its job is done."""

    audit_id: str
    job_id: str
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


class AuditLine(msgspec.Struct, rename="camel"):
    """An audit in a list."""

    audit_id: str
    job_id: str
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


class Audits:
    def __init__(self, jobs: Jobs, dialer: Dialer) -> None:
        self._jobs = jobs
        self._dialer = dialer

    async def create_audit(self, exchange: Exchange, body: NewAudit) -> Response:
        url = Url.parse(body.url)
        self._dialer.admit(url.host, url.port)
        options = Options(body.options.max_links, body.options.timeout / 1000)
        tenant, audit_id = exchange.caller.tenant_id, str(ULID())
        wanted = NewJob(
            kind=flow.KIND,
            tenant_id=tenant,
            payload=flow.Payload(audit_id, url.href, options),
            idempotency_key=flow.idempotency_key(tenant, url, options),
            request_id=exchange.request_id,
        )
        async with self._jobs.database.write() as connection:
            job = await job_table.put(connection, wanted)
            if job.job_id == wanted.job_id:
                await audits.add(
                    connection,
                    audit_id,
                    tenant_id=tenant,
                    job_id=job.job_id,
                    url=url.href,
                    options_json=msgspec.json.encode(options).decode(),
                )
            known = await audits.of_job(connection, job.job_id)
            accepted = answer(_accepted(job, known.id if known else audit_id), 202)
            await exchange.remember(connection, accepted)
        self._jobs.wake(job.kind)
        return accepted

    async def list_audits(self, exchange: Exchange, query: AuditQuery) -> AuditList:
        async with self._jobs.database.read() as connection:
            found = await audits.listing(
                connection,
                tenant_id=tenant_seen_by(exchange.caller),
                before=query.cursor,
                limit=query.limit + 1,
            )
        page = found[: query.limit]
        return AuditList([_line(audit) for audit in page], page[-1].id if len(found) > query.limit else None)

    async def get_audit(self, exchange: Exchange, id: str) -> Response:
        audit, job = await self._audit(exchange, id)
        if audit.report_json is None or not _wants_page(exchange):
            return answer(_shown(audit, job))
        rendered = report.render(msgspec.json.decode(audit.report_json, type=Report))
        return Response(rendered.body, headers=rendered.headers)

    async def _audit(self, exchange: Exchange, audit_id: str) -> tuple[Audit, Job | None]:
        tenant = tenant_seen_by(exchange.caller)
        async with self._jobs.database.read() as connection:
            audit = await audits.get(connection, audit_id)
            job = await job_table.get(connection, audit.job_id) if audit else None
        if audit is None or (tenant is not None and audit.tenant_id != tenant):
            raise Problem(problems.NOT_FOUND, "There is no audit with this id.")
        return audit, job

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Audits"}
        return [
            Route(
                method="POST",
                path="/audits",
                handler=self.create_audit,
                summary="Audit a page",
                description="The same audit, asked for again while it is queued or running, is one.",
                status=202,
                answers=AuditAccepted,
                problems=(problems.INVALID_URL,),
                example_body=NewAudit("https://example.com/"),
                example=_EXAMPLE_ACCEPTED,
                **common,
            ),
            Route(
                method="GET",
                path="/audits",
                handler=self.list_audits,
                summary="List your audits, newest first",
                example=AuditList([_EXAMPLE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/audits/{id}",
                handler=self.get_audit,
                summary="What came of an audit",
                description="A report for people with `Accept: text/html`, else JSON.",
                answers=ShownAudit,
                parameters={"id": "The audit's id."},
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE_AUDIT,
                **common,
            ),
        ]


def _wants_page(exchange: Exchange) -> bool:
    accept = exchange.header(b"accept") or ""
    return "text/html" in accept and not prefers_json(accept)


def _accepted(job: Job, audit_id: str) -> AuditAccepted:
    status = f"/api/jobs/{job.job_id}"
    return AuditAccepted(job.job_id, audit_id, status, f"{status}/events", f"/audits/{audit_id}")


def _line(audit: Audit) -> AuditLine:
    created, finished = moments.stored(audit.created_at), moments.stored(audit.finished_at)
    return AuditLine(audit.id, audit.job_id, audit.url, audit.score, created, finished)


def _shown(audit: Audit, job: Job | None) -> ShownAudit:
    """Jobs are forgotten in time; reports are not."""
    told = camel(msgspec.json.decode(audit.report_json)) if audit.report_json else {}
    return ShownAudit(
        audit_id=audit.id,
        job_id=audit.job_id,
        url=audit.url,
        status=job.status if job else State.DONE if audit.report_json else State.FAILED,
        created_at=moments.stored(audit.created_at),
        finished_at=moments.stored(job.finished_at if job else audit.finished_at),
        error=job.last_error if job else None,
        score=audit.score,
        themes=msgspec.convert(told.get("themes", []), list[ShownTheme]),
        findings=msgspec.convert(told.get("findings", []), list[ShownFinding]),
        passed=told.get("passed", []),
        not_checked=told.get("notChecked", []),
        page=told.get("page"),
        agent=told.get("agent"),
        preview=told.get("preview"),
    )


def camel(value: Any) -> Any:
    """A stored report with its names as the API spells them; it has no keys but names."""
    if isinstance(value, dict):
        return {_camel(name): camel(inner) for name, inner in value.items()}
    return [camel(inner) for inner in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_EXAMPLE_ACCEPTED: Final = AuditAccepted(
    _EXAMPLE_ID,
    "01JGGR2Z3WAAAAAAAAAAAAAAAA",
    f"/api/jobs/{_EXAMPLE_ID}",
    f"/api/jobs/{_EXAMPLE_ID}/events",
    "/audits/01JGGR2Z3WAAAAAAAAAAAAAAAA",
)
_EXAMPLE_LINE: Final = AuditLine(
    "01JGGR2Z3WAAAAAAAAAAAAAAAA",
    _EXAMPLE_ID,
    "https://example.com/",
    87,
    "2026-01-01T12:00:00.000Z",
    "2026-01-01T12:00:04.000Z",
)
_EXAMPLE_AUDIT: Final = ShownAudit(
    audit_id="01JGGR2Z3WAAAAAAAAAAAAAAAA",
    job_id=_EXAMPLE_ID,
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
