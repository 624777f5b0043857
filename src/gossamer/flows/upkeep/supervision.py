"""Supervision: restart background tasks that fail, and report it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from msgspec import Struct

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable

PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds before a task is started again
STEADY_SECONDS: Final = 60.0  # a task that ran for this long has recovered

Run = Callable[[], Coroutine[Any, Any, None]]


class Watched(Struct):
    """A task under supervision."""

    began: float
    failures: int = 0  # in a row
    is_running: bool = True

    def has_recovered(self, now: float) -> bool:
        return self.is_running and now - self.began >= STEADY_SECONDS


class Supervisor:
    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._watched: dict[str, Watched] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, run: Run) -> asyncio.Task[None]:
        """Run it until it returns or is cancelled, again after every error."""
        task = asyncio.create_task(self._keep(name, run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def ask(self) -> Mapping[str, Any] | None:
        """For `/health`: which tasks have failed and not yet recovered."""
        now = asyncio.get_running_loop().time()
        failing = {
            name: watched.failures
            for name, watched in self._watched.items()
            if watched.failures and not watched.has_recovered(now)
        }
        if failing:
            raise Unavailable("background work", f"failed and started again: {', '.join(sorted(failing))}")
        return None

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, name: str, run: Run) -> None:
        clock = asyncio.get_running_loop().time
        watched = self._watched[name] = Watched(began=clock())
        while True:
            try:
                await run()
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the next run may go well
                watched.failures = 1 if watched.has_recovered(clock()) else watched.failures + 1
                watched.is_running = False
                self._metrics.count_restart(name)
                self._log.error("task_failed", "a background task failed", task=name, cause=error)
            await asyncio.sleep(PAUSES[min(watched.failures, len(PAUSES)) - 1])
            watched.began, watched.is_running = clock(), True
