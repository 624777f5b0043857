"""The pace of removals: after each batch they rest, so that the database has time for others."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from gossamer.reach.page.visit import Step
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database

MAX_REST: Final = 0.5  # seconds between two batches
STEP_PERCENT: Final = 5  # of progress, after which it is reported

RemoveBatch = Callable[[AsyncConnection], Awaitable[int]]  # in a transaction; returns how many rows


class RemovalProgress(Struct):
    """Reports a part of the work, at its beginning and now and then."""

    step: Step
    name: str
    first: int  # percent
    last: int
    total: int = 0  # 0: not known
    done: int = 0
    told: int = -STEP_PERCENT

    async def add(self, number: int) -> None:
        self.done += number
        share = min(1.0, self.done / self.total) if self.total else 0.0
        percent = self.first + round((self.last - self.first) * share)
        if percent - self.told >= STEP_PERCENT:
            self.told = percent
            await self.step(self.name, percent)


def now() -> float:
    return asyncio.get_running_loop().time()


async def rest(began: float) -> None:
    """Rest as long as the batch took."""
    await asyncio.sleep(min(MAX_REST, now() - began))


async def remove_all(database: Database, remove: RemoveBatch, progress: RemovalProgress | None = None) -> int:
    """Remove batches until there is none; returns how many rows."""
    removed = 0
    while True:
        began = now()
        async with database.write() as connection:
            number = await remove(connection)
        if not number:
            return removed
        removed += number
        if progress is not None:
            await progress.add(number)
        await rest(began)
