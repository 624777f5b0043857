"""Intake: hands received bytes to a parser, a bounded amount of work at a time.

A peer that sends a body in chunks of one byte makes the parser report each of them: 43,000 for one read. The
event loop reads many times before it runs anything else. So reading is paused after `MAX_REPORTS` reports,
and the rest waits for the loop's next turn. It is paused too while there is no room for more (`stop`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

SLICE_BYTES: Final = 8 * 1024  # given to the parser at once
MAX_REPORTS: Final = 1_000  # in one turn


class Intake:
    """`feed` parses some bytes; `pause` stops or resumes reading."""

    def __init__(self, feed: Callable[[memoryview], None], pause: Callable[[bool], None]) -> None:
        self._feed = feed
        self._pause = pause
        self._waiting: deque[memoryview] = deque()
        self._reports = 0
        self._next_turn: asyncio.Handle | None = None
        self._paused = False
        self._stopped = False

    def report(self) -> None:
        """Count one report of the parser."""
        self._reports += 1

    def take(self, data: bytes) -> None:
        whole = memoryview(data)
        self._waiting.extend(whole[at : at + SLICE_BYTES] for at in range(0, len(data), SLICE_BYTES))
        if self._next_turn is None:
            self._work()

    def stop(self) -> None:
        """Parse and read nothing more until `go_on`."""
        self._stopped = True

    def go_on(self) -> None:
        self._stopped = False
        if self._next_turn is None:
            self._work()

    def close(self) -> None:
        """Drop the bytes that wait."""
        self._waiting.clear()
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def _work(self) -> None:
        self._next_turn, self._reports = None, 0
        while self._waiting and self._reports < MAX_REPORTS and not self._stopped:
            self._feed(self._waiting.popleft())
        if self._waiting and not self._stopped:
            self._next_turn = asyncio.get_running_loop().call_soon(self._work)
        if self._paused != (held_back := self._stopped or bool(self._waiting)):
            self._paused = held_back
            self._pause(held_back)
