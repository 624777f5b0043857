"""Coalescer: questions that come while one is being answered are answered together.

The first question is answered at once. Those that come meanwhile form the next batch, so many small
statements become one without waiting for anything but the statement before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Coalescer(Generic[Q, A]):
    def __init__(
        self, answer_all: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], *, max_batch: int
    ) -> None:
        self._answer_all = answer_all
        self._max_batch = max_batch  # larger ones would keep the next questions waiting
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._running: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """The answer, or its batch's failure. A question is answered even if its caller is cancelled."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await answer

    async def wait(self) -> None:
        """Return when all questions so far are answered."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
            try:
                answers = await self._answer_all([question for question, _ in batch])
            except BaseException as error:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(_for_callers(error))
                if not isinstance(error, Exception):
                    raise
            else:
                for (_, answer), one in zip(batch, answers, strict=True):
                    if not answer.done():
                        answer.set_result(one)


def _for_callers(error: BaseException) -> BaseException:
    """The run was cancelled, not its callers."""
    return RuntimeError("the coalescer was closed") if isinstance(error, asyncio.CancelledError) else error
