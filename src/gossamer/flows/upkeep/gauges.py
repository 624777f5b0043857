"""Sets the gauges of metrics that somebody has to look up: just before they are read, and not too often."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from gossamer.concurrency.breaker import Breaker
from gossamer.flows.alerts.evaluator import AlertEvaluator
from gossamer.flows.alerts.situation import StoredState, Surveyor
from gossamer.flows.tenants.quotas import HOLDING
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable

LOOK_SECONDS: Final = 10.0  # for which the numbers from the database are good enough
LAG_SECONDS: Final = 1.0  # between two measurements of the event loop


class Gauges:
    def __init__(
        self,
        metrics: Metrics,
        surveyor: Surveyor,
        evaluator: AlertEvaluator,
        breakers: Mapping[str, Breaker],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._surveyor = surveyor
        self._evaluator = evaluator
        self._breakers = breakers
        self._clock = clock
        self._lock = asyncio.Lock()
        self._good_until = 0.0

    async def refresh(self) -> None:
        """Without a database, what it would say stays as it was."""
        now = self._clock()
        for name, breaker in self._breakers.items():
            self._metrics.breaker(name, breaker.state(now))
        await self._surveyor.checkup.health()  # it sets the gauges of services and queue
        async with self._lock:
            if now < self._good_until:
                return
            self._good_until = now + LOOK_SECONDS
            for disk in await self._surveyor.measure_disks():
                self._metrics.disk(disk.folder, free=disk.free, size=disk.size)
            try:
                self._show(await self._surveyor.read_state())
                await self._evaluator.show()
            except Unavailable:
                return

    def _show(self, stored: StoredState) -> None:
        gauges = self._metrics.stored
        gauges.repairs(pages=stored.pages_to_repair, blobs=stored.blobs_to_drop)
        gauges.index_lag(*stored.index)
        gauges.silent_workers(len(stored.silent))
        gauges.held_crawls({reason: stored.held_crawls.get(reason, 0) for reason in HOLDING.values()})
        gauges.failing(schedules=stored.failing_schedules, webhooks=stored.failing_webhooks)
        gauges.memory(*stored.memory)
        if stored.last_backup is not None:
            gauges.backup_age(self._surveyor.clock() - stored.last_backup)


async def watch_event_loop(metrics: Metrics) -> None:
    """Until cancelled: measure how late a timer is."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_SECONDS
        await asyncio.sleep(LAG_SECONDS)
        metrics.loop_lag(max(0.0, loop.time() - due))
