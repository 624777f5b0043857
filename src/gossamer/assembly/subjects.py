"""Subjects: everything that can be asked for, by address.

They are the API, the dashboard, the documents, and the doors for clients of other products. A subject is
imported with the first request for it: all of them take a tenth of a server's memory, and few servers need
most of them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from gossamer.assembly.api import Api
from gossamer.assembly.dropin import dropin_subjects, host_routes
from gossamer.assembly.mcp import has_mcp, mcp_subjects
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route, Router, ServedSubject
from gossamer.doors.http.docs.page import asks_for_page
from gossamer.problems import NOT_FOUND, Problem

if TYPE_CHECKING:
    from gossamer.app import Service
    from gossamer.doors.http.dashboard.core.dashboard import Dashboard
    from gossamer.doors.http.docs.pages import DocsEndpoints

DASHBOARD: Final = "/app"
DOCUMENTS: Final = (
    "/",
    "/docs",
    "/openapi.json",
    "/problems",
    "/assets",
    "/favicon.svg",
    "/favicon.ico",
    "/robots.txt",
    "/llms.txt",
    "/llms-full.txt",
    "/.well-known",
    "/mcp/server-card",
)


class Subjects:
    def __init__(self, service: "Service", relay: Relay, more: Sequence[Route] = ()) -> None:
        self._service = service
        self._relay = relay
        self._more = more  # beside all subjects
        self._api = Api(service)
        self._shown = self._api.subjects  # in the documents
        if service.payments is not None:
            from gossamer.assembly.payments import with_prices

            self._shown = with_prices(self._shown, service.settings, service.payments)

    def router(self) -> Router:
        return Router([*self._more, *host_routes(self._service, self._relay)], self.every)

    @cached_property
    def every(self) -> list[ServedSubject]:
        return [
            *self._shown,
            ServedSubject(DOCUMENTS, lambda: self._documents.routes()),
            ServedSubject((DASHBOARD,), self._dashboard_routes),
            *dropin_subjects(self._service, self._relay),
            *mcp_subjects(self._service, self._relay),
        ]

    async def problem_page(self, problem: Problem, exchange: Exchange) -> Response | None:
        """For people who see it in a browser; None for programs."""
        page = None
        if f"{exchange.path}/".startswith(f"{DASHBOARD}/"):
            page = await self._dashboard.problem_page(problem, exchange)
        if page is None and problem.kind is NOT_FOUND and asks_for_page(exchange.header(b"accept") or ""):
            page = await self._documents.not_found(problem, exchange)
        return page

    @cached_property
    def _documents(self) -> "DocsEndpoints":
        from gossamer.doors.http.docs.pages import DocsEndpoints

        settings, payments = self._service.settings, self._service.payments
        return DocsEndpoints(
            settings.public_url,
            [*(route for subject in self._shown for route in subject.routes), *self._more],
            self._service.limits.table,
            idempotency_seconds=settings.idempotency_ttl_seconds,
            networks=[payee.network.name for payee in payments.settling.payees.values()] if payments else [],
            quote_seconds=settings.quote_seconds,
            has_mcp=has_mcp(settings),
        )

    @cached_property
    def _dashboard(self) -> "Dashboard":
        from gossamer.assembly.dashboard import open_dashboard

        return open_dashboard(self._service)

    def _dashboard_routes(self) -> list[Route]:
        from gossamer.assembly.dashboard import dashboard_routes

        return dashboard_routes(self._service, self._dashboard, self._api)
