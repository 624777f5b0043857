"""The pages of audits: the list, starting one, one audit with its findings, and the addresses of a site."""

import asyncio
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors import wording
from gossamer.doors.http.api.admin.job_shapes import to_api
from gossamer.doors.http.api.audit import audit_shapes as shapes
from gossamer.doors.http.api.audit.audit_shapes import AuditQuery, ReportQuery
from gossamer.doors.http.api.audit.audits import AuditsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import address, filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.records import audit_addresses as addresses
from gossamer.doors.http.dashboard.records.audit_addresses import AddressQuery
from gossamer.problems import Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.audits import Audit
from gossamer.state.jobs.job import Job
from gossamer.web.audit.check import SEVERITIES
from gossamer.web.audit.report import MAX_LINKS, MAX_PAGES, AuditOptions, AuditReport

HERE: Final = "/app/audits"
ADDRESSES_SHOWN: Final = 100  # on one page
SITE_PAGES: Final = 200  # that the form proposes for a site
_OPTIONS: Final = ("maxPages", "maxLinks", "timeout")  # the fields of the form that are options


class AuditListQuery(msgspec.Struct):
    """Which audits to show, and the address that the form proposes."""

    cursor: str = ""
    url: str = ""


class AgainstQuery(msgspec.Struct):
    """The audit to compare with; empty is the one before."""

    against: str = ""


class AuditPages(Struct, frozen=True):
    dashboard: Dashboard
    audits: AuditsEndpoints

    async def show_list(
        self, exchange: Exchange, query: AuditListQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        query = query or AuditListQuery()
        found = await self.audits.list_audits(exchange, AuditQuery(cursor=query.cursor or None))
        return self.dashboard.render(
            exchange,
            "records/audits.html",
            here="audits",
            form=form,
            found=found,
            proposed=query.url,
            limits={"pages": MAX_PAGES, "links": MAX_LINKS},
            site_pages=SITE_PAGES,
            **list_links(HERE, filters(query), found.next_cursor),
        )

    async def start(self, exchange: Exchange, form: Form) -> Response:
        async def remember(connection: AsyncConnection, job: Job, audit_id: str) -> None:
            await exchange.remember(connection, self._started(audit_id))

        _, audit_id = await self.audits.audits.start(
            _required_url(form),
            _options(form),
            caller=exchange.caller,
            by=exchange.actor,
            remember=remember,
        )
        return self._started(audit_id)

    def _started(self, audit_id: str) -> Response:
        return self.dashboard.see(f"{HERE}/{audit_id}", notice="audit-started")

    async def show(self, exchange: Exchange, id: str, query: AgainstQuery) -> Response:
        audit, job, comparison = await self.audits.find_audit(
            exchange, id, ReportQuery(against=query.against or None)
        )
        report = await asyncio.to_thread(audit.report)
        return self.dashboard.render(
            exchange,
            "records/audit.html",
            here="audits",
            audit=audit,
            job=None if job is None else to_api(job),
            events_seen=0 if job is None else job.event_seq,
            line=shapes.to_answer(audit, job) if report is None else None,
            name=_name(audit),
            report=report,
            comparison=comparison,
            **(_words(report) if report is not None else {}),
        )

    async def show_addresses(self, exchange: Exchange, id: str, query: AddressQuery) -> Response:
        audit, report = await self._site_report(exchange, id)
        found = await asyncio.to_thread(addresses.choose, report.pages, query)
        first = int(query.cursor) if query.cursor.isdecimal() and len(query.cursor) < 9 else 0
        chosen = filters(query)
        following = first + ADDRESSES_SHOWN
        here = f"{HERE}/{id}/pages"
        return self.dashboard.render(
            exchange,
            "records/audit_pages.html",
            here="audits",
            audit=audit,
            name=_name(audit),
            report=report,
            filters=chosen,
            found=found[first:following],
            matching=len(found),
            titles={finding.id: finding for finding in report.findings},
            orders=addresses.ORDER_NAMES,
            statuses=addresses.STATUS_NAMES,
            export_href=address(f"{here}.csv", chosen),
            **list_links(here, chosen, str(following) if following < len(found) else None),
        )

    async def export(self, exchange: Exchange, id: str, query: AddressQuery) -> Response:
        _, report = await self._site_report(exchange, id)
        found = await asyncio.to_thread(addresses.choose, report.pages, query)
        table = await asyncio.to_thread(addresses.to_csv, found)
        disposition = f'attachment; filename="audit-{id.lower()}.csv"'
        return Response(table, headers={"Content-Disposition": disposition}, media_type="text/csv")

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        audit, _, _ = await self.audits.find_audit(exchange, id, ReportQuery())
        return self.dashboard.ask_to_delete(
            exchange,
            f"{HERE}/{id}",
            noun="audit",
            subject=_name(audit),
            consequence="The report is deleted, and what was crawled for it.",
            form=form,
        )

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.audits.delete_audit(exchange, id)
        return self.dashboard.see(HERE, notice="audit-deleting")

    async def _site_report(self, exchange: Exchange, id: str) -> tuple[Audit, AuditReport]:
        audit, _, _ = await self.audits.find_audit(exchange, id, ReportQuery())
        report = await asyncio.to_thread(audit.report)
        if report is None or report.site is None:
            raise Problem(
                problems.NOT_FOUND,
                "This audit has no list of addresses.",
                hint="Only finished audits of whole sites have one.",
            )
        return audit, report

    def routes(self) -> list[Route]:
        page = self.dashboard.page
        return [
            page(HERE, self.show_list, "Audits"),
            self.dashboard.form(HERE, self.start, "Start an audit", show=self.show_list, control=False),
            page(f"{HERE}/{{id}}", self.show, "An audit"),
            page(f"{HERE}/{{id}}/delete", self.ask_to_delete, "Ask before an audit is deleted"),
            self.dashboard.form(
                f"{HERE}/{{id}}/delete", self.delete, "Delete an audit", show=self.ask_to_delete
            ),
            page(f"{HERE}/{{id}}/pages", self.show_addresses, "The addresses of an audited site"),
            page(f"{HERE}/{{id}}/pages.csv", self.export, "The addresses of an audited site as CSV"),
        ]


def _required_url(form: Form) -> str:
    if not form["url"]:
        raise validation_error("There is no address.", hint="Give the address of a page or a site.")
    return form["url"]


def _options(form: Form) -> AuditOptions:
    chosen = {name: form[name] for name in _OPTIONS if form[name]}
    if form["kind"] == "site":
        chosen.setdefault("maxPages", str(SITE_PAGES))
    else:
        chosen.pop("maxPages", None)
    return Form(chosen).to(AuditOptions)


def _name(audit: Audit) -> str:
    parts = urlsplit(audit.url)
    return parts.netloc if audit.options.scope == "site" else f"{parts.netloc}{parts.path}"


def _words(report: AuditReport) -> dict[str, Any]:
    """The report in the words that its own page uses."""
    groups = {
        severity: [one for one in report.findings if one.severity is severity] for severity in SEVERITIES
    }
    return {
        "verdict": wording.verdict(report),
        "groups": [
            (severity, *wording.SEVERITIES[severity], group) for severity, group in groups.items() if group
        ],
        "themes": {one.theme: one.name for one in report.themes},
    }
