"""Promotions: what was found cold is made hot, behind the answer."""

import asyncio
from typing import Final

from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state import page_rows
from gossamer.state.cached_page import CachedPage
from gossamer.state.database import Database
from gossamer.state.hot import FENCE_SECONDS
from gossamer.state.hot_pages import HotPages

MOST: Final = 64  # at a time; what comes beyond is promoted the next time it is asked for
LATEST: Final = FENCE_SECONDS / 2  # seconds after which the fence against what was dropped may not stand


class Promotions:
    def __init__(self, hot: HotPages, database: Database, log: Log, metrics: Metrics) -> None:
        self._hot = hot
        self._database = database
        self._log = log
        self._metrics = metrics
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, name: str, edition: int, page: CachedPage, read_at: float) -> None:
        """Never waits. `read_at` is the loop's time before the row was read."""
        if name in self._running or len(self._running) >= MOST:
            return
        task = asyncio.create_task(self._promote(name, edition, page, read_at))
        self._running[name] = task
        task.add_done_callback(lambda _: self._running.pop(name))

    async def close(self) -> None:
        """Let them come to their end, which is seconds away at most."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _promote(self, name: str, edition: int, page: CachedPage, read_at: float) -> None:
        if asyncio.get_running_loop().time() - read_at > LATEST:
            return
        try:
            if await self._hot.keep(name, edition, page):
                await self._look_again(name, edition)
                self._metrics.page_cache("promoted")
        except Unavailable as away:
            self._log.debug("page_not_promoted", "it stays cold for now", why=away.detail)

    async def _look_again(self, name: str, edition: int) -> None:
        """The fence keeps out what was deleted meanwhile, unless the hot tier has lost its fences too."""
        async with self._database.read() as connection:
            row = await page_rows.find(connection, name)
        if row is None or row.deleted or row.edition != edition:
            await self._hot.drop(name, edition)
