"""Limits the memory of fetched bodies: one budget for all pages of a process that are still in use.

    body                     bound
    up to `FREE_BYTES`       none: it never waits, and never counts
    up to `MEDIUM_BYTES`     the rest of the whole budget
    larger                   the rest of three quarters of it

So large bodies cannot hold up small ones. A body that needs more than is left waits for `WAIT_SECONDS` while
others are released, and its connection is not read meanwhile. After that it is refused as busy.

A reservation belongs to its fetch until there is a page, and then to the page. The bytes are given back when
the last reference to the page is gone, in whatever way its flow ended.
"""

import asyncio
import contextlib
import weakref
from collections.abc import Callable
from typing import Final

from gossamer.problems import Busy
from gossamer.web.pages.page import Page

FREE_BYTES: Final = 128 * 1024
MEDIUM_BYTES: Final = 1024**2
STEP_BYTES: Final = 256 * 1024  # by which a reservation grows
WAIT_SECONDS: Final = 2.0
LIMIT_BYTES: Final = 256 * 1024**2

OnRoom = Callable[[bool], None]  # whether there is room now


class BodyBudget:
    def __init__(self, limit: int = LIMIT_BYTES, *, patience: float = WAIT_SECONDS) -> None:
        self.used = 0
        self._limit = limit
        self._patience = patience
        self._waiting: dict[Reservation, _Waiting] = {}

    def reserve(self) -> "Reservation":
        """An empty reservation, which grows with the body."""
        return Reservation(self, asyncio.get_running_loop())

    def take(self, more: int, size: int) -> bool:
        """Take `more` bytes for a body that is to have `size`, if they are left."""
        if self.used + more > (self._limit if size <= MEDIUM_BYTES else self._limit // 4 * 3):
            return False
        self.used += more
        return True

    def give_back(self, some: int) -> None:
        self.used -= some
        for reservation, waiting in list(self._waiting.items()):
            if reservation.try_grow(waiting.size):
                self._end_waiting(reservation, granted=True)

    def wait(self, reservation: "Reservation", size: int, on_room: OnRoom) -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._patience, self._end_waiting, reservation, False)
        self._waiting[reservation] = _Waiting(size, on_room, timer)

    def forget(self, reservation: "Reservation") -> None:
        if (waiting := self._waiting.pop(reservation, None)) is not None:
            waiting.timer.cancel()

    def _end_waiting(self, reservation: "Reservation", granted: bool) -> None:
        waiting = self._waiting.pop(reservation)
        waiting.timer.cancel()
        asyncio.get_running_loop().call_soon(waiting.on_room, granted)


class _Waiting:
    __slots__ = ("on_room", "size", "timer")

    def __init__(self, size: int, on_room: OnRoom, timer: asyncio.TimerHandle) -> None:
        self.size = size
        self.on_room = on_room
        self.timer = timer


class Reservation:
    """The part of the budget that one fetch has. `room` is how many bytes its body may have now."""

    __slots__ = ("_budget", "_held", "_loop", "room")

    def __init__(self, budget: BodyBudget, loop: asyncio.AbstractEventLoop) -> None:
        self.room = FREE_BYTES
        self._held = 0
        self._budget = budget
        self._loop = loop

    def try_grow(self, size: int) -> bool:
        """Make room for a body of `size` bytes, if there is enough left."""
        if size <= self.room:
            return True
        held = -(-(size - FREE_BYTES) // STEP_BYTES) * STEP_BYTES
        if not self._budget.take(held - self._held, size):
            return False
        self._set(held)
        return True

    def grow(self, size: int) -> None:
        """The same for a body that cannot wait. Raises `Busy` if there is not enough left."""
        if not self.try_grow(size):
            raise busy()

    def wait(self, size: int, on_room: OnRoom) -> None:
        """`on_room` is called once, on a later turn of the loop, unless this is released before."""
        self._budget.wait(self, size, on_room)

    def release(self) -> None:
        self._budget.forget(self)
        if self._held:
            held = self._held
            self._set(0)
            self._budget.give_back(held)

    def hand_to(self, page: Page) -> None:
        """Keep it as long as the page, which may be freed in any thread at any moment."""
        held = max(0, len(page.body) - FREE_BYTES)
        surplus = self._held - held
        self._set(held)
        if surplus:
            self._budget.give_back(surplus)
        if held:
            weakref.finalize(page, self._page_is_gone).atexit = False

    def _set(self, held: int) -> None:
        self._held = held
        self.room = FREE_BYTES + held

    def _page_is_gone(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.release)


def busy() -> Busy:
    return Busy("fetcher", "large pages use up the memory for bodies")
