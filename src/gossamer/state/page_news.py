"""News of pages: what other processes have changed, for a hot tier that belongs to this one alone.

Where Hot is Redis, whoever changes a page changes it for all. Where it is in the process, another one (a
worker, the command line) writes the row and cannot reach in here; so the rows are asked now and then.
"""

from typing import Final

from gossamer.state import page_rows
from gossamer.state.database import Database
from gossamer.state.hot_pages import HotPages

BATCH: Final = 1_000
OVERLAP: Final = 60_000  # milliseconds: a transaction may be committed so long after it took its edition


class PageNews:
    def __init__(self, hot: HotPages, database: Database) -> None:
        self._hot = hot
        self._database = database
        self._heard: int | None = None  # the newest edition that was seen

    async def hear(self) -> None:
        """Drop every page of which there is a newer edition, or which was deleted."""
        if self._heard is None:
            async with self._database.read() as connection:
                self._heard = await page_rows.newest(connection)
            return
        after = self._heard - OVERLAP
        more = True
        while more:
            async with self._database.read() as connection:
                changed = await page_rows.changed(connection, after, BATCH)
            for name, edition in changed:
                await self._hot.drop(name, edition - 1)
                after = edition
            more = len(changed) == BATCH
        self._heard = max(self._heard, after)
