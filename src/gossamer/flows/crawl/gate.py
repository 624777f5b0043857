"""Gates: how many may talk to one address at once, however many hosts live there and processes crawl them.

What a gate lets through it has places for. They are counted in the hot store, which all processes share, and
are held for a turn of some seconds, so that nobody is asked before every page; then they go back, and others
may have them. Who is killed with some leaves them to time. Where there is no such store, or it is away, each
process has its part of them.

Networks that the operator has opened on purpose have no gates.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from gossamer.problems import Problem, Unavailable
from gossamer.reach.dial import Dialer
from gossamer.state.hot import Hot, Window
from gossamer.web.address import Network

LOCATE_SECONDS: Final = 5.0
TURN_SECONDS: Final = 5.0
PLACE_SECONDS: Final = 40  # a turn, and what may have been begun at its end
LOOK_SECONDS: Final = 0.25  # how often a place is asked for while there is none
YIELD_SECONDS: Final = 0.3  # for which who had all places lets others look for one
OPEN: Final = nullcontext()


class Place(NamedTuple):
    stamp: int  # by which the store knows it; 0: it does not
    until: float  # nothing is begun after, on the event loop's clock


class Gates:
    def __init__(
        self,
        dialer: Dialer,
        hot: Hot | None,
        most: int,
        open_networks: Sequence[Network] = (),
        *,
        turn: float = TURN_SECONDS,
    ) -> None:
        """`hot` is the store that all processes share, if there is one."""
        self.workers = 1  # processes that crawl, as far as we know
        self._dialer = dialer
        self._hot = hot
        self._most = most
        self._open = open_networks
        self._turn = turn
        self._gates: WeakValueDictionary[str, Gate] = WeakValueDictionary()

    async def of(self, host: str) -> AbstractAsyncContextManager[object]:
        name, _, port = host.rpartition(":")
        deadline = asyncio.get_running_loop().time() + LOCATE_SECONDS
        try:
            addresses = await self._dialer.locate(name, int(port), deadline=deadline)
        except Problem:  # who talks to it finds out why
            return OPEN
        first = min(addresses, key=str)
        if any(first in network for network in self._open if network.version == first.version):
            return OPEN
        gate = self._gates.get(str(first))
        if gate is None:
            gate = self._gates[str(first)] = self._gate(str(first))
        return gate

    def _gate(self, address: str) -> "Gate":
        window = Window(f"crawl:address:{address}", self._most, PLACE_SECONDS)
        return Gate(window, self._hot, self._turn, lambda: self.workers)

    async def close(self) -> None:
        """When nobody is inside any more: others need not wait for what we held."""
        await asyncio.gather(*(gate.close() for gate in list(self._gates.values())))


class Gate:
    """Of one address, for those of this process."""

    def __init__(self, window: Window, hot: Hot | None, turn: float, workers: Callable[[], int]) -> None:
        self._window = window
        self._hot = hot
        self._turn = turn
        self._workers = workers
        self._places: deque[Place] = deque()  # the oldest first
        self._inside = 0
        self._yielding = 0.0  # until then others may have what we gave back
        self._asking = asyncio.Lock()
        self._left = asyncio.Event()
        self._returning: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> None:
        if self._asking.locked() or not self._has_room():
            async with self._asking:
                while not self._has_room():
                    await self._ask()
                self._inside += 1
        else:
            self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._left.set()
        self._retire()

    async def close(self) -> None:
        while self._places:
            self._give_back(self._places.popleft())
        await asyncio.gather(*self._returning)

    def _has_room(self) -> bool:
        """Whoever is inside is thought to have the oldest places."""
        now = asyncio.get_running_loop().time()
        over = sum(place.until <= now for place in self._places)
        return max(self._inside, over) < len(self._places)

    async def _ask(self) -> None:
        """For one more place; there may be one afterwards, or not yet."""
        now = asyncio.get_running_loop().time()
        if now >= self._yielding and len(self._places) < self._window.limit and await self._granted():
            return
        self._left.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._left.wait()

    async def _granted(self) -> bool:
        stamp = 0
        try:
            if self._hot is not None:
                (tally,) = await self._hot.take([self._window])
                if not tally.allowed:
                    return False
                stamp = tally.stamp
        except Unavailable:
            pass
        if not stamp and len(self._places) >= max(1, self._window.limit // self._workers()):
            return False
        loop = asyncio.get_running_loop()
        self._places.append(Place(stamp, loop.time() + self._turn))
        loop.call_later(self._turn, self._retire)
        return True

    def _retire(self) -> None:
        """Places whose turn is over go back, except those of who is inside."""
        now = asyncio.get_running_loop().time()
        while len(self._places) > self._inside and self._places[0].until <= now:
            if len(self._places) == self._window.limit and self._workers() > 1:  # others may wait for it
                self._yielding = now + YIELD_SECONDS
            self._give_back(self._places.popleft())

    def _give_back(self, place: Place) -> None:
        if self._hot is not None and place.stamp:
            task = asyncio.create_task(self._returned(self._hot, place.stamp))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _returned(self, hot: Hot, stamp: int) -> None:
        with contextlib.suppress(Unavailable):
            await hot.give_back(self._window, stamp)
