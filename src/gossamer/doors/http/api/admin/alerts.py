"""Endpoints for alerts: what somebody should look at now."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.alerts.alerts import Alert, Alerts
from gossamer.state.operations.alert_rows import AlertSeverity
from gossamer.state.tenants.tenants import Role


class AlertList(msgspec.Struct, rename="camel"):
    """Alerts, the worst first, or resolved ones, the latest first."""

    alerts: list[Alert]


class AlertQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which alerts to list."""

    resolved: Annotated[
        bool, Meta(description="The latest that are over, instead of those that last; for admins.")
    ] = False


class AlertsEndpoints(Struct, frozen=True):
    alerts: Alerts

    async def list_alerts(self, exchange: Exchange, query: AlertQuery) -> AlertList:
        is_admin = exchange.caller.role is Role.ADMIN
        if query.resolved:
            return AlertList(await self.alerts.resolved() if is_admin else [])
        return AlertList(await self.alerts.current(internal=is_admin))

    async def acknowledge_alert(self, exchange: Exchange, id: str) -> Alert:
        return await self.alerts.acknowledge(id, exchange.caller.tenant_id, exchange.actor)

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
            ),
            Route(
                method="POST",
                path="/api/alerts/{id}/acknowledge",
                handler=self.acknowledge_alert,
                needs=Role.ADMIN,
                tag="Operations",
                control=True,
                summary="Acknowledge an alert",
                description="Others see that somebody knows of it. It lasts until its cause is gone. "
                "A repeat changes nothing.",
                parameters={"id": "The alert's id."},
                problems=(problems.NOT_FOUND,),
                example=msgspec.structs.replace(
                    _EXAMPLE, acknowledged_at="2026-01-01T12:05:00.000Z", acknowledged_by="admin@example.com"
                ),
            ),
        ]


_EXAMPLE: Final = Alert(
    id="01JGGR2Z3W8Q4T6V9X0Y1B2C3D",
    name="work_waits",
    severity=AlertSeverity.CRITICAL,
    title="Nobody works on what is waiting",
    detail="no worker is running for render",
    hint="Start `gossamer worker` for the kinds that are named, or look at the log of those that run.",
    since="2026-01-01T12:00:00.000Z",
    subject="workers",
    seen_at="2026-01-01T12:04:00.000Z",
)
