"""How long an event loop did not come round."""

import asyncio
import time
from collections.abc import Callable


class Lag:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`time.thread_time` tells how long the loop's own work held it, whatever else the machine does."""
        self.most = 0.0  # seconds, at worst
        self._clock = clock

    async def tick(self) -> None:
        while True:
            before = self._clock()
            await asyncio.sleep(0.005)
            self.most = max(self.most, self._clock() - before)


class Turns:
    """What the longest turn of an event loop took of CPU time, whatever else the machine does."""

    def __init__(self) -> None:
        self.most = 0.0  # seconds
        self._before = time.thread_time()
        self._next: asyncio.Handle | None = None

    def start(self) -> None:
        self._before = time.thread_time()
        self._next = asyncio.get_running_loop().call_soon(self._turn)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _turn(self) -> None:
        now = time.thread_time()
        self.most, self._before = max(self.most, now - self._before), now
        self._next = asyncio.get_running_loop().call_soon(self._turn)
