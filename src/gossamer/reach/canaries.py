"""Canaries: proof that a browser which we did not start has no way out but our proxy.

Listeners of ours, TCP and UDP, wait on a port where nobody has any business. A page in that browser tries
everything to reach them. It has no pass, so our proxy lets nothing through: whatever arrives came another
way, and one arrival is enough to refuse the browser. That the browser does use our proxy is shown the other
way round: a visit with a pass to an address that is never allowed must come to be refused by it.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.cdp import Connection, Gone, Refused
from gossamer.reach.proxy import Allowance, Proxy
from gossamer.reach.tab import Manner, Tab, script

NEVER: Final = "192.0.2.1"  # set aside for documentation (RFC 5737)
PROBING: Final = 2.0  # seconds
CLOSING: Final = 3.0


class Canaries(asyncio.DatagramProtocol):
    """Two listeners on one port; everything that arrives is counted and nothing is answered."""

    def __init__(self) -> None:
        self.arrivals = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._datagrams: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> "Canaries":
        loop = asyncio.get_running_loop()
        # Whatever address the browser knows us by, and it may be on another machine.
        self._server = await loop.create_server(lambda: _Stream(self), "0.0.0.0", 0)  # noqa: S104
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


class _Stream(asyncio.Protocol):
    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._canaries.arrivals += 1
        transport.close()


class _Probed(msgspec.Struct):
    value: bool = False


class _Answer(msgspec.Struct):
    result: _Probed


async def prove(
    connection: Connection, proxy: Proxy, hosts: tuple[str, ...], context: dict[str, str], deadline: float
) -> None:
    """Raises Unavailable unless everything of that browser goes through the proxy. `hosts` are ours."""
    try:
        for host in hosts:
            await _nothing_arrives(connection, host, context, deadline)
        await _goes_through(connection, proxy, context, deadline)
    except (Gone, Refused, TimeoutError) as error:
        raise Unavailable("browser", "it could not be shown to be fenced") from error


async def _nothing_arrives(
    connection: Connection, host: str, context: dict[str, str], deadline: float
) -> None:
    async with Canaries() as canaries, AsyncExitStack() as stack:
        tab = await Tab.open(connection, deadline, **context)
        stack.push_async_callback(_closed, tab)
        given = msgspec.json.encode([host, canaries.port, PROBING * 1000]).decode()
        answer = await tab.session.ask(
            _Answer,
            "Runtime.evaluate",
            deadline,
            expression=f"({script('probe')})(...{given})",
            awaitPromise=True,
            returnByValue=True,
        )
        if not answer.result.value:
            raise Refused("the probe did not run")
        if canaries.arrivals:
            raise Unavailable("browser", f"pages in it reach {host} past our proxy", retry_after=60)


async def _goes_through(
    connection: Connection, proxy: Proxy, context: dict[str, str], deadline: float
) -> None:
    admitted = proxy.admit(Allowance(10_000, 10), deadline)
    tab = await Tab.open(connection, deadline, **context)
    try:
        manner = Manner(user=admitted.user, password=admitted.password, user_agent="")
        await asyncio.gather(*tab.begin(manner, lambda method, params: None, deadline))
        await tab.session.tell("Page.navigate", deadline, url=f"http://{NEVER}/")
        if not any(refusal.host == NEVER for refusal in admitted.refused):
            raise Unavailable("browser", "pages in it do not go through our proxy", retry_after=60)
    finally:
        admitted.close()
        await _closed(tab)


async def _closed(tab: Tab) -> None:
    await asyncio.shield(tab.close(asyncio.get_running_loop().time() + CLOSING))
