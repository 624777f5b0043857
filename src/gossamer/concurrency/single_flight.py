"""Single flight: callers that ask for the same thing at the same time share one run and its result.

A run belongs to all callers that wait for it, and all of them get its result or its failure. A caller that
leaves does not end it for the others; when the last one leaves, it is cancelled. The next caller after its
end starts another run.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Run(Struct, Generic[T], eq=False):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[K, T]):
    def __init__(self) -> None:
        self._runs: dict[K, _Run[T]] = {}

    def __contains__(self, key: K) -> bool:
        """Whether a run for `key` is under way."""
        return key in self._runs

    async def share(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` returns or raises, run once for all waiting callers."""
        run = self._runs.get(key) or self._start(key, work)
        run.waiting += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1
            if not run.waiting and not run.task.done():
                self._remove(key, run)  # no caller may join a run that is being cancelled
                await _end(run.task)

    async def close(self) -> None:
        for run in list(self._runs.values()):
            await _end(run.task)

    def _start(self, key: K, work: Callable[[], Coroutine[Any, Any, T]]) -> _Run[T]:
        run = self._runs[key] = _Run(asyncio.create_task(work()))
        run.task.add_done_callback(lambda task: self._on_end(key, run, task))
        return run

    def _on_end(self, key: K, run: _Run[T], task: asyncio.Task[T]) -> None:
        self._remove(key, run)
        if not task.cancelled():
            task.exception()  # waiting callers get it; without any it is no defect

    def _remove(self, key: K, run: _Run[T]) -> None:
        if self._runs.get(key) is run:
            del self._runs[key]


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
