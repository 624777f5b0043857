"""Alerts: what somebody should look at, made from what the health check knows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gossamer.flows.upkeep.health import Checkup, ProbeResult, Status
from gossamer.web.pages.timestamps import iso

# Services that only the operator knows of; users notice nothing of them.
INTERNAL: Final = ("background", "facilitators", "chains")
_HINT: Final = "`GET /health` shows each service; the log says what happened."


class AlertSeverity(StrEnum):
    WARNING = "warning"  # serving, with something missing
    CRITICAL = "critical"  # something does not work


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


@dataclass(frozen=True, slots=True)
class Alerts:
    checkup: Checkup
    clock: Callable[[], float]
    _since: dict[str, float] = field(default_factory=dict)  # by service: when it was first found unwell

    async def current(self, *, internal: bool) -> list[Alert]:
        """The worst first. With `internal` come the reasons, and services that only operators know of."""
        health = await self.checkup.health()
        unwell = {
            name: result for name, result in health.services.items() if result.status is not Status.HEALTHY
        }
        for name in self._since.keys() - unwell.keys():
            del self._since[name]
        alerts = [
            self._alert(name, result, internal=internal)
            for name, result in unwell.items()
            if internal or name.partition(".")[0] not in INTERNAL
        ]
        return sorted(alerts, key=lambda alert: (alert.severity is not AlertSeverity.CRITICAL, alert.subject))

    def _alert(self, service: str, result: ProbeResult, *, internal: bool) -> Alert:
        is_down = result.status is Status.UNHEALTHY
        return Alert(
            id=f"service:{service}",
            name="service_down" if is_down else "service_degraded",
            severity=AlertSeverity.CRITICAL if is_down else AlertSeverity.WARNING,
            title=f"{service} is not working" if is_down else f"{service} works with something missing",
            detail=(result.reason or "") if internal else "",
            hint=_HINT,
            since=iso(self._since.setdefault(service, self.clock())),
            subject=service,
        )
