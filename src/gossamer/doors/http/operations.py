"""Operations: health and metrics, open to all."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from gossamer import __version__, problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.routing import Route
from gossamer.flows.health import Checkup, Service, Status
from gossamer.metrics import Metrics
from gossamer.problems import Problem
from gossamer.state.tenants import Role


class ServiceHealth(msgspec.Struct, rename="camel", omit_defaults=True):
    """One thing that Gossamer stands on."""

    status: Status
    latency: int  # milliseconds
    reason: str | None = None
    details: Annotated[
        dict[str, Any] | None, Meta(description="How it stands, where there is more to say.")
    ] = None


class Services(msgspec.Struct, rename="camel"):
    """What Gossamer stands on, as far as it is set up."""

    database: ServiceHealth | UnsetType = UNSET
    cache: ServiceHealth | UnsetType = UNSET
    blobs: ServiceHealth | UnsetType = UNSET
    browser_rendering: ServiceHealth | UnsetType = UNSET
    queue: ServiceHealth | UnsetType = UNSET
    workers: ServiceHealth | UnsetType = UNSET
    search: ServiceHealth | UnsetType = UNSET
    facilitators: Annotated[
        dict[str, ServiceHealth] | UnsetType, Meta(description="Who verifies and settles payments.")
    ] = UNSET


class HealthReport(msgspec.Struct, rename="camel"):
    """How the system is."""

    status: Status
    version: str
    timestamp: str
    services: Services


class Alive(msgspec.Struct):
    """The process answers."""

    status: Status


class Operations:
    def __init__(self, checkup: Checkup, metrics: Metrics) -> None:
        self._checkup = checkup
        self._metrics = metrics

    async def health(self, exchange: Exchange) -> HealthReport:
        health = await self._checkup.health()
        return HealthReport(health.status, __version__, moments.now(), _services(health.services))

    async def live(self, exchange: Exchange) -> Alive:
        return Alive(Status.HEALTHY)

    async def ready(self, exchange: Exchange) -> Alive:
        health = await self._checkup.health()
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
        await self._checkup.health()  # the gauges of services and queue are set on the way
        text, content_type = self._metrics.exposition(exchange.header(b"accept") or "")
        return Response(text, headers={"content-type": content_type})

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
                summary="How the system and each service it stands on are",
                description="Always 200; read `status`. Probes are asked at most every 10 seconds.",
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
                summary="Whether the process answers",
                example=Alive(Status.HEALTHY),
                **open_to_all,
            ),
            Route(
                path="/health/ready",
                handler=self.ready,
                summary="Whether requests can be served; 503 when not",
                example=Alive(Status.HEALTHY),
                **open_to_all,
            ),
            Route(
                path="/metrics",
                handler=self.metrics,
                summary="Metrics for Prometheus",
                media_type="text/plain",
                **open_to_all,
            ),
        ]


def _services(found: Mapping[str, Service]) -> Services:
    """`facilitators.cdp` is shown inside `facilitators`."""
    shown = Services()
    fields = dict(zip(Services.__struct_encode_fields__, Services.__struct_fields__, strict=True))
    for name, service in found.items():
        group, _, member = name.partition(".")
        told = ServiceHealth(
            service.status, service.latency, service.reason, dict(service.details or {}) or None
        )
        if not member:
            setattr(shown, fields[group], told)
            continue
        known = getattr(shown, fields[group])
        setattr(shown, fields[group], {**(known if known is not UNSET else {}), member: told})
    return shown
