"""Loop turns: of pieces of work that take a millisecond each, a few are done in a turn of the event loop.

When many of them become ready at once, the event loop would do all before it hears of anything else. A
transaction, which is a conversation of several statements, would then hold its locks for as many turns.
"""

import asyncio
from collections import deque


class LoopTurns:
    def __init__(self, at_once: int) -> None:
        """`at_once` pieces are done in a turn."""
        self._at_once = at_once
        self._left = at_once  # in the present turn
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn with room; the first who asks was the first to wait."""
        loop = asyncio.get_running_loop()
        if self._left:
            self._use(loop)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _use(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._left == self._at_once:
            loop.call_soon(self._begin_next, loop)
        self._left -= 1

    def _begin_next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._at_once
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # its caller was not cancelled
                turn.set_result(None)
                self._use(loop)
