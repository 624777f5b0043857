"""Starts the child process that becomes a browser.

The child (`netns`) isolates itself and reports which isolation the system allowed. Then it gets its command,
which depends on that: the port of the proxy, and whether Chromium can use its own sandbox.
"""

import asyncio
import errno
import os
import signal
import socket
import sys
from collections import deque
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from gossamer.reach.browser.pipe import Pipe, connect
from gossamer.reach.sandbox import netns

Level = Literal["net", "user", "none"]
MAX_STDERR_BYTES: Final = 4 * 1024  # that are kept
STDERR_SECONDS: Final = 1.0
_LINE: Final = 4 * 1024


# Errors for things that the system never allows; others may be temporary. A limit of zero namespaces is
# reported as ENOSPC.
_NEVER: Final = frozenset((errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL, errno.ENOSPC, errno.EUSERS))


class LaunchFailed(Exception):
    """The child could not be started as requested; the text says why."""


class Impossible(LaunchFailed):
    """The system does not allow it."""


class ChildReport(msgspec.Struct):
    """The report of the child about itself."""

    sandbox: bool = False  # it can create namespaces itself
    failure: str = ""
    error: int = 0  # the errno


class Child(Struct):
    """A child that waits for its command, and becomes a browser with `become`."""

    process: asyncio.subprocess.Process
    pipe: Pipe  # our end of Chromium's pipe
    control: socket.socket
    report: ChildReport
    listener: socket.socket | None  # in the network namespace of the child, if it has one
    stderr: deque[bytes]  # the last of its stderr
    drain: asyncio.Task[None]

    async def become(self, command: list[str]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self.control, msgspec.json.encode(command) + b"\n")
        except OSError as error:
            raise LaunchFailed(self.last_stderr() or str(error)) from error
        finally:
            self.control.close()

    async def final_stderr(self) -> str:
        """Wait for the rest of stderr, but not for long, because a grandchild may hold it open."""
        await asyncio.wait({self.drain}, timeout=STDERR_SECONDS)
        return self.last_stderr()

    def last_stderr(self) -> str:
        lines = b"".join(self.stderr).decode("utf-8", "replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-3:])[-500:]


async def start(level: Level, environment: dict[str, str]) -> Child:
    """Start a child that is ready to become a browser. Raises `LaunchFailed`."""
    pipe, its_pipe = socket.socketpair()
    control, its_control = socket.socketpair()
    with its_pipe, its_control, ExitStack() as ours:
        ours.enter_context(pipe)
        ours.enter_context(control)
        try:
            process = await _start(level, environment, its_control, its_pipe)
        except OSError as error:
            raise LaunchFailed(error.strerror or "it cannot be started") from error
        ours.pop_all()
    stderr: deque[bytes] = deque(maxlen=MAX_STDERR_BYTES // _LINE)
    drain = asyncio.create_task(_drain(process, stderr))
    try:
        connected = await connect(pipe)
    except BaseException:
        pipe.close()
        control.close()
        await asyncio.shield(_end_process(process, drain))
        raise
    child = Child(process, connected, control, ChildReport(), None, stderr, drain)
    try:
        child.report, child.listener = await _read_report(control)
        if child.report.failure:
            raise (Impossible if child.report.error in _NEVER else LaunchFailed)(child.report.failure)
    except BaseException:
        await asyncio.shield(end(child))
        raise
    return child


async def end(child: Child) -> None:
    """End the child and close its files. The caller ends the child's descendants."""
    child.pipe.close()
    child.control.close()
    if child.listener is not None:
        child.listener.close()
    await _end_process(child.process, child.drain)
    await child.pipe.ended


async def _end_process(process: asyncio.subprocess.Process, drain: asyncio.Task[None]) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):  # `process.kill` would reap the process that asyncio waits for
            os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    await drain


async def _start(
    level: Level, environment: dict[str, str], control: socket.socket, pipe: socket.socket
) -> asyncio.subprocess.Process:
    descriptors = control.fileno(), pipe.fileno()
    # Isolated and without site packages, so that the environment has no influence.
    command = (sys.executable, "-I", "-S", str(Path(netns.__file__)), *map(str, descriptors), level)
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=descriptors,
        env=environment,
        start_new_session=True,  # so that its descendants can be found
    )


async def _read_report(control: socket.socket) -> tuple[ChildReport, socket.socket | None]:
    control.setblocking(False)
    await _readable(control)
    try:
        line, descriptors, _, _ = socket.recv_fds(control, _LINE, 1)
        report = msgspec.json.decode(line, type=ChildReport)
    except (OSError, msgspec.MsgspecError):
        return ChildReport(failure="it ended at once"), None
    return report, socket.socket(fileno=descriptors[0]) if descriptors else None


async def _readable(control: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def now() -> None:
        loop.remove_reader(control)
        ready.set_result(None)

    loop.add_reader(control, now)
    try:
        await ready
    finally:
        loop.remove_reader(control)


async def _drain(process: asyncio.subprocess.Process, stderr: deque[bytes]) -> None:
    """Read stderr, because the child would block if the pipe were full."""
    assert process.stderr is not None  # noqa: S101  (opened as a pipe)
    while chunk := await process.stderr.read(_LINE):
        stderr.append(chunk)


def environment(home: Path) -> dict[str, str]:
    """An environment with nothing of ours but the settings of fonts: no keys, no proxies, no session bus."""
    fonts = {name: value for name, value in os.environ.items() if name.startswith("FONTCONFIG_")}
    return fonts | {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
