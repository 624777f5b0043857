"""Audits over HTTP: what search engines and agents see of a page, or of a whole site."""

import asyncio
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.api.audit import audit_shapes as shapes
from gossamer.doors.http.api.audit import report as report_page
from gossamer.doors.http.api.audit.audit_shapes import AuditQuery, ReportQuery
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import OrderTerms, Route
from gossamer.doors.http.docs.page import prefers_json
from gossamer.flows.audit.audits import Audits
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.audits import Audit
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import Job
from gossamer.state.pay.orders import OrderKind
from gossamer.state.tenants.tenants import Role
from gossamer.web.audit.audit_answer import AuditAccepted, AuditAnswer, AuditList
from gossamer.web.audit.comparison import Comparison
from gossamer.web.audit.new_audit import NewAudit


class AuditsEndpoints(Struct, frozen=True):
    audits: Audits
    deleter: Deleter

    async def create_audit(self, exchange: Exchange, body: NewAudit) -> Response:
        async def remember(connection: AsyncConnection, job: Job, audit_id: str) -> None:
            await exchange.remember(connection, answer(shapes.to_accepted(job, audit_id), 202))

        job, audit_id = await self.audits.start(
            body.url,
            body.options,
            caller=exchange.caller,
            by=exchange.actor,
            remember=remember,
        )
        return answer(shapes.to_accepted(job, audit_id), 202)

    async def list_audits(self, exchange: Exchange, query: AuditQuery) -> AuditList:
        tenant = tenant_seen_by(exchange.caller)
        found = await self.audits.list(tenant_id=tenant, before=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        return AuditList(
            [shapes.to_line(listed) for listed in page],
            page[-1].audit.id if len(found) > query.limit else None,
        )

    async def get_audit(self, exchange: Exchange, id: str, query: ReportQuery) -> Response:
        audit, job, comparison = await self.find_audit(exchange, id, query)
        if _wants_page(exchange):
            return await asyncio.to_thread(_render, audit, job, comparison)
        return answer(await asyncio.to_thread(shapes.to_answer, audit, job, comparison))

    async def find_audit(
        self, exchange: Exchange, id: str, query: ReportQuery
    ) -> tuple[Audit, Job | None, Comparison | None]:
        tenant = tenant_seen_by(exchange.caller)
        audit, job = await self.audits.get(id, tenant_id=tenant)
        return audit, job, await self.audits.compare(audit, against=query.against, tenant_id=tenant)

    async def delete_audit(self, exchange: Exchange, id: str) -> Response:
        deletion = Deletion(DeletionKind.AUDIT, id)
        job = await self.deleter.accept(deletion, tenant_seen_by(exchange.caller), exchange.actor)
        if job is None:
            raise Problem(problems.NOT_FOUND, "There is no audit with this id.")
        return accept(job)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Audits"}
        return [
            Route(
                method="POST",
                path="/audits",
                handler=self.create_audit,
                price="audit",
                order=OrderTerms(
                    kind=OrderKind.AUDIT,
                    prices=("audit",),
                    pages=lambda body: body.options.max_pages,
                    subject="auditId",
                    job="jobId",
                    location="/audits/{id}",
                ),
                summary="Audit a page, or with `maxPages` a whole site",
                description="Requests for the same audit share one job while it is queued or running.",
                status=202,
                answers=AuditAccepted,
                problems=(problems.INVALID_URL, problems.NOT_FOUND, problems.QUOTA_EXCEEDED),
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
                summary="Get the report of an audit",
                description="With `Accept: text/html` the answer is a report for people, or until it is "
                "there a page that reloads itself; otherwise it is JSON.",
                answers=AuditAnswer,
                also={"text/html": None},
                parameters={"id": "The audit's id."},
                opened_by_order=True,
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example=shapes.EXAMPLE_AUDIT,
                **common,
            ),
            Route(
                method="DELETE",
                path="/audits/{id}",
                handler=self.delete_audit,
                control=True,
                summary="Delete an audit, with the crawl of its site",
                description="An audit that is running ends. The report is gone at once; the job removes the "
                "pages that were crawled for it.",
                status=202,
                answers=ShownJob,
                parameters={"id": "The audit's id."},
                opened_by_order=True,
                problems=(problems.NOT_FOUND,),
                example=EXAMPLE_DELETION,
                **common,
            ),
        ]


def _wants_page(exchange: Exchange) -> bool:
    accept = exchange.header(b"accept") or ""
    return "text/html" in accept and not prefers_json(accept)


def _render(audit: Audit, job: Job | None, comparison: Comparison | None) -> Response:
    report = audit.report()
    if report is None:
        body = report_page.render_pending(shapes.to_answer(audit, job), job.progress_pct if job else 0)
    else:
        body = report_page.render(report, comparison)
    return Response(body, headers=report_page.headers())
