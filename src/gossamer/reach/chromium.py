"""One Chromium, started and fenced by us: what it is told and says, what it weighs, and its certain end.

Two layers keep it in, and each is enough:

    one   it sends everything to the proxy, and nothing anywhere else (`chromium_flags`)
    two   it lives in an empty network namespace, whose one port is the proxy's (`wall`)

The second layer, Chromium's own sandbox, and a view of the file system that shows nothing of this machine
(`jail`) depend on what the system allows: `walled`, `sandboxed` and `jailed` say what is in force. The first
is always there.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach import birth, chromium_flags, jail, processes, profile, wall
from gossamer.reach.birth import Child, Failed, Level
from gossamer.reach.profile import Profile
from gossamer.reach.proxy import Proxy

KILL_SECONDS: Final = 5.0
SHARED_MEMORY: Final = 512 * 1024 * 1024  # /dev/shm with less than this is not used
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
    """Where Playwright puts the ones it downloads, newest first."""
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    for pattern in _DOWNLOADED:
        yield from map(str, sorted(folder.glob(pattern), reverse=True))


@dataclass(frozen=True, slots=True)
class Layers:
    """What keeps the browser in. Only tests leave anything out, to show that the rest is enough."""

    flags: bool = True
    wall: bool = True
    jail: bool = True
    more: tuple[str, ...] = ()  # further flags


ALL: Final = Layers()


class Way(NamedTuple):
    """One way to start it, and what it gives."""

    level: Level
    bubblewrap: Path | None


class Version(msgspec.Struct):
    product: str


class Hello(msgspec.Struct):
    id: int = -1
    result: Version | None = None


class Chromium:
    def __init__(self, child: Child, folder: Profile, way: Way) -> None:
        self.pid = child.process.pid
        self.version = ""
        self.sandboxed = child.report.sandbox
        self.walled = way.level == "net"
        self.jailed = way.bubblewrap is not None
        self._child = child
        self._folder = folder
        self._port: asyncio.Server | None = None  # the proxy's, within the wall
        self._killing: asyncio.Task[None] | None = None

    async def send(self, message: bytes) -> None:
        """One message of the DevTools protocol. Into the void, if the browser is gone."""
        await self._child.pipe.send(message)

    async def receive(self) -> bytes | None:
        """The next message; None: the browser is gone."""
        return await self._child.pipe.receive()

    def memory(self) -> int:
        """Bytes, all of its processes together."""
        return processes.weight(processes.family(self.pid))

    def last_words(self) -> str:
        return self._child.last_words()

    async def kill(self) -> None:
        """End all of it, within seconds, and leave nothing behind. May be called twice, and at once."""
        if self._killing is None:
            self._killing = asyncio.create_task(self._kill())
        await asyncio.shield(self._killing)

    # What `launch` calls.

    async def connect(self, proxy: Proxy) -> None:
        if self._child.listener is not None:
            self._port = await proxy.serve(self._child.listener)

    async def greet(self) -> None:
        """The first words: that it answers at all."""
        await self.send(_HELLO)
        while (message := await self.receive()) is not None:
            hello = msgspec.json.decode(message, type=Hello)
            if hello.id == 0 and hello.result is not None:
                self.version = hello.result.product
                return
        raise Failed(await self._child.end_of_words() or "it ended at once")

    async def _kill(self) -> None:
        if self._port is not None:
            self._port.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await processes.end(self.pid, seconds=KILL_SECONDS)
                await birth.bury(self._child)
        self._child.drain.cancel()
        await asyncio.to_thread(self._folder.remove)


async def launch(binary: Path, proxy: Proxy, *, layers: Layers = ALL, deadline: float) -> Chromium:
    """A browser that answers, before the event loop's clock says `deadline`; fenced as well as can be."""
    why = ""
    try:
        async with asyncio.timeout_at(deadline):
            await asyncio.to_thread(profile.sweep)
            for way in _ways(layers):
                try:
                    browser = await _launch(binary, proxy, layers, way)
                except Failed as failure:
                    why = why or str(failure)
                else:
                    _tell(browser, proxy, why)
                    return browser
    except TimeoutError:
        why = "it did not start in time"
    raise Unavailable("browser", why)


def _ways(layers: Layers) -> Iterator[Way]:
    """The best first. As root, a name of its own inside lets Chromium have its sandbox."""
    levels: list[Level] = ["net"] if layers.wall else []
    levels += ["user", "none"] if os.geteuid() == 0 else ["none"]
    bubblewrap = jail.find() if layers.jail else None
    for level in levels:
        if bubblewrap is not None:
            yield Way(level, bubblewrap)
        yield Way(level, None)


def _tell(browser: Chromium, proxy: Proxy, why: str) -> None:
    if not browser.sandboxed:
        proxy.warn_once(
            "browser_not_sandboxed", "Chromium runs without its sandbox: no user namespaces here", why=why
        )
    if not browser.walled:
        proxy.warn_once(
            "browser_not_walled", "Chromium is fenced by the proxy alone: no network namespaces here", why=why
        )


async def _launch(binary: Path, proxy: Proxy, layers: Layers, way: Way) -> Chromium:
    folder = Profile()
    try:
        child = await birth.bear(way.level, birth.environment(folder.path))
    except BaseException:
        folder.remove()
        raise
    browser = Chromium(child, folder, way)
    try:
        await browser.connect(proxy)
        await child.become(_command(binary, folder.path, browser, layers, way, proxy))
        await browser.greet()
    except BaseException:
        await browser.kill()
        raise
    return browser


def _command(
    binary: Path, folder: Path, browser: Chromium, layers: Layers, way: Way, proxy: Proxy
) -> list[str]:
    fence = chromium_flags.fence(wall.PORT if browser.walled else proxy.port) if layers.flags else ()
    command = chromium_flags.command(
        binary,
        folder,
        sandboxed=browser.sandboxed,
        shared_memory=way.bubblewrap is not None or _shared_memory() >= SHARED_MEMORY,
        more=(*fence, *layers.more),
    )
    return jail.around(command, way.bubblewrap, binary, folder) if way.bubblewrap else command


def _shared_memory() -> int:
    with suppress(OSError):
        folder = os.statvfs("/dev/shm")  # noqa: S108
        return folder.f_bavail * folder.f_frsize
    return 0
