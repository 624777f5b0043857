"""Limits the number of visits at a time, with a bounded queue in which callers alternate.

A caller with a hundred waiting visits and a caller with one are served alternately, so bulk requests of one
caller do not delay the others.
"""

import asyncio
from collections import OrderedDict, deque


class Full(Exception):
    """The queue is full."""


class BrowserTurns:
    def __init__(self, places: int, max_waiting: int) -> None:
        self.places = places
        self.busy = 0
        self.waiting = 0
        self._max_waiting = max_waiting
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # by caller

    async def take(self, caller: str) -> None:
        """Wait for the caller's turn. It must be given back."""
        if self.busy < self.places and not self.waiting:
            self.busy += 1
            return
        if self.waiting >= self._max_waiting:
            raise Full
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # the turn had just been granted
            else:
                self._leave(caller, turn)
            raise

    def give_back(self) -> None:
        while self._queues:
            caller, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            self.waiting -= 1
            if queue:
                self._queues[caller] = queue  # behind all other callers
            if not turn.done():  # otherwise the waiting task was cancelled, but has not run yet
                turn.set_result(None)
                return
        self.busy -= 1

    def _leave(self, caller: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(caller)
        if queue is None or turn not in queue:  # `give_back` has removed it already
            return
        self.waiting -= 1
        queue.remove(turn)
        if not queue:
            del self._queues[caller]
