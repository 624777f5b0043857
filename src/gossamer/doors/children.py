"""Children: worker processes of one kind, started when there is something to do for them, so that the process
that started them is never held up by it. They share nothing with it but the database and the blobs.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from gossamer.doors.worker import first
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.settings import Settings, declared, render, variable

LOOK_SECONDS: Final = 0.5  # how often it is asked whether there is something to do
STOP_SECONDS: Final = 15.0
STEADY_SECONDS: Final = 60.0  # who lasted as long is started again as if for the first time
PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # before one that ended by itself is started again


class Children:
    def __init__(
        self, settings: Settings, kind: str, count: int, are_wanted: Callable[[], Awaitable[bool]], log: Log
    ) -> None:
        self._settings = settings
        self._kind = kind
        self._count = count
        self._are_wanted = are_wanted
        self._log = log

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; then they end what they do, and are gone."""
        if not self._count or not await self._something_to_do(stop):
            return
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._count + 1):
                group.create_task(self._keep_one(number, stop))

    async def _something_to_do(self, stop: asyncio.Event) -> bool:
        while not stop.is_set():
            with contextlib.suppress(Unavailable):
                if await self._are_wanted():
                    return True
            await _pause(stop, LOOK_SECONDS)
        return False

    async def _keep_one(self, number: int, stop: asyncio.Event) -> None:
        clock, failures = asyncio.get_running_loop().time, 0
        while not stop.is_set():
            child, began = await self._start(number), clock()
            try:
                await first(child.wait(), stop.wait())
            finally:
                await _end(child)
            if not stop.is_set():
                status = child.returncode
                self._log.warning("child_ended", "a worker process ended", kind=self._kind, status=status)
                failures = 0 if clock() - began > STEADY_SECONDS else failures
                await _pause(stop, PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1

    async def _start(self, number: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "gossamer", "worker", "--attached", "--kinds", self._kind),
            stdin=asyncio.subprocess.PIPE,  # by whose end it knows that we are gone
            env=_environment(self._settings, self._kind, number),
            start_new_session=True,  # a Ctrl-C is for us, who then end it
        )


def _environment(settings: Settings, kind: str, number: int) -> Mapping[str, str]:
    """Ours, with everything that was set, wherever it was set, and what follows from the port we have."""
    derived = ("public_url", "user_agent") if settings.port else ()
    told = {
        variable(name): render(getattr(settings, name))
        for name in declared()
        if settings.sources[name] != "default" or name in derived
    }
    base = settings.worker_id or f"{kind}-{os.getpid()}"
    return {**os.environ, **told, variable("worker_id"): f"{base}-{number}"}


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
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
