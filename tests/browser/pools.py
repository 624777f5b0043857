"""Pools of browsers to test with, and what can be seen of them from outside."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any, cast

import msgspec
import psutil  # type: ignore[import-untyped]

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.browser.launcher import Launcher, LocalLauncher
from gossamer.reach.browser.running import Running
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.reach.page.visit import Visit, VisitResult
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox.chromium import Chromium
from gossamer.reach.sandbox.fence import Fence
from gossamer.web.url.url import Url

USER_AGENT = "Gossamer/0 (tests)"


class _Contexts(msgspec.Struct, rename="camel"):
    browser_context_ids: list[str]


@dataclass
class Pool:
    browsers: Browsers
    metrics: Metrics
    stream: io.StringIO  # what was logged

    async def visit(self, url: str, **how: Any) -> VisitResult:
        return await self.browsers.visit(Visit(url=Url.parse(url), **{"timeout": 20.0} | how))

    @property
    def running(self) -> list[Running]:
        return list(self.browsers._alive)

    @property
    def pids(self) -> list[int]:
        return [cast(Chromium, browser._engine).pid for browser in self.running]

    def ended(self, why: str) -> float:
        return self.metrics.registry.get_sample_value("gossamer_browser_ends_total", {"why": why}) or 0

    async def rest(self) -> None:
        """Until everything that goes on in the background is done."""
        while self.browsers._chores:
            await asyncio.wait(self.browsers._chores, timeout=20)

    async def contexts(self) -> int:
        """Browser contexts beyond the ones that wait for the next visit."""
        await self.rest()
        found: set[str] = set()
        for browser in self.running:
            if browser._spares:
                await asyncio.wait(browser._spares.values(), timeout=10)
            deadline = asyncio.get_running_loop().time() + 10
            asked = browser._connection.browser.ask(_Contexts, "Target.getBrowserContexts", deadline)
            found.update((await asked).browser_context_ids)
        return len(found) - len(self.running)


@asynccontextmanager
async def open_pool(**settings: Any) -> AsyncIterator[Pool]:
    stream = io.StringIO()
    log = Log(stream, level="debug")
    names = Names(["127.0.0.1:9"])  # nobody is asked
    given: Proxy | None = settings.pop("proxy", None)
    proxy = given or Proxy(Dialer(names, allow=(ip_network("127.0.0.1"),), ports="*"), log)
    if given is None:
        await proxy.open()
    metrics = Metrics("0")
    usual: dict[str, Any] = {
        "places": 2,
        "visits_each": 1_000,
        "megabytes_each": 1_000,
        "queue": 100,
        "user_agent": USER_AGENT,
    }
    local = LocalLauncher(settings.pop("named", ""), proxy, Fence("require", log, metrics))
    launcher: Launcher = settings.pop("launcher", local)
    browsers = Browsers(proxy, launcher, log, metrics, **(usual | settings))
    try:
        yield Pool(browsers, metrics, stream)
    finally:
        await browsers.close()
        if given is None:
            await proxy.close()
        await names.close()


def family(pids: list[int]) -> list[psutil.Process]:
    """Processes that are there, of all those browsers."""
    found = []
    for pid in pids:
        try:
            process = psutil.Process(pid)
            found += [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
    return [process for process in found if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
