"""The browser's only way out: an HTTP proxy that dials through `reach.dial`, and through nothing else.

It takes CONNECT (https, and WebSockets of either kind) and requests for http:// addresses. Every one of them
must carry the credentials of a visit that is under way; what the visit may take is bounded, and everything it
has open is cut when it ends. A target is read by the rules of browsers, judged, resolved and pinned as any
other that leaves this machine.

Written by hand on httptools, as the client for fetches is: the sockets must come from the dialer, and none to
be had counts by visit, cuts by visit and bounds every buffer. A tunnel costs two calls a read.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.logs import Log
from gossamer.reach.dial import Dialer
from gossamer.reach.passes import Allowance, Pass, Passes, Refusal
from gossamer.reach.proxy_client import Client
from gossamer.reach.proxy_splice import Tunnel
from gossamer.reach.proxy_words import Target

__all__ = ["Allowance", "Bounds", "Pass", "Proxy", "Refusal"]

BACKLOG: Final = 256
CLOSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Seconds, bytes and numbers."""

    connect: float = 10.0  # name and connection together
    head_seconds: float = 10.0  # from the first byte of a head to its last
    idle_seconds: float = 60.0  # without a byte in either direction
    head_bytes: int = 64 * 1024
    connections: int = 1024  # of all browsers together
    sweep_seconds: float = 2.0


BOUNDS: Final = Bounds()


class Proxy:
    def __init__(self, dialer: Dialer, log: Log, *, bounds: Bounds = BOUNDS) -> None:
        self.bounds = bounds
        self.passes = Passes()
        self.port = 0  # on 127.0.0.1, once it is open
        self._dialer = dialer
        self._log = log
        self._servers: list[asyncio.Server] = []
        self._open: dict[Client | Tunnel, _Watched] = {}
        self._emptied = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None
        self._warned: set[str] = set()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Client(self), "127.0.0.1", 0, backlog=BACKLOG)
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]
        self._sweeper = loop.call_later(self.bounds.sweep_seconds, self._sweep)

    async def serve(self, listener: socket.socket) -> asyncio.Server:
        """Take connections from one more place: a port within a wall. Whoever asked closes it."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Client(self), sock=listener, backlog=BACKLOG)
        self._servers = [known for known in self._servers if known.is_serving()] + [server]
        return server

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        for server in self._servers:
            server.close()
        self.passes.close()
        for each in list(self._open):
            each.cut()
        self._emptied.set() if not self._open else self._emptied.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._emptied.wait()

    def admit(self, allowance: Allowance, deadline: float) -> Pass:
        """A pass for one visit, until the event loop's clock says `deadline` or it is closed."""
        return self.passes.issue(allowance, deadline)

    def warn_once(self, event: str, message: str, **fields: str) -> None:
        """Of what holds for every browser that is started."""
        if event not in self._warned:
            self._warned.add(event)
            self._log.warning(event, message, **fields)

    # What connections call.

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def joined(self, client: Client) -> bool:
        self._open[client] = _Watched(self.now())
        return len(self._open) <= self.bounds.connections

    def left(self, who: Client | Tunnel) -> None:
        self._open.pop(who, None)
        if not self._open:
            self._emptied.set()

    def handed_over(self, client: Client, tunnel: Tunnel) -> None:
        self._open[tunnel] = self._open.pop(client)

    async def dial(self, target: Target, protocol_factory: Callable[[], asyncio.Protocol]) -> None:
        await self._dialer.dial(
            target.host,
            target.port,
            tls=False,
            deadline=self.now() + self.bounds.connect,
            protocol_factory=protocol_factory,
        )

    def refused(self, host: str, port: int, reason: str) -> None:
        self._log.debug("proxy_refused", host=host, port=port, reason=reason)

    def _sweep(self) -> None:
        """Cut whoever dawdles over a head, or says nothing for long."""
        now = self.now()
        for who, watched in list(self._open.items()):
            if who.moved != watched.moved:
                watched.moved, watched.since = who.moved, now
            dawdles = who.head_since is not None and now - who.head_since > self.bounds.head_seconds
            if dawdles or now - watched.since > self.bounds.idle_seconds:
                who.cut()
        self._sweeper = asyncio.get_running_loop().call_later(self.bounds.sweep_seconds, self._sweep)


@dataclass(slots=True)
class _Watched:
    since: float  # when it was last seen to have moved a byte
    moved: int = 0
