"""The layers around our browsers: which of them this system allows, and which are required.

A probe finds out which layers are possible. With the policy `prefer`, impossible layers are left out; with
`require`, no browser is launched without them. A layer that was possible once stays in force while this
process lives: if a launch with it fails, it is not repeated without it. Missing layers are probed again
before every launch, so a layer that becomes possible later is in force from then on.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.sandbox import bubblewrap, child_process
from gossamer.reach.sandbox.child_process import Impossible, LaunchFailed, Level
from gossamer.reach.sandbox.profile import Profile
from gossamer.settings.settings import SettingError

Policy = Literal["require", "prefer"]

PROBE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 60  # Retry-After for a layer that only the operator can provide


class Layer(StrEnum):
    """The layers around a browser, besides the proxy, which is always there."""

    NETNS = "netns"  # an empty network namespace, whose only port is the proxy's
    BUBBLEWRAP = "bubblewrap"  # a file system without this machine's data
    SANDBOX = "sandbox"  # Chromium's own


_EVENTS: Final[Mapping[Layer, tuple[str, str]]] = {
    Layer.NETNS: (
        "browser_not_in_netns",
        "Chromium runs without a network namespace: the proxy alone fences it",
    ),
    Layer.BUBBLEWRAP: (
        "browser_not_in_bubblewrap",
        "Chromium runs without bubblewrap: it can see this machine's files",
    ),
    Layer.SANDBOX: ("browser_not_sandboxed", "Chromium runs without its own sandbox"),
}
REMEDIES: Final[Mapping[Layer, str]] = {
    Layer.NETNS: "allow user and network namespaces",
    Layer.BUBBLEWRAP: "install bubblewrap (Debian: apt-get install bubblewrap)",
    Layer.SANDBOX: "allow user namespaces",
}


class Layers(Struct, frozen=True):
    """The layers of a launch, which fails if one of them is not possible."""

    flags: bool = True  # only tests leave them out, to show that the other layers are enough
    netns: bool = True
    bubblewrap: bool = True
    sandbox: bool = True
    more: tuple[str, ...] = ()  # further flags

    @property
    def level(self) -> Level:
        """Root needs a user namespace, because Chromium does not sandbox processes of root."""
        if self.netns:
            return "net"
        return "user" if self.sandbox and os.geteuid() == 0 else "none"


ALL: Final = Layers()


class Fence:
    """The policy, and the layers that this system allows."""

    def __init__(self, policy: Policy, log: Log, metrics: Metrics) -> None:
        self.policy = policy
        self._log = log
        self._metrics = metrics
        self._missing: Mapping[Layer, str] | None = None  # before the first probe
        self._probing = asyncio.Lock()

    @property
    def missing(self) -> Mapping[Layer, str]:
        """The layers that are not possible, with the reason."""
        return self._missing or {}

    @property
    def in_force(self) -> tuple[Layer, ...]:
        return () if self._missing is None else tuple(layer for layer in Layer if layer not in self._missing)

    async def demand(self) -> None:
        """Called at the start. Raises `SettingError` if a required layer is not possible."""
        try:
            await self._learn()
        except LaunchFailed as failure:  # this says nothing about the system; every launch probes again
            self._log.warning("fence_unknown", "what keeps browsers in could not be probed", why=str(failure))
        if self.missing and self.policy == "require":
            raise SettingError(f"fence is require, and {_lacking(self.missing)}")

    async def layers(self) -> Layers:
        """The layers of the next launch. Raises `LaunchFailed` if they could not be probed."""
        await self._learn()
        if self.missing and self.policy == "require":
            raise Unavailable("browser", _lacking(self.missing), retry_after=RETRY_SECONDS)
        missing = self.missing
        return Layers(
            netns=Layer.NETNS not in missing,
            bubblewrap=Layer.BUBBLEWRAP not in missing,
            sandbox=Layer.SANDBOX not in missing,
        )

    async def _learn(self) -> None:
        async with self._probing:
            if self._missing is None or self._missing:
                self.note(await probe())

    def note(self, found: Mapping[Layer, str]) -> None:
        """Note the result of a probe. A layer that was in force once stays in force."""
        known = self._missing
        self._missing = {layer: why for layer, why in found.items() if known is None or layer in known}
        for layer in Layer:
            self._metrics.browser_layer(layer, in_force=layer not in self._missing)
            if layer in self._missing and known is None and self.policy == "prefer":
                event, message = _EVENTS[layer]
                self._log.warning(event, message, why=self._missing[layer], remedy=REMEDIES[layer])


def _lacking(missing: Mapping[Layer, str]) -> str:
    named = ", ".join(f"{layer} ({why})" for layer, why in missing.items())
    remedies = " and ".join(dict.fromkeys(REMEDIES[layer] for layer in missing))
    return f"Chromium cannot have {named}: {remedies}, or choose GOSSAMER_FENCE=prefer to render without"


async def probe() -> dict[Layer, str]:
    """The layers that this system does not allow, with the reasons. Raises `LaunchFailed` if unknown."""
    folder = Profile()
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await _probe(folder)
    except TimeoutError:
        raise LaunchFailed("the probe did not end in time") from None
    finally:
        folder.remove()


async def _probe(folder: Profile) -> dict[Layer, str]:
    missing: dict[Layer, str] = {}
    levels: tuple[Level, ...] = ("net", "user", "none") if os.geteuid() == 0 else ("net", "none")
    for level in levels:
        try:
            sandbox = await _probe_sandbox(level, folder)
        except Impossible as refusal:
            missing.setdefault(Layer.NETNS, f"this system allows no network namespaces: {refusal}")
            continue
        if level == "none":
            missing.setdefault(Layer.NETNS, "this system has no network namespaces")
        if not sandbox:
            missing[Layer.SANDBOX] = "this system allows no user namespaces"
        if why := await _probe_bubblewrap(level, folder):
            missing[Layer.BUBBLEWRAP] = why
        return missing
    raise LaunchFailed("no process could be started")


async def _probe_sandbox(level: Level, folder: Profile) -> bool:
    child = await child_process.start(level, child_process.environment(folder.path))
    await child_process.end(child)
    return child.report.sandbox


async def _probe_bubblewrap(level: Level, folder: Profile) -> str:
    """Why bubblewrap does not work here; empty if it does."""
    program = bubblewrap.find()
    if program is None:
        return "bubblewrap is not installed" if sys.platform == "linux" else "bubblewrap needs Linux"
    why = ""
    for _ in range(2):  # the first failure may be temporary
        child = await child_process.start(level, child_process.environment(folder.path))
        try:
            command = [str(program), "--version"]  # a program that certainly exists
            await child.become(bubblewrap.around(command, program, program, folder.path))
            if await child.process.wait() == 0:
                return ""
            why = await child.final_stderr()
        finally:
            await asyncio.shield(child_process.end(child))
    return f"bubblewrap does not work here: {why or 'it says nothing'}"
