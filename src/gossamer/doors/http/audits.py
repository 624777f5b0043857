"""Audits over HTTP: what search engines and agents see of a page, or of a whole site."""

import asyncio
from typing import Any

import msgspec
from starlette.responses import Response
from ulid import ULID

from gossamer import problems
from gossamer.doors.http import audit_shapes as shapes
from gossamer.doors.http import report, site_report
from gossamer.doors.http.audit_shapes import (
    AuditAccepted,
    AuditList,
    AuditQuery,
    NewAudit,
    ReportQuery,
    ShownAudit,
)
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.jobs import tenant_seen_by
from gossamer.doors.http.page import prefers_json
from gossamer.doors.http.report import Rendered
from gossamer.doors.http.routing import Route
from gossamer.flows import audit as flow
from gossamer.flows import site_audit
from gossamer.flows.audit import Options
from gossamer.flows.site_audit import Compared
from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.state import audits, job_table
from gossamer.state.audits import Audit
from gossamer.state.jobs import Job, Jobs, NewJob
from gossamer.state.tenants import Role
from gossamer.web.audit import Report
from gossamer.web.site_audit import SiteReport
from gossamer.web.url import Url


class Audits:
    def __init__(self, jobs: Jobs, dialer: Dialer) -> None:
        self._jobs = jobs
        self._dialer = dialer

    async def create_audit(self, exchange: Exchange, body: NewAudit) -> Response:
        url = Url.parse(body.url)
        self._dialer.admit(url.host, url.port)
        options = Options(body.options.max_links, body.options.timeout / 1000, body.options.max_pages)
        tenant, audit_id = exchange.caller.tenant_id, str(ULID())
        wanted = NewJob(
            kind=flow.KIND if options.max_pages == 1 else site_audit.KIND,
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
            accepted = answer(shapes.accepted(job, known.id if known else audit_id), 202)
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
        return AuditList(
            [shapes.line(audit) for audit in page], page[-1].id if len(found) > query.limit else None
        )

    async def get_audit(self, exchange: Exchange, id: str, query: ReportQuery) -> Response:
        audit, job = await self._audit(exchange, id)
        compared = await self._compared(exchange, audit, query.against)
        if not _wants_page(exchange):
            return answer(await asyncio.to_thread(shapes.shown, audit, job, compared))
        rendered = await asyncio.to_thread(_rendered, audit, job, compared)
        return Response(rendered.body, headers=rendered.headers)

    async def _compared(self, exchange: Exchange, audit: Audit, against: str | None) -> Compared | None:
        """With the one that was asked for, else with the one before; None where there is none."""
        if against is not None:
            other: Audit | None = (await self._audit(exchange, against))[0]
        elif site_audit.is_site(audit):
            async with self._jobs.database.read() as connection:
                other = await audits.before(connection, audit)
        else:
            other = None
        return None if other is None else await asyncio.to_thread(site_audit.compared, audit, other)

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
                summary="Audit a page, or with `maxPages` a whole site",
                description="The same audit, asked for again while it is queued or running, is one.",
                status=202,
                answers=AuditAccepted,
                problems=(problems.INVALID_URL,),
                example_body=NewAudit("https://example.com/"),
                example=shapes.EXAMPLE_ACCEPTED,
                **common,
            ),
            Route(
                method="GET",
                path="/audits",
                handler=self.list_audits,
                summary="List your audits, newest first",
                example=AuditList([shapes.EXAMPLE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/audits/{id}",
                handler=self.get_audit,
                summary="What came of an audit",
                description="With `Accept: text/html` a report for people, or a page that looks for it by "
                "itself until it is there; else JSON.",
                answers=ShownAudit,
                also={"text/html": None},
                parameters={"id": "The audit's id."},
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example=shapes.EXAMPLE_AUDIT,
                **common,
            ),
        ]


def _wants_page(exchange: Exchange) -> bool:
    accept = exchange.header(b"accept") or ""
    return "text/html" in accept and not prefers_json(accept)


def _rendered(audit: Audit, job: Job | None, compared: Compared | None) -> Rendered:
    told = audit.report_json
    if told is None:
        return report.pending(shapes.shown(audit, job), job.progress_pct if job else 0)
    if not site_audit.is_site(audit):
        return report.render(msgspec.json.decode(told, type=Report))
    comparison = None if compared is None else compared.comparison
    return site_report.render(msgspec.json.decode(told, type=SiteReport), comparison)
