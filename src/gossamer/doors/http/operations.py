"""Operations: health and metrics, open to all."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import __version__, problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.routing import Route
from gossamer.flows.health import Checkup, Status
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


class HealthReport(msgspec.Struct, rename="camel"):
    """How the system is."""

    status: Status
    version: str
    timestamp: str
    services: dict[str, ServiceHealth]


class Alive(msgspec.Struct):
    """The process answers."""

    status: Status


class Operations:
    def __init__(self, checkup: Checkup, metrics: Metrics) -> None:
        self._checkup = checkup
        self._metrics = metrics

    async def health(self, exchange: Exchange) -> HealthReport:
        health = await self._checkup.health()
        services = {
            name: ServiceHealth(
                service.status, service.latency, service.reason, dict(service.details or {}) or None
            )
            for name, service in health.services.items()
        }
        return HealthReport(health.status, __version__, moments.now(), services)

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
                    {
                        "database": ServiceHealth(Status.HEALTHY, 1),
                        "cache": ServiceHealth(Status.HEALTHY, 0),
                    },
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
