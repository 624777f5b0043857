"""Calls that block, on threads of their own, and waited for no longer than a deadline."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from gossamer.problems import Unavailable

T = TypeVar("T")


class Blocking:
    """Not the event loop's own threads: when a disk or a server hangs, names must still be resolved.

    A call that has begun cannot be stopped. It is given up at its deadline and its thread comes back when
    the call does; those that have not begun by then never do.
    """

    def __init__(self, service: str, *, threads: int, deadline: float) -> None:
        self._service = service
        self._deadline = deadline
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=service)

    async def call(self, work: Callable[[], T], abandon: Callable[[T], object] | None = None) -> T:
        """`abandon` gets a result that came after the deadline."""
        try:
            running = self._threads.submit(work)
        except RuntimeError as error:
            raise Unavailable(self._service, "closed") from error
        taken = False
        try:
            async with asyncio.timeout(self._deadline):
                result = await asyncio.wrap_future(running)
            taken = True
        except TimeoutError as error:
            raise Unavailable(self._service, f"no answer within {self._deadline:g} s") from error
        finally:
            if abandon is not None and not taken:
                running.add_done_callback(_abandoning(abandon))
        return result

    def tidy(self, work: Callable[[], object]) -> None:
        """Run it without waiting, even if this is closed before its turn comes."""
        try:
            running = self._threads.submit(work)
        except RuntimeError:
            work()
        else:
            running.add_done_callback(lambda done: work() if done.cancelled() else None)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _abandoning(abandon: Callable[[T], object]) -> Callable[[Future[T]], None]:
    def done(running: Future[T]) -> None:
        if not running.cancelled() and running.exception() is None:
            abandon(running.result())

    return done
