"""Alerts as they are shown and acknowledged: those in the database, which all servers share, and services
that this process has just found unwell."""

from collections.abc import Callable, Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, field

from gossamer import problems
from gossamer.flows.alerts.rules import BY_NAME, WORKERS
from gossamer.flows.upkeep.health import Checkup, ProbeResult, Status
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.database import Database
from gossamer.state.operations import alert_rows
from gossamer.state.operations.alert_rows import AlertSeverity, StoredAlert
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.pages.timestamps import iso

# Services that only the operator knows of; users notice nothing of them.
INTERNAL: Final = ("background", "facilitators", "chains")
SERVICE_RULES: Final = frozenset({"service_down", "service_degraded", "work_waits"})
MAX_RESOLVED: Final = 50  # that are shown


class Alert(msgspec.Struct, frozen=True, rename="camel"):
    """Something that somebody should look at."""

    id: Annotated[str, Meta(description="The same as long as it lasts.")]
    name: Annotated[str, Meta(description="The rule that raised it.")]
    severity: AlertSeverity
    title: str
    detail: Annotated[str, Meta(description="Why, as far as it is known; empty for users.")]
    hint: str
    since: Annotated[str, Meta(description="When it was noticed.")]
    subject: Annotated[str, Meta(description="What it is about, such as the name of a service.")]
    seen_at: Annotated[str | None, Meta(description="When it was last seen.")] = None
    resolved_at: str | None = None
    acknowledged_at: str | None = None
    acknowledged_by: Annotated[str | None, Meta(description="Who knows of it; `null` for users.")] = None


class Alerts(Struct, frozen=True):
    checkup: Checkup
    database: Database | None
    clock: Callable[[], float]
    _since: dict[str, float] = field(default_factory=dict)  # by service: when it was first found unwell

    async def current(self, *, internal: bool) -> list[Alert]:
        """The worst first. With `internal` come the reasons, and everything that only operators know of."""
        health = await self.checkup.health()
        stored = await self._stored()
        known = {row.subject for row in stored if row.rule in SERVICE_RULES}
        unwell = {
            name: result for name, result in health.services.items() if result.status is not Status.HEALTHY
        }
        for name in self._since.keys() - unwell.keys():
            del self._since[name]
        fresh = [self._notice(name, result) for name, result in unwell.items() if name not in known]
        shown = [*(to_alert(row) for row in stored), *fresh]
        return _sort(shown if internal else _for_users(shown))

    async def resolved(self) -> list[Alert]:
        """The latest first, for admins."""
        if self.database is None:
            return []
        async with self.database.read() as connection:
            return [to_alert(row) for row in await alert_rows.list_resolved(connection, MAX_RESOLVED)]

    async def acknowledge(self, alert_id: str, tenant_id: str, actor: Actor) -> Alert:
        """Note who knows of it. A repeat changes nothing."""
        assert self.database is not None  # noqa: S101  (it is missing in tests alone)
        async with self.database.write() as connection:
            found = await alert_rows.acknowledge(connection, alert_id, actor.name or actor.id)
            if found is None:
                raise Problem(
                    problems.NOT_FOUND,
                    "There is no such alert, or it is resolved.",
                    hint="GET /api/alerts lists them. One that has just been noticed can be acknowledged "
                    "after a minute.",
                )
            row, is_first = found
            if is_first:
                entry = ActivityEntry(
                    tenant_id, Action.ALERT_ACKNOWLEDGED, row.id, actor, f"{row.rule}: {row.subject}"
                )
                await activity.record(connection, entry)
        return to_alert(row)

    async def _stored(self) -> list[StoredAlert]:
        """None if the database is away: then what this process sees must do."""
        if self.database is None:
            return []
        try:
            async with self.database.read() as connection:
                return await alert_rows.list_open(connection)
        except Unavailable:
            return []

    def _notice(self, service: str, result: ProbeResult) -> Alert:
        is_down = result.status is Status.UNHEALTHY
        rule = BY_NAME[
            "work_waits" if service == WORKERS else "service_down" if is_down else "service_degraded"
        ]
        return Alert(
            id=f"service:{service}",
            name=rule.name,
            severity=rule.severity,
            title=rule.describe(service),
            detail=result.reason or "",
            hint=rule.hint,
            since=iso(self._since.setdefault(service, self.clock())),
            subject=service,
        )


def to_alert(row: StoredAlert) -> Alert:
    rule = BY_NAME.get(row.rule)  # a newer server may know others
    return Alert(
        id=row.id,
        name=row.rule,
        severity=row.severity,
        title=rule.describe(row.subject) if rule else f"{row.rule}: {row.subject}",
        detail=row.detail,
        hint=rule.hint if rule else "",
        since=iso(row.since / 1000),
        subject=row.subject,
        seen_at=iso(row.seen_at / 1000),
        resolved_at=_moment(row.resolved_at),
        acknowledged_at=_moment(row.acknowledged_at),
        acknowledged_by=row.acknowledged_by,
    )


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else iso(milliseconds / 1000)


def _for_users(alerts: Iterable[Alert]) -> list[Alert]:
    return [
        msgspec.structs.replace(alert, detail="", acknowledged_by=None)
        for alert in alerts
        if alert.name in SERVICE_RULES and alert.subject.partition(".")[0] not in INTERNAL
    ]


def _sort(alerts: list[Alert]) -> list[Alert]:
    return sorted(alerts, key=lambda alert: (alert.severity is not AlertSeverity.CRITICAL, alert.subject))
