"""Write-behind: accesses and confirmations that the page cache counts in memory and writes later."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Final

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.pages import page_rows

MAX_NOTED_PAGES: Final = 100_000  # more are not counted, which happens only in a long outage of the database
BATCH: Final = 2_000

Write = Callable[[AsyncConnection, Mapping[str, int]], Awaitable[None]]


class WriteBehind:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._accesses: dict[str, int] = {}
        self._confirmed: dict[str, int] = {}

    def note_access(self, name: str, times: int = 1) -> None:
        known = self._accesses.get(name)
        if known is not None:
            self._accesses[name] = known + times
        elif len(self._accesses) < MAX_NOTED_PAGES:
            self._accesses[name] = times

    def accesses(self, name: str) -> int:
        """The accesses that are not written yet."""
        return self._accesses.get(name, 0)

    def note_confirmed(self, name: str, edition: int) -> None:
        """Note that the hot tier has no older edition. Repair checks pages without such a note."""
        if len(self._confirmed) < MAX_NOTED_PAGES or name in self._confirmed:
            self._confirmed[name] = max(edition, self._confirmed.get(name, 0))

    async def flush(self) -> None:
        """Write everything; on failure, the rest is kept."""
        accesses, self._accesses = self._accesses, {}
        confirmed, self._confirmed = self._confirmed, {}
        try:
            await self._write(page_rows.confirm_hot, confirmed)
            await self._write(page_rows.count_accesses, accesses)
        finally:
            for name, times in accesses.items():
                self.note_access(name, times)
            for name, edition in confirmed.items():
                self.note_confirmed(name, edition)

    async def _write(self, write: Write, noted: dict[str, int]) -> None:
        """Write in batches, each in its own transaction, so that two writers cannot deadlock."""
        while batch := dict(islice(noted.items(), BATCH)):
            async with self._database.write() as connection:
                await write(connection, batch)
            for name in batch:
                del noted[name]
