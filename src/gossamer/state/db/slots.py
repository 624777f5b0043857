"""Slots: a bounded number of uses at a time. Others wait; when too many wait, the next are refused.

A wait that fails says why: other uses were served meanwhile (`Busy`), or none was (`TimeoutError`),
and then the service itself is silent.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.problems import Busy


class Slots:
    def __init__(self, count: int, *, service: str, max_waiting: int | None = None) -> None:
        self._free = asyncio.Semaphore(count)
        self._service = service
        self._max_waiting = max_waiting
        self._waiting = 0
        self._served = 0

    @property
    def are_taken(self) -> bool:
        return self._free.locked()

    @property
    def served(self) -> int:
        """The number of uses that have ended well."""
        return self._served

    @asynccontextmanager
    async def hold(self, until: float | None = None) -> AsyncIterator[None]:
        await self.acquire(until)
        went_well = False
        try:
            yield
            went_well = True
        finally:
            self.release(served=went_well)

    async def acquire(self, until: float | None = None) -> None:
        """By the loop's clock. Raises `Busy` or `TimeoutError`."""
        if self.are_taken and self._max_waiting is not None and self._waiting >= self._max_waiting:
            raise Busy(self._service, "too many are waiting already")
        before = self._served
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        except TimeoutError:
            if self._served > before:
                raise self.too_late() from None
            raise
        finally:
            self._waiting -= 1

    def release(self, *, served: bool) -> None:
        self._served += served
        self._free.release()

    def too_late(self) -> Busy:
        return Busy(self._service, "it was not this one's turn in time")
