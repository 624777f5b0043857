"""Health: every service that Gossamer depends on, in plain words."""

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.start import services
from gossamer.state.tenants.tenants import Role

PATH: Final = "/app/health"


@dataclass(frozen=True, slots=True)
class HealthPages:
    dashboard: Dashboard
    operations: OperationsEndpoints
    workers: WorkersEndpoints

    async def show(self, exchange: Exchange) -> Response:
        report = await self.operations.health(exchange)
        rows = services.rows(report.services)
        return self.dashboard.render(
            exchange,
            "start/health.html",
            here="health",
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

    def routes(self) -> list[Route]:
        return [
            self.dashboard.page(PATH, self.show, "Health"),
            self.dashboard.page(f"{PATH}/doctor", self.examine, "Doctor", needs=Role.ADMIN),
        ]
