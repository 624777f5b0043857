"""How a browser's process comes to be: a child behind a wall first, and the browser in its place then.

The child (`wall`) says what the system let it do before it is told what to become, so that the command fits:
the proxy's port, and whether the browser can have a sandbox of its own.
"""

import asyncio
import os
import signal
import socket
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from gossamer.reach import wall
from gossamer.reach.pipe import Pipe, connect

Level = Literal["net", "user", "none"]
LAST_WORDS: Final = 4 * 1024  # bytes of stderr that are kept
WORDS_SECONDS: Final = 1.0
_LINE: Final = 4 * 1024


class Failed(Exception):
    """The child cannot be what was asked for; the text says why."""


class Report(msgspec.Struct):
    """What the child says of itself."""

    sandbox: bool = False  # it can make namespaces of its own
    failure: str = ""


@dataclass(slots=True)
class Child:
    """Not a browser yet: it waits for its command. Or, after `become`, one."""

    process: asyncio.subprocess.Process
    pipe: Pipe  # our end of what Chromium reads and writes
    control: socket.socket
    report: Report
    listener: socket.socket | None  # in the child's network, where that is its own
    words: deque[bytes]  # the last of its stderr
    drain: asyncio.Task[None]

    async def become(self, command: list[str]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self.control, msgspec.json.encode(command) + b"\n")
        except OSError as error:
            raise Failed(self.last_words() or str(error)) from error
        finally:
            self.control.close()

    async def end_of_words(self) -> str:
        """Its pipe may close before what it said of that has been read; a grandchild may hold stderr open."""
        await asyncio.wait({self.drain}, timeout=WORDS_SECONDS)
        return self.last_words()

    def last_words(self) -> str:
        lines = b"".join(self.words).decode("utf-8", "replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-3:])[-500:]


async def bear(level: Level, environment: dict[str, str]) -> Child:
    """A child that is ready to become a browser, or Failed."""
    (pipe, its_pipe), (control, its_control) = socket.socketpair(), socket.socketpair()
    try:
        process = await _start(level, environment, its_control, its_pipe)
    except OSError as error:
        pipe.close()
        control.close()
        raise Failed(error.strerror or "it cannot be started") from error
    finally:
        its_pipe.close()
        its_control.close()
    words: deque[bytes] = deque(maxlen=LAST_WORDS // _LINE)
    drain = asyncio.create_task(_drain(process, words))
    child = Child(process, await connect(pipe), control, Report(), None, words, drain)
    try:
        child.report, child.listener = await _heard(control)
        if child.report.failure:
            raise Failed(child.report.failure)
    except BaseException:
        await asyncio.shield(bury(child))
        raise
    return child


async def bury(child: Child) -> None:
    """End it, and what was opened for it. A browser leaves a family too, which is not for here."""
    if child.process.returncode is None:
        with suppress(ProcessLookupError):  # not `process.kill`, which reaps what asyncio waits for
            os.kill(child.process.pid, signal.SIGKILL)
    child.pipe.close()
    child.control.close()
    if child.listener is not None:
        child.listener.close()
    await child.process.wait()
    await child.drain
    await child.pipe.ended


async def _start(
    level: Level, environment: dict[str, str], control: socket.socket, pipe: socket.socket
) -> asyncio.subprocess.Process:
    descriptors = control.fileno(), pipe.fileno()
    # In isolation and without site packages: nothing of the environment has a say in it.
    command = (sys.executable, "-I", "-S", str(Path(wall.__file__)), *map(str, descriptors), level)
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=descriptors,
        env=environment,
        start_new_session=True,  # by which all that it starts can be found
    )


async def _heard(control: socket.socket) -> tuple[Report, socket.socket | None]:
    control.setblocking(False)
    await _readable(control)
    try:
        told, descriptors, _, _ = socket.recv_fds(control, _LINE, 1)
        report = msgspec.json.decode(told, type=Report)
    except (OSError, msgspec.MsgspecError):
        return Report(failure="it ended at once"), None
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


async def _drain(process: asyncio.subprocess.Process, words: deque[bytes]) -> None:
    """Read what it says, or it would stand still when the pipe is full."""
    assert process.stderr is not None  # noqa: S101  (opened as a pipe)
    while said := await process.stderr.read(_LINE):
        words.append(said)


def environment(home: Path) -> dict[str, str]:
    """Nothing of ours but what fonts need: no keys, no proxies, no session bus."""
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
