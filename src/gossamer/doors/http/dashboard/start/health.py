"""Health: every service that Gossamer depends on, in plain words."""

from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.alerts import AlertQuery, AlertsEndpoints
from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.start import services
from gossamer.state.tenants.tenants import Role

PATH: Final = "/app/health"


class HealthPages(Struct, frozen=True):
    dashboard: Dashboard
    operations: OperationsEndpoints
    workers: WorkersEndpoints
    alerts: AlertsEndpoints

    async def show(self, exchange: Exchange, form: Form = NO_FORM, id: str = "") -> Response:
        report = await self.operations.health(exchange)
        rows = services.rows(report.services)
        return self.dashboard.render(
            exchange,
            "start/health.html",
            here="health",
            form=form,
            alerts=(await self.alerts.list_alerts(exchange, AlertQuery())).alerts,
            describe=services.words_of,
            report=report,
            summary=services.summarise({row.name: row.health.status for row in rows}),
            rows=rows,
            fence=services.fence(report.services),
            is_admin=exchange.caller.role is Role.ADMIN,
            workers=(await self.workers.list_workers(exchange)).workers,
        )

    async def examine(self, exchange: Exchange) -> Response:
        examined = await self.operations.examine(exchange)
        return self.dashboard.render(exchange, "start/doctor.html", here="health", examined=examined)

    async def acknowledge(self, exchange: Exchange, _form: Form, id: str) -> Response:
        await self.alerts.acknowledge_alert(exchange, id)
        return self.dashboard.see(PATH, notice="alert-acknowledged")

    def routes(self) -> list[Route]:
        return [
            self.dashboard.page(PATH, self.show, "Health"),
            self.dashboard.page(f"{PATH}/doctor", self.examine, "Doctor", needs=Role.ADMIN),
            self.dashboard.form(
                "/app/alerts/{id}/acknowledge",
                self.acknowledge,
                "Acknowledge an alert",
                show=self.show,
                needs=Role.ADMIN,
            ),
        ]
