"""Gates: bound the concurrent requests to one address, across all its hosts and all crawling processes.

A gate admits as many requests as it has slots. Slots are counted in the hot store, which all processes share.
A process holds a slot for a turn of some seconds, so that it need not ask the store before every page, and
then gives it back. The slots of a process that was killed expire. If there is no shared store, or it does not
answer, each process has its share of the slots.

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
from gossamer.reach.net.dial import Dialer
from gossamer.state.kv.hot import Hot, Window
from gossamer.web.url.address import Network

LOCATE_SECONDS: Final = 5.0
TURN_SECONDS: Final = 5.0
SLOT_SECONDS: Final = 40  # a turn, and the longest request that may begin at its end
POLL_SECONDS: Final = 0.25  # how often a gate asks for a slot while there is none
YIELD_SECONDS: Final = 0.3  # a process that had all slots leaves them to others for this long
OPEN: Final = nullcontext()


class AddressSlot(NamedTuple):
    stamp: int  # its id in the store; 0: the store does not know it
    until: float  # no request begins after this time of the event loop


class Gates:
    def __init__(
        self,
        dialer: Dialer,
        hot: Hot | None,
        limit: int,
        open_networks: Sequence[Network] = (),
        *,
        turn: float = TURN_SECONDS,
    ) -> None:
        """`hot` is the store that all processes share, if there is one."""
        self.workers = 1  # processes that crawl, as far as we know
        self._dialer = dialer
        self._hot = hot
        self._limit = limit
        self._open = open_networks
        self._turn = turn
        self._gates: WeakValueDictionary[str, Gate] = WeakValueDictionary()

    async def of(self, host: str) -> AbstractAsyncContextManager[object]:
        name, _, port = host.rpartition(":")
        deadline = asyncio.get_running_loop().time() + LOCATE_SECONDS
        try:
            addresses = await self._dialer.locate(name, int(port), deadline=deadline)
        except Problem:  # the request itself will report it
            return OPEN
        first = min(addresses, key=str)
        if any(first in network for network in self._open if network.version == first.version):
            return OPEN
        gate = self._gates.get(str(first))
        if gate is None:
            gate = self._gates[str(first)] = self._gate(str(first))
        return gate

    def _gate(self, address: str) -> "Gate":
        window = Window(f"crawl:address:{address}", self._limit, SLOT_SECONDS)
        return Gate(window, self._hot, self._turn, lambda: self.workers)

    async def close(self) -> None:
        """Give all slots back, once no request is left."""
        await asyncio.gather(*(gate.close() for gate in list(self._gates.values())))


class Gate:
    """Admits this process's requests to one address."""

    def __init__(self, window: Window, hot: Hot | None, turn: float, workers: Callable[[], int]) -> None:
        self._window = window
        self._hot = hot
        self._turn = turn
        self._workers = workers
        self._slots: deque[AddressSlot] = deque()  # the oldest first
        self._running = 0
        self._yield_until = 0.0  # until then the slots are left to other processes
        self._asking = asyncio.Lock()
        self._left = asyncio.Event()
        self._returning: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> None:
        if self._asking.locked() or not self._has_room():
            async with self._asking:
                while not self._has_room():
                    await self._ask()
                self._running += 1
        else:
            self._running += 1

    async def __aexit__(self, *_: object) -> None:
        self._running -= 1
        self._left.set()
        self._retire()

    async def close(self) -> None:
        while self._slots:
            self._give_back(self._slots.popleft())
        await asyncio.gather(*self._returning)

    def _has_room(self) -> bool:
        """Whether there is a free slot whose turn is not over. Running requests count as using the oldest."""
        now = asyncio.get_running_loop().time()
        over = sum(slot.until <= now for slot in self._slots)
        return max(self._running, over) < len(self._slots)

    async def _ask(self) -> None:
        """Ask for one more slot, or wait a moment. There may be none afterwards."""
        now = asyncio.get_running_loop().time()
        if now >= self._yield_until and len(self._slots) < self._window.limit and await self._acquire():
            return
        self._left.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._left.wait()

    async def _acquire(self) -> bool:
        stamp = 0
        try:
            if self._hot is not None:
                (tally,) = await self._hot.take([self._window])
                if not tally.allowed:
                    return False
                stamp = tally.stamp
        except Unavailable:
            pass
        if not stamp and len(self._slots) >= max(1, self._window.limit // self._workers()):
            return False
        loop = asyncio.get_running_loop()
        self._slots.append(AddressSlot(stamp, loop.time() + self._turn))
        loop.call_later(self._turn, self._retire)
        return True

    def _retire(self) -> None:
        """Give back the slots whose turn is over, except those in use."""
        now = asyncio.get_running_loop().time()
        while len(self._slots) > self._running and self._slots[0].until <= now:
            if (
                len(self._slots) == self._window.limit and self._workers() > 1
            ):  # others may be waiting for one
                self._yield_until = now + YIELD_SECONDS
            self._give_back(self._slots.popleft())

    def _give_back(self, slot: AddressSlot) -> None:
        if self._hot is not None and slot.stamp:
            task = asyncio.create_task(self._return(self._hot, slot.stamp))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _return(self, hot: Hot, stamp: int) -> None:
        with contextlib.suppress(Unavailable):
            await hot.give_back(self._window, stamp)
