"""Keeps a process of our own running beside this one, and ends it with this one."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from gossamer.doors.worker.forked_process import ForkedProcess, ForkServer
from gossamer.doors.worker.handover import MAX_LINE_BYTES
from gossamer.doors.worker.worker import first
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings, declarations, render, variable

STEADY_SECONDS: Final = 60.0  # a process that ran for this long has recovered
PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # before a process that ended by itself is started again


class StartFailed(Exception):
    """A process that must start ended by itself, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it ended with {status}")
        self.status = status


class KeptProcess(Struct):
    """`gossamer` with these arguments. One that ends by itself is started again, after a growing pause."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    kind: str  # for the log
    stop_seconds: float
    log: Log
    descriptors: Sequence[int] = ()  # that it inherits
    must_start: bool = False  # else its first failure is like any other
    stop_signal: signal.Signals = signal.SIGTERM
    on_output: Callable[[asyncio.StreamReader], Awaitable[None]] | None = None  # reads what it prints
    on_restart: Callable[[], None] = lambda: None
    fork_server: ForkServer | None = None  # that starts it; else it is a new program

    async def keep(self, stop: asyncio.Event) -> None:
        """Run it until `stop`; then wait until it has ended. Raises `StartFailed`."""
        clock, failures = asyncio.get_running_loop().time, 0
        while not stop.is_set():
            began = clock()
            status = await self._run(stop)
            if self.must_start and not failures and (status or 0) > 0 and not stop.is_set():
                raise StartFailed(status or 0)
            failures = 0 if clock() - began > STEADY_SECONDS else failures
            await pause(stop, PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    async def _run(self, stop: asyncio.Event) -> int | None:
        """Run it once, until it ends or until `stop`; its exit code."""
        try:
            child = await self._start()
        except OSError as error:  # no descriptors or no memory are left
            message, why = "a child process could not be started", error.strerror
            self.log.warning("child_not_started", message, kind=self.kind, why=why)
            return None
        reading = self._read_output(child)
        try:
            await first(child.wait(), stop.wait())
        finally:
            await self._end(child)
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
        if not stop.is_set():
            status = child.returncode
            self.on_restart()
            self.log.warning("child_ended", "a child process ended", kind=self.kind, status=status)
        return child.returncode

    async def _start(self) -> asyncio.subprocess.Process | ForkedProcess:
        if self.fork_server is not None:
            return await self.fork_server.start(
                (*self.arguments, "--attached"),
                self.environment,
                name=f"gossamer {self.kind}",
                limit=MAX_LINE_BYTES,
            )
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "gossamer", *self.arguments, "--attached"),
            stdout=None if self.on_output is None else asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
            stdin=asyncio.subprocess.PIPE,  # it closes when this process ends, and the child stops
            env=self.environment,
            pass_fds=self.descriptors,
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the child
        )

    def _read_output(self, child: asyncio.subprocess.Process | ForkedProcess) -> asyncio.Future[None] | None:
        if self.on_output is None or child.stdout is None:
            return None
        return asyncio.ensure_future(self.on_output(child.stdout))

    async def _end(self, child: asyncio.subprocess.Process | ForkedProcess) -> None:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(self.stop_signal)
            try:
                async with asyncio.timeout(self.stop_seconds):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()
        if isinstance(child, ForkedProcess):
            child.close()
        elif child.stdin is not None:
            child.stdin.close()


def settings_environment(settings: Settings) -> dict[str, str]:
    """All settings that are not defaults, and those that depend on our port, as a child's environment."""
    derived = ("public_url", "user_agent") if settings.port else ()
    return {
        variable(name): render(getattr(settings, name))
        for name in declarations()
        if settings.sources[name] != "default" or name in derived
    }


async def pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
