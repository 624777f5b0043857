"""Endpoint for alerts: what somebody should look at now."""

from dataclasses import dataclass
from typing import Final

import msgspec

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.upkeep.alerts import Alert, Alerts, AlertSeverity
from gossamer.state.tenants.tenants import Role


class AlertList(msgspec.Struct, rename="camel"):
    """Alerts, the worst first."""

    alerts: list[Alert]


@dataclass(frozen=True, slots=True)
class AlertsEndpoints:
    alerts: Alerts

    async def list_alerts(self, exchange: Exchange) -> AlertList:
        return AlertList(await self.alerts.current(internal=exchange.caller.role is Role.ADMIN))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/alerts",
                handler=self.list_alerts,
                needs=Role.USER,
                tag="Operations",
                summary="List what somebody should look at",
                description="Empty if all is well. Users do not see reasons, nor what concerns only the "
                "operator.",
                example=AlertList([_EXAMPLE]),
            )
        ]


_EXAMPLE: Final = Alert(
    id="service:workers",
    name="service_down",
    severity=AlertSeverity.CRITICAL,
    title="workers is not working",
    detail="no worker is running for render",
    hint="`GET /health` shows each service; the log says what happened.",
    since="2026-01-01T12:00:00.000Z",
    subject="workers",
)
