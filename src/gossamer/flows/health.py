"""Health: what we stand on, and whether it answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gossamer.metrics import Metrics
from gossamer.problems import Problem

PROBE_SECONDS: Final = 10.0  # how long an answer is believed
PROBE_DEADLINE: Final = 2.0


class Status(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"  # serving, with something missing
    UNHEALTHY = "unhealthy"  # what was asked for can't be done


@dataclass(frozen=True, slots=True)
class Probe:
    """How to ask a service, and whether we can serve at all without it."""

    ask: Callable[[], Awaitable[Mapping[str, Any] | None]]  # what it answers is shown
    needed: bool = False
    seconds: float = PROBE_DEADLINE


@dataclass(frozen=True, slots=True)
class Service:
    status: Status
    latency: int  # milliseconds
    reason: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Health:
    status: Status
    services: Mapping[str, Service]

    @property
    def ready(self) -> bool:
        return self.status is not Status.UNHEALTHY


class Checkup:
    """Asks every service at once, at most every `PROBE_SECONDS`, however many want to know."""

    def __init__(
        self, probes: Mapping[str, Probe], metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._probes = probes
        self._metrics = metrics
        self._clock = clock
        self._lock = asyncio.Lock()
        self._last: Health | None = None
        self._asked_at = 0.0

    async def health(self) -> Health:
        async with self._lock:
            if self._last is None or self._clock() - self._asked_at >= PROBE_SECONDS:
                self._last = await self._ask_all()
                self._asked_at = self._clock()
            return self._last

    async def _ask_all(self) -> Health:
        answers = await asyncio.gather(*(_ask(probe) for probe in self._probes.values()))
        services = dict(zip(self._probes, answers, strict=True))
        for name, service in services.items():
            self._metrics.service(name, up=service.status is Status.HEALTHY)
        return Health(_overall(self._probes, services), services)


async def _ask(probe: Probe) -> Service:
    started = time.perf_counter()
    reason: str | None = None
    details: Mapping[str, Any] | None = None
    try:
        async with asyncio.timeout(probe.seconds):
            details = await probe.ask()
    except TimeoutError:
        reason = f"no answer within {probe.seconds:g} s"
    except Problem as problem:
        reason = problem.members.get("details", {}).get("reason", problem.detail)
    latency = round((time.perf_counter() - started) * 1000)
    return Service(Status.HEALTHY if reason is None else Status.UNHEALTHY, latency, reason, details)


def _overall(probes: Mapping[str, Probe], services: Mapping[str, Service]) -> Status:
    down = [name for name, service in services.items() if service.status is not Status.HEALTHY]
    if any(probes[name].needed for name in down):
        return Status.UNHEALTHY
    return Status.DEGRADED if down else Status.HEALTHY
