"""Loop turns: of pieces of work that take a millisecond each, a few are done in a turn of the event loop.

When many of them become ready at once, the event loop would do all before it hears of anything else. A
transaction, which is a conversation of several statements, would then hold its locks for as many turns.
"""

import asyncio
from collections import deque
from collections.abc import Callable


class LoopTurns:
    def __init__(self, at_once: Callable[[], int]) -> None:
        """`at_once` tells how many pieces are done in the turn that begins."""
        self._at_once = at_once
        self._is_turn = False
        self._left = 0  # in the present turn
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn with room; the first who asks was the first to wait."""
        loop = asyncio.get_running_loop()
        if not self._is_turn:
            self._begin(loop)
        if self._left:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_turn, self._left = True, self._at_once()
        loop.call_soon(self._end, loop)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_turn = False
        if self._waiting:
            self._begin(loop)
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # its caller was not cancelled
                turn.set_result(None)
                self._left -= 1
