"""Turns: so many at a time, the others in a queue of bounded length in which callers take turns.

A caller with a hundred waiting visits and one with a single one are served alternately, so nobody is kept
waiting by what somebody else asked for in bulk.
"""

import asyncio
from collections import OrderedDict, deque


class Full(Exception):
    """The queue is as long as it may be."""


class Turns:
    def __init__(self, places: int, longest: int) -> None:
        self.places = places
        self.busy = 0
        self.waiting = 0
        self._longest = longest
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # by caller

    async def take(self, caller: str) -> None:
        """Returns when it is the caller's turn, who must give it back."""
        if self.busy < self.places and not self.waiting:
            self.busy += 1
            return
        if self.waiting >= self._longest:
            raise Full
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it had just come
            else:
                self._leave(caller, turn)
            raise

    def give_back(self) -> None:
        if not self._queues:
            self.busy -= 1
            return
        caller, queue = self._queues.popitem(last=False)
        turn = queue.popleft()
        self.waiting -= 1
        if queue:
            self._queues[caller] = queue  # behind everybody else
        turn.set_result(None)

    def _leave(self, caller: str, turn: asyncio.Future[None]) -> None:
        self.waiting -= 1
        queue = self._queues[caller]
        queue.remove(turn)
        if not queue:
            del self._queues[caller]
