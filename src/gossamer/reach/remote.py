"""A Chromium that somebody else started, by its DevTools address.

It is used only behind a fence that was proven (`canaries`): each browser process once, and again when it is
another one. Every place of the pool has a connection of its own, and what a visit leaves goes with it.
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

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.canaries import prove
from gossamer.reach.cdp import Connection
from gossamer.reach.proxy import Proxy

LARGEST: Final = 256 * 1024 * 1024  # bytes of a message
CLOSING: Final = 2.0  # seconds
ASKING: Final = 5.0


class _Version(msgspec.Struct, rename={"address": "webSocketDebuggerUrl"}):
    address: str


class Remote:
    """One connection to it: what the pool takes for a browser."""

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
        """Not ours to know."""
        return 0

    async def kill(self) -> None:
        """The browser stays; our contexts in it go with the connection."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(CLOSING):
                await self._wire.close()


class Remotes:
    def __init__(self, url: str, proxy_url: str, proxy: Proxy, log: Log) -> None:
        self.context = {"proxyServer": proxy_url.rstrip("/"), "proxyBypassList": "<-loopback>"}
        self._url = url
        self._proxy = proxy
        self._log = log
        place = urlsplit(proxy_url)
        self._ours = place.hostname or ""  # an address of ours that the browser can reach
        self._port = place.port or 80
        self._server: asyncio.Server | None = None
        self._proven = ""  # the address of the browser that was last shown to be fenced
        self._proving = asyncio.Lock()

    async def open(self) -> None:
        """Have the proxy listen where the browser looks for it."""
        if self._port == self._proxy.port:
            return
        listener = socket.create_server(("", self._port))
        listener.setblocking(False)
        self._server = await self._proxy.serve(listener)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def launch(self, deadline: float) -> Remote:
        """A connection to a browser that is shown to be fenced, before the event loop's clock says so."""
        try:
            async with asyncio.timeout_at(deadline):
                address = await self._address()
                async with self._proving:
                    if address != self._proven:
                        await self._prove(address, deadline)
                        self._proven = address
                return await _connected(address)
        except TimeoutError:
            raise Unavailable("browser", "its DevTools address does not answer in time") from None
        except (OSError, WebSocketException, msgspec.MsgspecError) as error:
            raise Unavailable("browser", f"its DevTools address cannot be used: {error}") from error

    async def _address(self) -> str:
        if self._url.startswith(("ws:", "wss:")):
            return self._url
        told = await asyncio.to_thread(_asked, f"{self._url.rstrip('/')}/json/version")
        named = urlsplit(msgspec.json.decode(told, type=_Version).address)
        place = urlsplit(self._url)  # the browser may not know by what name it is reached
        return named._replace(scheme="wss" if place.scheme == "https" else "ws", netloc=place.netloc).geturl()

    async def _prove(self, address: str, deadline: float) -> None:
        wire = await _connected(address)
        connection = Connection(wire)
        hosts = tuple(dict.fromkeys((self._ours, "127.0.0.1")))
        try:
            await prove(connection, self._proxy, hosts, self.context, deadline)
        except Unavailable as refused:
            self._log.error("browser_not_fenced", "the Chromium elsewhere is not used", why=refused.detail)
            raise
        finally:
            await connection.close()
            await wire.kill()
        self._log.info("browser_fenced", "the Chromium elsewhere has no way out but our proxy")


async def _connected(address: str) -> Remote:
    return Remote(await connect(address, max_size=LARGEST, compression=None, ping_interval=None))


def _asked(url: str) -> bytes:
    with urlopen(url, timeout=ASKING) as answer:  # noqa: S310  (the operator's)
        body: bytes = answer.read(100_000)
    return body
