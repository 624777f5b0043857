"""Follow crawls while they run.

Each followed crawl is looked at once a second, for all who follow it in this process. While the database is
away, nothing changes.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from msgspec import Struct, field

from gossamer.problems import Unavailable
from gossamer.state.crawl.reading import live_crawl
from gossamer.state.crawl.reading.live_crawl import LiveCrawl
from gossamer.state.db.database import Database

LOOK_SECONDS: Final = 1.0


class FollowedCrawl(Struct, eq=False):
    """A crawl that has followers."""

    followers: int = 0
    live: LiveCrawl | None = None  # None: it was not looked at, or is gone
    is_known: bool = False  # it was looked at
    next_look: float = 0.0
    moved: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def move(self, live: LiveCrawl | None) -> None:
        if not self.is_known or live != self.live:
            self.live, self.is_known = live, True
            moved, self.moved = self.moved, asyncio.get_running_loop().create_future()
            moved.set_result(None)


class CrawlFeed:
    def __init__(self, database: Database, seconds: float = LOOK_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._followed: dict[str, FollowedCrawl] = {}
        self._joined = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    async def look(self, crawl_id: str) -> LiveCrawl | None:
        """The crawl as it is now; None if there is no such crawl."""
        async with self._database.read() as connection:
            return await live_crawl.look(connection, crawl_id)

    @asynccontextmanager
    async def following(self, crawl_id: str) -> AsyncIterator["CrawlFollower"]:
        followed = self._followed.setdefault(crawl_id, FollowedCrawl())
        followed.followers += 1
        self._joined.set()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield CrawlFollower(followed, self._watching)
        finally:
            await self._leave(crawl_id, followed)

    async def _leave(self, crawl_id: str, followed: FollowedCrawl) -> None:
        followed.followers -= 1
        if not followed.followers:
            del self._followed[crawl_id]
        if not self._followed and self._watching is not None:
            watching, self._watching = self._watching, None
            watching.cancel()
            await asyncio.wait((watching,))

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            self._joined.clear()
            for crawl_id, followed in list(self._followed.items()):
                if clock() >= followed.next_look:
                    followed.next_look = clock() + self._seconds
                    with suppress(Unavailable):
                        followed.move(await self.look(crawl_id))
            soonest = min((each.next_look for each in self._followed.values()), default=clock())
            with suppress(TimeoutError):
                async with asyncio.timeout_at(soonest):
                    await self._joined.wait()


class CrawlFollower:
    """Somebody who follows a crawl."""

    def __init__(self, followed: FollowedCrawl, watching: asyncio.Task[None]) -> None:
        self._followed = followed
        self._watching = watching
        self._seen: LiveCrawl | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the crawl is over or gone, and there is nothing new to be seen of it."""
        live = self._followed.live
        return self._followed.is_known and (live is None or (live.crawl.is_over and live == self._seen))

    async def next(self, seconds: float) -> LiveCrawl | None:
        """The crawl, as soon as it differs from what was seen last; None if that takes longer, or if the
        crawl has ended."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self.has_ended:
            live = self._followed.live
            if live is not None and live != self._seen:
                self._seen = live
                return live
            if (left := until - loop.time()) <= 0:
                return None
            waited = (self._followed.moved, self._watching)
            await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if self._watching.done():
                self._watching.result()
        return None
