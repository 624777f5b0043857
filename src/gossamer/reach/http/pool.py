"""A pool of connections, with bounds on concurrent exchanges in all and with each origin.

An idle connection is used again, within some seconds, by the next exchange with the same origin. A connection
whose exchange failed, was cancelled, or was not read to its end is never used again.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

from msgspec import Struct, field

from gossamer.reach.http.client import ExchangeTerms, HttpBounds, HttpConnection, HttpResponse, Stale
from gossamer.reach.http.failures import failed, timed_out
from gossamer.reach.net.fetch_reason import FetchReason


class Dials(Protocol):
    """The dialer that a pool needs."""

    async def dial(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        deadline: float,
        protocol_factory: Callable[[], asyncio.Protocol],
        tenant: str = "",
    ) -> tuple[asyncio.Transport, asyncio.Protocol]: ...


class ConnectionKey(NamedTuple):
    """The origin of a connection. Two names at the same address never share one."""

    tls: bool
    host: str
    port: int
    lane: str = ""  # the tenant, if its connections take a way of their own


class OriginTraffic(Struct):
    """The exchanges and idle connections with one origin."""

    turns: asyncio.Semaphore
    idle: list[HttpConnection] = field(default_factory=list)
    users: int = 0


class Pool:
    def __init__(self, dialer: Dials, bounds: HttpBounds) -> None:
        self._dialer = dialer
        self._bounds = bounds
        self._turns = asyncio.Semaphore(bounds.exchanges)
        self._traffic: dict[ConnectionKey, OriginTraffic] = {}
        self._open: set[HttpConnection] = set()
        self._idle = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def exchange(self, origin: ConnectionKey, request: bytes, terms: ExchangeTerms) -> HttpResponse:
        traffic = self._traffic.get(origin)
        if traffic is None:
            traffic = self._traffic[origin] = OriginTraffic(
                asyncio.Semaphore(self._bounds.exchanges_per_origin)
            )
        traffic.users += 1
        try:
            # The origin's turn comes first, so that a request for a busy origin does not hold up the others.
            await _turn(traffic.turns, terms.deadline)
            try:
                await _turn(self._turns, terms.deadline)
                try:
                    return await self._exchange(origin, traffic, request, terms)
                finally:
                    self._turns.release()
            finally:
                traffic.turns.release()
        finally:
            traffic.users -= 1
            self._forget_if_unused(origin, traffic)

    async def close(self) -> None:
        """End every connection at once."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._traffic.clear()
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        if connections:
            await asyncio.wait([connection.lost for connection in connections])

    async def _exchange(
        self, origin: ConnectionKey, traffic: OriginTraffic, request: bytes, terms: ExchangeTerms
    ) -> HttpResponse:
        connection = self._take_idle(traffic)
        if connection is not None:
            try:
                return await self._use(connection, traffic, request, terms)
            except Stale as stale:
                if stale.sent and terms.once:
                    raise failed(FetchReason.CONNECTION_CLOSED) from None
        loop = asyncio.get_running_loop()
        started = loop.time()
        connection = await self._dial(origin, min(terms.deadline, started + self._bounds.connect))
        opened = loop.time() - started
        try:
            answer = await self._use(connection, traffic, request, terms)
        except Stale:
            raise failed(FetchReason.CONNECTION_CLOSED) from None
        answer.opened = opened
        return answer

    async def _use(
        self, connection: HttpConnection, traffic: OriginTraffic, request: bytes, terms: ExchangeTerms
    ) -> HttpResponse:
        try:
            answer = await connection.exchange(request, terms)
        except BaseException:
            connection.abort()
            raise
        if connection.reusable:
            self._keep(connection, traffic)
        else:
            connection.abort()
        return answer

    async def _dial(self, origin: ConnectionKey, deadline: float) -> HttpConnection:
        loop = asyncio.get_running_loop()

        _, protocol = await self._dialer.dial(
            origin.host,
            origin.port,
            tls=origin.tls,
            deadline=deadline,
            protocol_factory=lambda: HttpConnection(loop, self._bounds),
            tenant=origin.lane,
        )
        connection = cast("HttpConnection", protocol)
        if self._closed:
            connection.abort()
            raise failed(FetchReason.CONNECTION_CLOSED)
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    # Idle connections.

    def _take_idle(self, traffic: OriginTraffic) -> HttpConnection | None:
        while traffic.idle:
            self._idle -= 1
            connection = traffic.idle.pop()  # the last one used: the others may grow too old
            age = asyncio.get_running_loop().time() - connection.idle_since
            if connection.reusable and age < self._bounds.idle_seconds:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: HttpConnection, traffic: OriginTraffic) -> None:
        if self._idle >= self._bounds.idle_connections:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        traffic.idle.append(connection)
        self._idle += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._bounds.idle_seconds, self._sweep)

    def _sweep(self) -> None:
        """Close connections that were idle for too long, and come back while any is idle."""
        loop = asyncio.get_running_loop()
        self._sweeper = None
        oldest = loop.time() - self._bounds.idle_seconds
        for origin, traffic in list(self._traffic.items()):
            fresh = [each for each in traffic.idle if each.reusable and each.idle_since > oldest]
            for connection in traffic.idle:
                if connection not in fresh:
                    connection.abort()
            self._idle -= len(traffic.idle) - len(fresh)
            traffic.idle = fresh
            self._forget_if_unused(origin, traffic)
        if self._idle:
            self._sweeper = loop.call_later(self._bounds.idle_seconds / 2, self._sweep)

    def _forget_if_unused(self, origin: ConnectionKey, traffic: OriginTraffic) -> None:
        if not traffic.users and not traffic.idle and self._traffic.get(origin) is traffic:
            del self._traffic[origin]


async def _turn(turns: asyncio.Semaphore, deadline: float) -> None:
    if not turns.locked():
        await turns.acquire()  # it does not wait then
        return
    try:
        async with asyncio.timeout_at(deadline):
            await turns.acquire()
    except TimeoutError:
        raise timed_out(FetchReason.BUSY) from None
