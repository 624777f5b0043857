"""How long renders take at present, to estimate when a page will be ready."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from statistics import median
from typing import Final

from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import Hot
from gossamer.state.render import renders

MAX_REMEMBERED: Final = 100  # renders
UNKNOWN: Final = 3_000  # milliseconds, until one has been measured
SHARED_KEY: Final = "render:pace"
SHARED_SECONDS: Final = 86_400.0
CACHED_SECONDS: Final = 1.0  # of an estimate


class RenderPace:
    """A moving median, kept by each process that renders and shared with the others."""

    def __init__(
        self, hot: Hot, database: Database, places: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hot = hot
        self._database = database
        self._places = places
        self._clock = clock
        self._took: deque[int] = deque(maxlen=MAX_REMEMBERED)
        self._estimate = 0
        self._until = float("-inf")
        self._lock = asyncio.Lock()

    async def took(self, milliseconds: int) -> None:
        self._took.append(milliseconds)
        with suppress(Unavailable):
            await self._hot.put(SHARED_KEY, b"%d" % self._median(), SHARED_SECONDS)

    async def estimate(self) -> int:
        """Milliseconds until a page that is asked for now is ready, behind the renders that are queued."""
        async with self._lock:
            if self._clock() >= self._until:
                self._estimate = await self.one() * (1 + await self._waiting() // self._places)
                self._until = self._clock() + CACHED_SECONDS
            return self._estimate

    async def one(self) -> int:
        """Milliseconds that a render takes."""
        if self._took:
            return self._median()
        with suppress(Unavailable):
            shared = await self._hot.get(SHARED_KEY)
            return int(shared) if shared else UNKNOWN
        return UNKNOWN

    async def _waiting(self) -> int:
        with suppress(Unavailable):
            async with self._database.read() as connection:
                return await renders.waiting(connection)
        return 0

    def _median(self) -> int:
        return round(median(self._took))
