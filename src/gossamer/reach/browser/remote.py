"""Uses a Chromium that another program started, by its DevTools address.

It is used only after a check that it cannot bypass our proxy (`egress_check`), once for each browser process.
Every place of the pool has a separate connection, and everything that a visit leaves ends with it.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit
from urllib.request import urlopen

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.browser.cdp import CdpConnection
from gossamer.reach.browser.egress_check import check_egress
from gossamer.reach.proxy.proxy import Proxy

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
CLOSE_SECONDS: Final = 2.0
REQUEST_SECONDS: Final = 5.0


class _Version(msgspec.Struct, rename={"address": "webSocketDebuggerUrl"}):
    address: str


class Remote:
    """One connection to the browser. The pool treats it as a browser."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire = wire

    async def send(self, message: bytes) -> None:
        try:
            await self._wire.send(message, text=True)
        except WebSocketException as error:
            raise ConnectionResetError from error

    async def receive(self) -> bytes | None:
        try:
            return await self._wire.recv(decode=False)
        except WebSocketException:
            return None

    def memory(self) -> int:
        """Unknown: the browser may run on another machine."""
        return 0

    async def kill(self) -> None:
        """The browser stays; our contexts in it go with the connection."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._wire.close()


class Remotes:
    def __init__(self, url: str, proxy_url: str, proxy: Proxy, log: Log) -> None:
        self.context = {"proxyServer": proxy_url.rstrip("/"), "proxyBypassList": "<-loopback>"}
        self.fence = None  # checked by its traffic; its layers are unknown
        self._url = url
        self._proxy = proxy
        self._log = log
        place = urlsplit(proxy_url)
        self._ours = place.hostname or ""  # an address of ours that the browser can reach
        self._port = place.port or 80
        self._server: asyncio.Server | None = None
        self._proven = ""  # the address of the browser that passed the last check
        self._proving = asyncio.Lock()

    def demand(self) -> None:
        """Does nothing: the browser may be started later."""

    async def open(self) -> None:
        """Make the proxy listen on the port that the browser connects to."""
        if self._port == self._proxy.port:
            return
        listener = socket.create_server(("", self._port))
        listener.setblocking(False)
        self._server = await self._proxy.serve(listener)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def launch(self, deadline: float) -> Remote:
        """Connect by `deadline`, on the event loop's clock, to a browser that passed the check."""
        try:
            async with asyncio.timeout_at(deadline):
                address = await self._address()
                async with self._proving:
                    if address != self._proven:
                        await self._prove(address, deadline)
                        self._proven = address
                return await _connect(address)
        except TimeoutError:
            raise Unavailable("browser", "its DevTools address does not answer in time") from None
        except (OSError, WebSocketException, msgspec.MsgspecError) as error:
            raise Unavailable("browser", f"its DevTools address cannot be used: {error}") from error

    async def _address(self) -> str:
        if self._url.startswith(("ws:", "wss:")):
            return self._url
        version = await asyncio.to_thread(_get, f"{self._url.rstrip('/')}/json/version")
        named = urlsplit(msgspec.json.decode(version, type=_Version).address)
        place = urlsplit(self._url)  # the browser may not know the name that we reach it by
        return named._replace(scheme="wss" if place.scheme == "https" else "ws", netloc=place.netloc).geturl()

    async def _prove(self, address: str, deadline: float) -> None:
        wire = await _connect(address)
        connection = CdpConnection(wire)
        hosts = tuple(dict.fromkeys((self._ours, "127.0.0.1")))
        try:
            await check_egress(connection, self._proxy, hosts, self.context, deadline)
        except Unavailable as refused:
            self._log.error("browser_not_fenced", "the Chromium elsewhere is not used", why=refused.detail)
            raise
        finally:
            await connection.close()
            await wire.kill()
        self._log.info("browser_fenced", "the Chromium elsewhere has no way out but our proxy")


async def _connect(address: str) -> Remote:
    return Remote(await connect(address, max_size=MAX_MESSAGE_BYTES, compression=None, ping_interval=None))


def _get(url: str) -> bytes:
    with urlopen(url, timeout=REQUEST_SECONDS) as answer:  # noqa: S310  (the operator's URL)
        body: bytes = answer.read(100_000)
    return body
