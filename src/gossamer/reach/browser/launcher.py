"""Where the pool's browsers come from: this machine (`LocalLauncher`), or elsewhere (`remote.Remotes`)."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gossamer.problems import Unavailable
from gossamer.reach.browser.running import Engine
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox import chromium
from gossamer.reach.sandbox.child_process import LaunchFailed
from gossamer.reach.sandbox.fence import Fence

RETRY_SECONDS: Final = 60
_INSTALL: Final = (
    "The operator installs one where pages are rendered (scripts/install does; on Debian: apt-get install "
    "chromium-headless-shell), or names it in GOSSAMER_CHROMIUM. It is found without a restart."
)


class NoBrowser(Unavailable):
    """No Chromium is installed, so waiting does not help."""

    def __init__(self) -> None:
        super().__init__(
            "browser", "no Chromium was found on this machine", retry_after=RETRY_SECONDS, hint=_INSTALL
        )


class Launcher(Protocol):
    @property
    def context(self) -> Mapping[str, Any]:
        """The options of every browser context."""

    @property
    def fence(self) -> Fence | None:
        """The layers around the browsers; None if we do not start them."""

    def demand(self) -> None:
        """Raises `NoBrowser` if there is nothing to launch."""

    async def open(self) -> None:
        """Called at the start. Raises `SettingError` if the settings demand layers that the system lacks."""

    async def close(self) -> None: ...

    async def launch(self, deadline: float) -> Engine:
        """Launch a browser and wait until it answers, at most until `deadline` on the event loop's clock."""


class LocalLauncher:
    def __init__(self, named: str, proxy: Proxy, fence: Fence) -> None:
        self.context: Mapping[str, Any] = {}
        self.fence = fence
        self._named = named
        self._proxy = proxy

    def demand(self) -> None:
        if chromium.find(self._named) is None:
            raise NoBrowser

    async def open(self) -> None:
        """Without a Chromium, the layers are not checked until there is one."""
        if chromium.find(self._named) is not None:
            await self.fence.demand()

    async def close(self) -> None:
        """Does nothing: nothing is open."""

    async def launch(self, deadline: float) -> Engine:
        binary = chromium.find(self._named)
        if binary is None:
            raise NoBrowser
        try:
            layers = await self.fence.layers()
        except LaunchFailed as failure:
            raise Unavailable("browser", str(failure)) from failure
        return await chromium.launch(binary, self._proxy, layers=layers, deadline=deadline)
