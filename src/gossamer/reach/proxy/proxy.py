"""The browser's only way out: an HTTP proxy that opens connections only through `reach.net.dial`.

It accepts CONNECT (https, and WebSockets of either kind) and requests for http:// addresses. Each request
must carry the credentials of a visit that is under way. The traffic of a visit is bounded, and its
connections are cut when it ends. A target is parsed by the rules of browsers, then judged, resolved and
pinned like every other address.

It is written on httptools, like the HTTP client, because its sockets must come from the dialer, and because
no existing proxy counts by visit, cuts by visit and bounds every buffer. A tunnel costs two calls a read.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gossamer.observe.logs import Log
from gossamer.reach.net.dial import Dialer
from gossamer.reach.proxy.client import ProxyClient
from gossamer.reach.proxy.credentials import Allowance, VisitCredentials, VisitRegistry
from gossamer.reach.proxy.splice import Tunnel
from gossamer.reach.proxy.wire import RequestTarget

BACKLOG: Final = 256
CLOSE_SECONDS: Final = 2.0


class ProxyBounds(Struct, frozen=True, kw_only=True):
    """Seconds, bytes and numbers."""

    connect: float = 10.0  # name and connection together
    head_seconds: float = 10.0  # from the first byte of a head to its last
    idle_seconds: float = 60.0  # without a byte in either direction
    head_bytes: int = 64 * 1024
    connections: int = 1024  # of all browsers together
    sweep_seconds: float = 2.0


BOUNDS: Final = ProxyBounds()


class Proxy:
    def __init__(self, dialer: Dialer, log: Log, *, bounds: ProxyBounds = BOUNDS) -> None:
        self.bounds = bounds
        self.visits = VisitRegistry()
        self.port = 0  # on 127.0.0.1, once it is open
        self._dialer = dialer
        self._log = log
        self._servers: list[asyncio.Server] = []
        self._open: dict[ProxyClient | Tunnel, _Activity] = {}
        self._emptied = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ProxyClient(self), "127.0.0.1", 0, backlog=BACKLOG)
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]
        self._sweeper = loop.call_later(self.bounds.sweep_seconds, self._sweep)

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        """Accept connections on one more socket, in a browser's network namespace. The caller closes it."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ProxyClient(self), sock=listener, backlog=BACKLOG)
        self._servers = [known for known in self._servers if known.is_serving()] + [server]
        return server

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        for server in self._servers:
            server.close()
        self.visits.close()
        for each in list(self._open):
            each.cut()
        self._emptied.set() if not self._open else self._emptied.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._emptied.wait()

    def admit(self, allowance: Allowance, deadline: float) -> VisitCredentials:
        """Credentials for one visit, valid until `deadline` on the event loop's clock, or until closed."""
        return self.visits.issue(allowance, deadline)

    # Called by connections.

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def add(self, client: ProxyClient) -> bool:
        self._open[client] = _Activity(self.now())
        return len(self._open) <= self.bounds.connections

    def remove(self, connection: ProxyClient | Tunnel) -> None:
        self._open.pop(connection, None)
        if not self._open:
            self._emptied.set()

    def replace(self, client: ProxyClient, tunnel: Tunnel) -> None:
        self._open[tunnel] = self._open.pop(client)

    async def dial(
        self, target: RequestTarget, tenant: str, protocol_factory: Callable[[], asyncio.Protocol]
    ) -> None:
        await self._dialer.dial(
            target.host,
            target.port,
            tls=False,
            deadline=self.now() + self.bounds.connect,
            protocol_factory=protocol_factory,
            tenant=tenant,
        )

    def log_refusal(self, host: str, port: int, reason: str) -> None:
        self._log.debug("proxy_refused", host=host, port=port, reason=reason)

    def _sweep(self) -> None:
        """Cut connections whose head takes too long, and idle ones."""
        now = self.now()
        for connection, watched in list(self._open.items()):
            if connection.moved != watched.moved:
                watched.moved, watched.since = connection.moved, now
            is_late = (
                connection.head_since is not None and now - connection.head_since > self.bounds.head_seconds
            )
            if is_late or now - watched.since > self.bounds.idle_seconds:
                connection.cut()
        self._sweeper = asyncio.get_running_loop().call_later(self.bounds.sweep_seconds, self._sweep)


class _Activity(Struct):
    since: float  # when a byte was last seen to move
    moved: int = 0
