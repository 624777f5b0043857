"""Checks that a browser which we did not start has no way out except our proxy.

Two listeners, TCP and UDP, wait on a port that has no other use. A page in that browser tries every way to
reach them. The page has no credentials, so our proxy lets nothing through, and any arrival came another way.
One arrival is enough to refuse the browser. A second visit shows that the browser does use our proxy: it has
credentials, and the proxy must refuse its address, which is never allowed.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.browser.cdp import CdpConnection, CdpGone, CdpRefused
from gossamer.reach.page.tab import Tab, script
from gossamer.reach.page.visit import Visit
from gossamer.reach.proxy.credentials import Allowance
from gossamer.reach.proxy.proxy import Proxy
from gossamer.web.url.url import Url

NEVER_ALLOWED: Final = "192.0.2.1"  # reserved for documentation (RFC 5737)
PROBE_SECONDS: Final = 2.0
CLOSE_SECONDS: Final = 3.0


class EgressListeners(asyncio.DatagramProtocol):
    """A TCP and a UDP listener on one port. They count arrivals and answer nothing."""

    def __init__(self) -> None:
        self.arrivals = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._datagrams: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> "EgressListeners":
        loop = asyncio.get_running_loop()
        # On all addresses, because the browser may be on another machine and know us by any of them.
        self._server = await loop.create_server(lambda: _CountingStream(self), "0.0.0.0", 0)  # noqa: S104
        self.port = self._server.sockets[0].getsockname()[1]
        self._datagrams, _ = await loop.create_datagram_endpoint(
            lambda: self,
            local_addr=("0.0.0.0", self.port),  # noqa: S104
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        if self._datagrams is not None:
            self._datagrams.close()

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.arrivals += 1


class _CountingStream(asyncio.Protocol):
    def __init__(self, listeners: EgressListeners) -> None:
        self._listeners = listeners

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._listeners.arrivals += 1
        transport.close()


class _Probed(msgspec.Struct):
    value: bool = False


class _ProbeAnswer(msgspec.Struct):
    result: _Probed


async def check_egress(
    connection: CdpConnection,
    proxy: Proxy,
    hosts: tuple[str, ...],
    context: Mapping[str, Any],
    deadline: float,
) -> None:
    """Raises `Unavailable` unless all traffic of the browser goes through the proxy. `hosts` are our own."""
    try:
        for host in hosts:
            await _refuse_arrivals(connection, host, context, deadline)
        await _check_proxy_used(connection, proxy, context, deadline)
    except (CdpGone, CdpRefused, TimeoutError) as error:
        raise Unavailable("browser", "it could not be shown to be fenced") from error


async def _refuse_arrivals(
    connection: CdpConnection, host: str, context: Mapping[str, Any], deadline: float
) -> None:
    async with EgressListeners() as listeners, AsyncExitStack() as stack:
        tab = await Tab.open(connection, deadline, **context)
        stack.push_async_callback(_close, tab)
        given = msgspec.json.encode([host, listeners.port, PROBE_SECONDS * 1000]).decode()
        answer = await tab.session.ask(
            _ProbeAnswer,
            "Runtime.evaluate",
            deadline,
            expression=f"({script('probe')})(...{given})",
            awaitPromise=True,
            returnByValue=True,
        )
        if not answer.result.value:
            raise CdpRefused("the probe did not run")
        if listeners.arrivals:
            raise Unavailable("browser", f"pages in it reach {host} past our proxy", retry_after=60)


async def _check_proxy_used(
    connection: CdpConnection, proxy: Proxy, context: Mapping[str, Any], deadline: float
) -> None:
    credentials = proxy.admit(Allowance(10_000, 10), deadline)
    tab = await Tab.open(connection, deadline, **context)
    try:
        visit = Visit(url=Url.parse(f"http://{NEVER_ALLOWED}/"))
        await asyncio.gather(*tab.begin(visit, credentials, lambda method, params: None, deadline))
        await tab.session.tell("Page.navigate", deadline, url=visit.url.href)
        if not any(refusal.host == NEVER_ALLOWED for refusal in credentials.refused):
            raise Unavailable("browser", "pages in it do not go through our proxy", retry_after=60)
    finally:
        credentials.close()
        await _close(tab)


async def _close(tab: Tab) -> None:
    await asyncio.shield(tab.close(asyncio.get_running_loop().time() + CLOSE_SECONDS))
