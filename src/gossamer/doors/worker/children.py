"""Starts child processes for one kind of job when there is work, so that it does not slow down this process.

The children share only the database and the blobs with it.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gossamer.doors.worker.handover import MAX_LINE_BYTES, take_metrics
from gossamer.doors.worker.worker import first
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.settings.settings import Settings, declarations, render, variable

LOOK_SECONDS: Final = 0.5  # how often it looks for something to do
STOP_SECONDS: Final = 3.0  # beyond the time that a child gives to its own work
STEADY_SECONDS: Final = 60.0  # a child that ran for this long has recovered
PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # before a child that ended by itself is started again


@dataclass(frozen=True, slots=True)
class Children:
    settings: Settings
    kind: str
    count: int
    are_wanted: Callable[[], Awaitable[bool]]
    log: Log
    metrics: Metrics

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`; then wait until the children have ended."""
        if not self.count or not await self._wait_until_wanted(stop):
            return
        async with asyncio.TaskGroup() as group:
            for number in range(1, self.count + 1):
                group.create_task(self._keep_one(number, stop))

    async def _wait_until_wanted(self, stop: asyncio.Event) -> bool:
        while not stop.is_set():
            with contextlib.suppress(Unavailable):
                if await self.are_wanted():
                    return True
            await _pause(stop, LOOK_SECONDS)
        return False

    async def _keep_one(self, number: int, stop: asyncio.Event) -> None:
        clock, failures = asyncio.get_running_loop().time, 0
        while not stop.is_set():
            began = clock()
            await self._run_one(number, stop)
            failures = 0 if clock() - began > STEADY_SECONDS else failures
            await _pause(stop, PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    async def _run_one(self, number: int, stop: asyncio.Event) -> None:
        """Run a child until it ends, or until `stop`."""
        try:
            child = await self._start(number)
        except OSError as error:  # no descriptors or no memory are left
            message, why = "a worker process could not be started", error.strerror
            self.log.warning("child_not_started", message, kind=self.kind, why=why)
            return
        reading = asyncio.create_task(
            take_metrics(self.metrics, f"{self.kind}-{number}", child.stdout)  # type: ignore[arg-type]
        )
        try:
            await first(child.wait(), stop.wait())
        finally:
            await _end(child, self.settings.drain_seconds + STOP_SECONDS)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if not stop.is_set():
            status = child.returncode
            self.metrics.count_child_restart(self.kind)
            self.log.warning("child_ended", "a worker process ended", kind=self.kind, status=status)

    async def _start(self, number: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "gossamer", "worker", "--attached", "--kinds", self.kind),
            stdout=asyncio.subprocess.PIPE,  # its metrics
            limit=MAX_LINE_BYTES,
            stdin=asyncio.subprocess.PIPE,  # it closes when this process ends, and the child stops
            env=_environment(self.settings, self.kind, number),
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the child
        )


def _environment(settings: Settings, kind: str, number: int) -> Mapping[str, str]:
    """Our environment with all settings that are not defaults, and those that depend on our port."""
    derived = ("public_url", "user_agent") if settings.port else ()
    changed = {
        variable(name): render(getattr(settings, name))
        for name in declarations()
        if settings.sources[name] != "default" or name in derived
    }
    base = settings.worker_id or f"{kind}-{os.getpid()}"
    return {**os.environ, **changed, variable("worker_id"): f"{base}-{number}"}


async def _end(child: asyncio.subprocess.Process, seconds: float) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()
    if child.stdin is not None:
        child.stdin.close()


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
