"""Health: whether the services that we depend on answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from gossamer.observe.metrics import Metrics
from gossamer.problems import Damaged, Problem

PROBE_SECONDS: Final = 10.0  # how long a result is valid
UNWELL_SECONDS: Final = 2.0  # while something is wrong: load balancers wait for its end
PROBE_DEADLINE: Final = 2.0


class Status(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"  # serving, with something missing
    UNHEALTHY = "unhealthy"  # requests cannot be served


class Shortfall(Struct, frozen=True):
    """The service answers, with something missing."""

    reason: str
    details: Mapping[str, Any]


class Probe(Struct, frozen=True):
    """How to check a service, and whether we can serve at all without it."""

    ask: Callable[[], Awaitable[Mapping[str, Any] | Shortfall | None]]  # what it answers is shown
    needed: bool = False
    seconds: float = PROBE_DEADLINE


class ProbeResult(Struct, frozen=True):
    status: Status
    latency: int  # milliseconds
    reason: str | None = None
    details: Mapping[str, Any] | None = None


class Health(Struct, frozen=True):
    status: Status
    services: Mapping[str, ProbeResult]

    @property
    def ready(self) -> bool:
        return self.status is not Status.UNHEALTHY


class Checkup:
    """Checks all services concurrently, at most every `PROBE_SECONDS`; while something is wrong, every
    `UNWELL_SECONDS`."""

    def __init__(
        self, probes: Mapping[str, Probe], metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._probes = probes
        self._metrics = metrics
        self._clock = clock
        self._lock = asyncio.Lock()
        self._last: Health | None = None
        self._believed_until = 0.0

    async def health(self) -> Health:
        async with self._lock:
            if self._last is None or self._clock() >= self._believed_until:
                self._last = await self._ask_all()
                seconds = PROBE_SECONDS if self._last.status is Status.HEALTHY else UNWELL_SECONDS
                self._believed_until = self._clock() + seconds
            return self._last

    async def _ask_all(self) -> Health:
        answers = await asyncio.gather(*(_ask(probe) for probe in self._probes.values()))
        services = dict(zip(self._probes, answers, strict=True))
        for name, service in services.items():
            up, degraded = service.status is not Status.UNHEALTHY, service.status is Status.DEGRADED
            self._metrics.service(name, up=up, degraded=degraded)
        return Health(_overall(self._probes, services), services)


async def _ask(probe: Probe) -> ProbeResult:
    started = time.perf_counter()
    reason: str | None = None
    answer: Mapping[str, Any] | Shortfall | None = None
    status = Status.UNHEALTHY
    try:
        async with asyncio.timeout(probe.seconds):
            answer = await probe.ask()
    except Damaged as damaged:  # a part of it: the others are served
        status, reason = Status.DEGRADED, f"{damaged.reason}; the log has more"
    except TimeoutError:
        reason = f"no answer within {probe.seconds:g} s"
    except Problem as problem:
        reason = problem.reason or problem.detail
    latency = round((time.perf_counter() - started) * 1000)
    if isinstance(answer, Shortfall):
        return ProbeResult(Status.DEGRADED, latency, answer.reason, answer.details)
    return ProbeResult(Status.HEALTHY if reason is None else status, latency, reason, answer)


def _overall(probes: Mapping[str, Probe], services: Mapping[str, ProbeResult]) -> Status:
    states = {name: service.status for name, service in services.items()}
    if any(probes[name].needed and status is Status.UNHEALTHY for name, status in states.items()):
        return Status.UNHEALTHY
    well = all(status is Status.HEALTHY for status in states.values())
    return Status.HEALTHY if well else Status.DEGRADED
