"""Connections that are kept: at most so many exchanges at once, in all and with one place.

A connection that is idle is used again, within some seconds, by the next exchange with the same place. One
whose exchange failed, was cancelled, or was not read to its end is never used again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

from gossamer.reach.failures import failed, timed_out
from gossamer.reach.http import Answer, Bounds, Connection, Stale, Terms


class Dials(Protocol):
    """What a pool needs of a dialer."""

    async def dial(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        deadline: float,
        protocol_factory: Callable[[], asyncio.Protocol],
    ) -> tuple[asyncio.Transport, asyncio.Protocol]: ...


class Place(NamedTuple):
    """Whom a connection is with. It is kept by name: another name at the same address gets another one."""

    tls: bool
    host: str
    port: int


@dataclass(slots=True)
class Traffic:
    """The exchanges and idle connections with one place."""

    turns: asyncio.Semaphore
    idle: list[Connection] = field(default_factory=list)
    users: int = 0


class Pool:
    def __init__(self, dialer: Dials, bounds: Bounds) -> None:
        self._dialer = dialer
        self._bounds = bounds
        self._turns = asyncio.Semaphore(bounds.exchanges)
        self._traffic: dict[Place, Traffic] = {}
        self._open: set[Connection] = set()
        self._idle = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def exchange(self, place: Place, request: bytes, terms: Terms) -> Answer:
        traffic = self._traffic.get(place)
        if traffic is None:
            traffic = self._traffic[place] = Traffic(asyncio.Semaphore(self._bounds.exchanges_per_place))
        traffic.users += 1
        try:
            # First the place's turn, so that nobody who waits for a busy place holds up the others.
            await _turn(traffic.turns, terms.deadline)
            try:
                await _turn(self._turns, terms.deadline)
                try:
                    return await self._exchange(place, traffic, request, terms)
                finally:
                    self._turns.release()
            finally:
                traffic.turns.release()
        finally:
            traffic.users -= 1
            self._forget_if_unused(place, traffic)

    async def close(self) -> None:
        """End every connection, whatever it is doing."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._traffic.clear()
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        if connections:
            await asyncio.wait([connection.lost for connection in connections])

    async def _exchange(self, place: Place, traffic: Traffic, request: bytes, terms: Terms) -> Answer:
        connection = self._take_idle(traffic)
        if connection is not None:
            try:
                return await self._use(connection, traffic, request, terms)
            except Stale as stale:
                if stale.sent and terms.once:
                    raise failed("connection_closed") from None
        loop = asyncio.get_running_loop()
        started = loop.time()
        connection = await self._dial(place, min(terms.deadline, started + self._bounds.connect))
        opened = loop.time() - started
        try:
            answer = await self._use(connection, traffic, request, terms)
        except Stale:
            raise failed("connection_closed") from None
        answer.opened = opened
        return answer

    async def _use(self, connection: Connection, traffic: Traffic, request: bytes, terms: Terms) -> Answer:
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

    async def _dial(self, place: Place, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()

        _, protocol = await self._dialer.dial(
            place.host,
            place.port,
            tls=place.tls,
            deadline=deadline,
            protocol_factory=lambda: Connection(loop, self._bounds),
        )
        connection = cast("Connection", protocol)
        if self._closed:
            connection.abort()
            raise failed("connection_closed")
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    # Idle connections.

    def _take_idle(self, traffic: Traffic) -> Connection | None:
        while traffic.idle:
            self._idle -= 1
            connection = traffic.idle.pop()  # the last one used: the others may grow too old
            age = asyncio.get_running_loop().time() - connection.idle_since
            if connection.reusable and age < self._bounds.idle_seconds:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: Connection, traffic: Traffic) -> None:
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
        """Close what has been idle too long, and come back while anything is idle."""
        loop = asyncio.get_running_loop()
        self._sweeper = None
        oldest = loop.time() - self._bounds.idle_seconds
        for place, traffic in list(self._traffic.items()):
            fresh = [each for each in traffic.idle if each.reusable and each.idle_since > oldest]
            for connection in traffic.idle:
                if connection not in fresh:
                    connection.abort()
            self._idle -= len(traffic.idle) - len(fresh)
            traffic.idle = fresh
            self._forget_if_unused(place, traffic)
        if self._idle:
            self._sweeper = loop.call_later(self._bounds.idle_seconds / 2, self._sweep)

    def _forget_if_unused(self, place: Place, traffic: Traffic) -> None:
        if not traffic.users and not traffic.idle and self._traffic.get(place) is traffic:
            del self._traffic[place]


async def _turn(turns: asyncio.Semaphore, deadline: float) -> None:
    if not turns.locked():
        await turns.acquire()  # which does not wait then
        return
    try:
        async with asyncio.timeout_at(deadline):
            await turns.acquire()
    except TimeoutError:
        raise timed_out("busy") from None
