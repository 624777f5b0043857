"""Endpoints for health, open to all, for metrics, and for the doctor."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gossamer import __version__, problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.metrics_access import MetricsAccess
from gossamer.doors.http.core.routing import Route
from gossamer.flows.doctor.diagnosis import Condition, Diagnosis, worst
from gossamer.flows.doctor.doctor import Doctor
from gossamer.flows.upkeep.gauges import Gauges
from gossamer.flows.upkeep.health import Checkup, ProbeResult, Status
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.observe.metrics import Metrics
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role


class ServiceHealth(msgspec.Struct, rename="camel", omit_defaults=True):
    """A service that Gossamer depends on."""

    status: Status
    latency: int  # milliseconds
    reason: str | None = None
    details: Annotated[dict[str, Any] | None, Meta(description="More about its state.")] = None


class Services(msgspec.Struct, rename="camel"):
    """The services that Gossamer depends on, as far as they are set up."""

    database: ServiceHealth | UnsetType = UNSET
    cache: ServiceHealth | UnsetType = UNSET
    blobs: ServiceHealth | UnsetType = UNSET
    browser_rendering: ServiceHealth | UnsetType = UNSET
    queue: ServiceHealth | UnsetType = UNSET
    workers: ServiceHealth | UnsetType = UNSET
    search: ServiceHealth | UnsetType = UNSET
    background: Annotated[
        ServiceHealth | UnsetType, Meta(description="The background tasks of the server.")
    ] = UNSET
    facilitators: Annotated[
        dict[str, ServiceHealth] | UnsetType, Meta(description="Services that verify and settle payments.")
    ] = UNSET
    chains: Annotated[
        dict[str, ServiceHealth] | UnsetType, Meta(description="Nodes that payments are looked up on.")
    ] = UNSET


class HealthReport(msgspec.Struct, rename="camel"):
    """The health of the system."""

    status: Status
    version: str
    timestamp: str
    services: Services


class Alive(msgspec.Struct):
    """The process answers."""

    status: Status


class Examined(msgspec.Struct, rename="camel"):
    """What the doctor found."""

    condition: Annotated[Condition, Meta(description="The worst of all.")]
    diagnoses: list[Diagnosis]


class OperationsEndpoints(Struct, frozen=True):
    checkup: Checkup
    registry: Metrics
    stopping: Stopping
    doctor: Doctor
    gauges: Gauges
    access: MetricsAccess

    async def health(self, exchange: Exchange) -> HealthReport:
        health = await self.checkup.health()
        return HealthReport(health.status, __version__, timestamps.now(), _services(health.services))

    async def live(self, exchange: Exchange) -> Alive:
        return Alive(Status.HEALTHY)

    async def ready(self, exchange: Exchange) -> Alive:
        if self.stopping.has_begun:
            raise self.stopping.problem()
        health = await self.checkup.health()
        if not health.ready:
            down = {name: s.reason for name, s in health.services.items() if s.status is not Status.HEALTHY}
            raise Problem(
                problems.SERVICE_UNAVAILABLE,
                f"Not ready: {', '.join(down)} not answering.",
                headers={"Retry-After": "5"},
                retryAfter=5,
                details={"services": down},
            )
        return Alive(health.status)

    async def metrics(self, exchange: Exchange) -> Response:
        await self.gauges.refresh()
        text, content_type = self.registry.exposition.text(exchange.header(b"accept") or "")
        return Response(text, headers={"content-type": content_type})

    async def examine(self, exchange: Exchange) -> Examined:
        diagnoses = await self.doctor.examine()
        return Examined(worst(diagnoses), diagnoses)

    def routes(self) -> list[Route]:
        open_to_all: dict[str, Any] = {
            "method": "GET",
            "needs": Role.NOBODY,
            "tag": "Operations",
            "counted": False,
        }
        return [
            Route(
                path="/health",
                handler=self.health,
                summary="Get the health of the system and of each service",
                description="Always 200; read `status`. Probes run at most every 10 seconds, and every 2 "
                "seconds during an outage.",
                example=HealthReport(
                    Status.HEALTHY,
                    __version__,
                    "2026-01-01T12:00:00.000Z",
                    Services(
                        database=ServiceHealth(Status.HEALTHY, 1), cache=ServiceHealth(Status.HEALTHY, 0)
                    ),
                ),
                **open_to_all,
            ),
            Route(
                path="/health/live",
                handler=self.live,
                summary="Check that the process answers",
                example=Alive(Status.HEALTHY),
                **open_to_all,
            ),
            Route(
                path="/health/ready",
                handler=self.ready,
                summary="Check that requests can be served; 503 if not",
                example=Alive(Status.HEALTHY),
                **open_to_all,
            ),
            Route(
                path="/metrics",
                handler=self.metrics,
                summary="Get metrics for Prometheus, with its token or as an admin",
                description="Needs the token in `GOSSAMER_METRICS_TOKEN` as a Bearer token, or an admin's "
                "key. Without either it answers only callers on the same machine that came through no proxy.",
                media_type="text/plain",
                **{**open_to_all, "needs": Role.ADMIN, "admits": self.access.admits},
            ),
            Route(
                method="GET",
                path="/api/admin/doctor",
                handler=self.examine,
                needs=Role.ADMIN,
                tag="Operations",
                summary="Examine the installation",
                description="What `gossamer doctor` prints, as the server that answers sees it: every part "
                "that it depends on, its machine, and what the operator chose.",
                example=Examined(
                    Condition.OK, [Diagnosis("schema", Condition.OK, "revision 0002, the newest")]
                ),
            ),
        ]


def _services(found: Mapping[str, ProbeResult]) -> Services:
    """`facilitators.cdp` is shown inside `facilitators`."""
    shown = Services()
    fields = dict(zip(Services.__struct_encode_fields__, Services.__struct_fields__, strict=True))
    for name, service in found.items():
        group, _, member = name.partition(".")
        entry = ServiceHealth(
            service.status, service.latency, service.reason, dict(service.details or {}) or None
        )
        if not member:
            setattr(shown, fields[group], entry)
            continue
        known = getattr(shown, fields[group])
        setattr(shown, fields[group], {**(known if known is not UNSET else {}), member: entry})
    return shown
