"""Written behind: what the page cache notes in memory and writes down now and then."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state import page_rows
from gossamer.state.database import Database

MOST: Final = 100_000  # pages noted at a time; beyond, while the database is away, some are not counted
BATCH: Final = 2_000

Write = Callable[[AsyncConnection, Mapping[str, int]], Awaitable[None]]


class WrittenBehind:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._accesses: dict[str, int] = {}
        self._confirmed: dict[str, int] = {}

    def accessed(self, name: str, times: int = 1) -> None:
        known = self._accesses.get(name)
        if known is not None:
            self._accesses[name] = known + times
        elif len(self._accesses) < MOST:
            self._accesses[name] = times

    def accesses(self, name: str) -> int:
        """Those that are not written down yet."""
        return self._accesses.get(name, 0)

    def confirmed(self, name: str, edition: int) -> None:
        """The hot tier has nothing older than this. What is forgotten of these, repair asks again."""
        if len(self._confirmed) < MOST or name in self._confirmed:
            self._confirmed[name] = max(edition, self._confirmed.get(name, 0))

    async def flush(self) -> None:
        """When it fails, what was not written is noted again."""
        accesses, self._accesses = self._accesses, {}
        confirmed, self._confirmed = self._confirmed, {}
        try:
            await self._write(page_rows.hot_confirmed, confirmed)
            await self._write(page_rows.count_accesses, accesses)
        finally:
            for name, times in accesses.items():
                self.accessed(name, times)
            for name, edition in confirmed.items():
                self.confirmed(name, edition)

    async def _write(self, write: Write, noted: dict[str, int]) -> None:
        """Batches, each a transaction of its own: two that wait for each other's rows would wait for ever."""
        while batch := dict(islice(noted.items(), BATCH)):
            async with self._database.write() as connection:
                await write(connection, batch)
            for name in batch:
                del noted[name]
