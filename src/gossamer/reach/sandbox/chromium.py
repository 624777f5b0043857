"""Launches and ends one Chromium, confined in layers.

Two layers confine its network, and each is enough alone:

    one   its flags send everything to the proxy (`chromium_flags`)
    two   it runs in an empty network namespace, whose only port is the proxy's (`netns`)

The first layer is always there. The second, Chromium's own sandbox, and a file system without this machine's
data (`bubblewrap`) depend on the system, which `fence` probes. A launch has exactly the requested layers, or
fails.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox import bubblewrap, child_process, chromium_flags, netns, processes, profile
from gossamer.reach.sandbox.child_process import Child, LaunchFailed
from gossamer.reach.sandbox.fence import ALL, Layers
from gossamer.reach.sandbox.profile import Profile

KILL_SECONDS: Final = 5.0
SHARED_MEMORY: Final = 512 * 1024 * 1024  # bytes; a smaller /dev/shm is not used
_HELLO: Final = b'{"id":0,"method":"Browser.getVersion"}'

# The headless shell starts and renders in less than half the time of a whole Chromium. Debian's programs in
# /usr/bin are shell scripts around these.
_BINARIES: Final = (
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
_DOWNLOADED: Final = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/*/chrome")


def find(named: str) -> Path | None:
    """The Chromium that the operator names; else a headless shell, else any that is installed."""
    candidates = [named] if named else [*_BINARIES[:4], *_downloads(), *_BINARIES[4:]]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found:
            return Path(found)
    return None


def _downloads() -> Iterator[str]:
    """The browsers that Playwright has downloaded, newest first."""
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    for pattern in _DOWNLOADED:
        yield from map(str, sorted(folder.glob(pattern), reverse=True))


class ChromiumVersion(msgspec.Struct):
    product: str


class Hello(msgspec.Struct):
    id: int = -1
    result: ChromiumVersion | None = None


class Chromium:
    def __init__(self, child: Child, folder: Profile, layers: Layers) -> None:
        self.pid = child.process.pid
        self.version = ""
        self.layers = layers
        self._child = child
        self._folder = folder
        self._port: asyncio.Server | None = None  # the proxy's, in the browser's namespace
        self._killing: asyncio.Task[None] | None = None

    async def send(self, message: bytes) -> None:
        """Send one message of the DevTools protocol. Does nothing if the browser is gone."""
        await self._child.pipe.send(message)

    async def receive(self) -> bytes | None:
        """The next message; None if the browser is gone."""
        return await self._child.pipe.receive()

    def memory(self) -> int:
        """Bytes of all its processes together."""
        return processes.measure(processes.list_family(self.pid))

    def last_stderr(self) -> str:
        return self._child.last_stderr()

    async def kill(self) -> None:
        """End all its processes within seconds, and remove its folder. Concurrent calls share one run."""
        if self._killing is None:
            self._killing = asyncio.create_task(self._kill())
        await asyncio.shield(self._killing)

    # Called by `launch`.

    async def connect(self, proxy: Proxy) -> None:
        if self._child.listener is not None:
            self._port = await proxy.serve(self._child.listener)

    async def greet(self) -> None:
        """Wait until it answers."""
        await self.send(_HELLO)
        while (message := await self.receive()) is not None:
            hello = msgspec.json.decode(message, type=Hello)
            if hello.id == 0 and hello.result is not None:
                self.version = hello.result.product
                return
        raise LaunchFailed(await self._child.final_stderr() or "it ended at once")

    async def _kill(self) -> None:
        if self._port is not None:
            self._port.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await processes.end(self.pid, seconds=KILL_SECONDS)
                await child_process.end(self._child)
        self._child.drain.cancel()
        await asyncio.to_thread(self._folder.remove)


async def launch(binary: Path, proxy: Proxy, *, layers: Layers = ALL, deadline: float) -> Chromium:
    """Launch a browser with exactly these layers, and wait until it answers, at most until `deadline`."""
    try:
        async with asyncio.timeout_at(deadline):
            await asyncio.to_thread(profile.sweep)
            with suppress(LaunchFailed):
                return await _launch(binary, proxy, layers)
            return await _launch(binary, proxy, layers)  # a second attempt, since failures may be temporary
    except LaunchFailed as failure:
        why = str(failure)
    except TimeoutError:
        why = "it did not start in time"
    raise Unavailable("browser", why)


async def _launch(binary: Path, proxy: Proxy, layers: Layers) -> Chromium:
    folder = Profile()
    try:
        child = await child_process.start(layers.level, child_process.environment(folder.path))
    except BaseException:
        folder.remove()
        raise
    browser = Chromium(child, folder, layers)
    try:
        if layers.sandbox and not child.report.sandbox:
            raise LaunchFailed("this system no longer allows the namespaces of its sandbox")
        await browser.connect(proxy)
        await child.become(_command(binary, folder.path, layers, proxy))
        await browser.greet()
    except BaseException:
        await browser.kill()
        raise
    return browser


def _command(binary: Path, folder: Path, layers: Layers, proxy: Proxy) -> list[str]:
    fence = chromium_flags.fence(netns.PORT if layers.netns else proxy.port) if layers.flags else ()
    command = chromium_flags.command(
        binary,
        folder,
        sandboxed=layers.sandbox,
        shared_memory=layers.bubblewrap or _shared_memory() >= SHARED_MEMORY,
        more=(*fence, *layers.more),
    )
    if not layers.bubblewrap:
        return command
    program = bubblewrap.find()
    if program is None:
        raise LaunchFailed("bubblewrap is no longer installed")
    return bubblewrap.around(command, program, binary, folder)


def _shared_memory() -> int:
    with suppress(OSError):
        folder = os.statvfs("/dev/shm")  # noqa: S108
        return folder.f_bavail * folder.f_frsize
    return 0
