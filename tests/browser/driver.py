"""A browser driven by hand: just enough of the DevTools protocol to open a page and ask it things."""

import asyncio
import io
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

import msgspec

from gossamer.observe.logs import Log
from gossamer.reach.browser.cdp import CdpConnection, CdpSession
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.reach.proxy.credentials import Allowance, VisitCredentials
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox.chromium import Chromium, find, launch
from gossamer.reach.sandbox.fence import ALL, Layers
from tests.site.dns import Clock, NameServer, name_server

SECONDS = 20.0
PLENTY = Allowance(max_bytes=50_000_000, max_requests=2_000)


def now() -> float:
    return asyncio.get_running_loop().time()


def binary() -> Path:
    """The one that would be used; GOSSAMER_TEST_CHROMIUM names another, to test that."""
    found = find(os.environ.get("GOSSAMER_TEST_CHROMIUM", ""))
    assert found is not None, "no Chromium is installed: scripts/install test says how to get one"
    return found


class Yard:
    """A proxy to the outside world, which is 127.0.0.1, and the name server that it asks."""

    def __init__(self, dns: NameServer, clock: Clock, proxy: Proxy, log: io.StringIO) -> None:
        self.dns = dns
        self.clock = clock
        self.proxy = proxy
        self.log = log


@asynccontextmanager
async def yard(*allowed: IPv4Network | IPv6Network) -> AsyncIterator[Yard]:
    async with name_server() as dns:
        clock, log = Clock(), io.StringIO()
        names = Names([dns.address], limit=1.0, clock=clock)
        dialer = Dialer(names, allow=(ip_network("127.0.0.1/32"), *allowed), ports="*")
        proxy = Proxy(dialer, Log(log))
        await proxy.open()
        try:
            yield Yard(dns, clock, proxy, log)
        finally:
            await proxy.close()
            await names.close()


@asynccontextmanager
async def chromium(proxy: Proxy, layers: Layers = ALL) -> AsyncIterator[Chromium]:
    browser = await launch(binary(), proxy, layers=layers, deadline=now() + SECONDS)
    try:
        yield browser
    finally:
        await browser.kill()


class Tab:
    """A page in a context of its own, which answers the proxy with the credentials of its visit."""

    def __init__(self, session: CdpSession, visit: VisitCredentials) -> None:
        self.visit = visit
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._session = session
        self._tasks: set[asyncio.Task[None]] = set()

    async def navigate(self, url: str) -> str:
        """What went wrong, if anything."""
        answer = await self._session.ask(dict[str, Any], "Page.navigate", now() + SECONDS, url=url)
        return str(answer.get("errorText", ""))

    async def evaluate(self, expression: str) -> Any:
        answer = await self._session.ask(
            dict[str, Any],
            "Runtime.evaluate",
            now() + SECONDS,
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        return answer["result"].get("value")

    async def until(self, expression: str) -> None:
        async with asyncio.timeout(SECONDS):
            while not await self.evaluate(expression):
                await asyncio.sleep(0.05)

    def hear(self, method: str, raw: msgspec.Raw) -> None:
        params = msgspec.json.decode(raw)
        if method == "Fetch.requestPaused":
            self._do("Fetch.continueRequest", requestId=params["requestId"])
        elif method == "Fetch.authRequired":
            known = {"username": self.visit.user, "password": self.visit.password}
            response = {"response": "ProvideCredentials", **known}
            self._do("Fetch.continueWithAuth", requestId=params["requestId"], authChallengeResponse=response)
        else:
            self.events.append((method, params))

    def _do(self, method: str, **params: Any) -> None:
        task = asyncio.create_task(self._session.tell(method, now() + SECONDS, **params))
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # the request that it was about may be gone


@asynccontextmanager
async def tab(
    browser: Chromium, visit: VisitCredentials, connection: CdpConnection | None = None
) -> AsyncIterator[Tab]:
    own = connection or CdpConnection(browser)
    try:
        context = await own.browser.ask(dict[str, Any], "Target.createBrowserContext", now() + SECONDS)
        target = await own.browser.ask(
            dict[str, Any], "Target.createTarget", now() + SECONDS, url="about:blank", **context
        )
        attached = await own.browser.ask(
            dict[str, Any], "Target.attachToTarget", now() + SECONDS, flatten=True, **target
        )
        opened: list[Tab] = []
        session = own.session(attached["sessionId"], lambda method, raw: opened[0].hear(method, raw))
        opened.append(Tab(session, visit))
        for method, params in (
            ("Page.enable", {}),
            ("Network.enable", {}),
            ("Fetch.enable", {"handleAuthRequests": True, "patterns": [{"resourceType": "Document"}]}),
        ):
            await session.tell(method, now() + SECONDS, **params)
        yield opened[0]
    finally:
        if connection is None:
            await own.close()
