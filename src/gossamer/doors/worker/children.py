"""Starts child processes for one kind of job when there is work, so that it does not slow down this process.

The children share only the database and the blobs with it.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct

from gossamer.doors.worker.forked_process import ForkServer
from gossamer.doors.worker.handover import take_metrics
from gossamer.doors.worker.kept_process import KeptProcess, pause, settings_environment
from gossamer.doors.worker.worker import first
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.settings.settings import Settings, variable
from gossamer.state.wakeups.wakeups import Wakeups

LOOK_SECONDS: Final = 0.5  # how often it looks for something to do
STOP_SECONDS: Final = 3.0  # beyond the time that a child gives to its own work


class Children(Struct, frozen=True):
    settings: Settings
    kind: str
    count: int
    are_wanted: Callable[[], Awaitable[bool]]
    fork_server: ForkServer
    wakeups: Wakeups
    log: Log
    metrics: Metrics

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`; then wait until the children have ended."""
        if not self.count or not await self._wait_until_wanted(stop):
            return
        async with asyncio.TaskGroup() as group:
            for number in range(1, self.count + 1):
                group.create_task(self._child(number).keep(stop))

    async def _wait_until_wanted(self, stop: asyncio.Event) -> bool:
        with self.wakeups.looking() as rest:
            while not stop.is_set():
                try:
                    if await self.are_wanted():
                        return True
                    await first(stop.wait(), rest(LOOK_SECONDS))
                except Unavailable:
                    await pause(stop, LOOK_SECONDS)
        return False

    def _child(self, number: int) -> KeptProcess:
        return KeptProcess(
            ("worker", "--kinds", self.kind),
            self._environment(number),
            self.kind,
            self.settings.drain_seconds + STOP_SECONDS,
            self.log,
            on_output=partial(take_metrics, self.metrics, f"{self.kind}-{number}"),
            on_restart=partial(self.metrics.count_child_restart, self.kind),
            fork_server=self.fork_server,
        )

    def _environment(self, number: int) -> Mapping[str, str]:
        base = self.settings.worker_id or f"{self.kind}-{os.getpid()}"
        name = {variable("worker_id"): f"{base}-{number}"}
        return {**os.environ, **settings_environment(self.settings), **name}
