"""What the database and the folder of blobs say: whether anything is left to do, and how much they hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import text

from gossamer.problems import Unavailable
from gossamer.state.db.all_tables import metadata
from gossamer.state.db.database import Database

# What is due, or under way.
LEFT: Final = {
    "schedules": "SELECT count(*) FROM schedules WHERE next_at <= :now",
    "jobs": "SELECT count(*) FROM jobs WHERE status = 'running' OR status = 'queued' AND run_at <= :now",
    "crawls": "SELECT count(*) FROM crawls WHERE state = 'running' AND pending + in_progress > 0",
    "deliveries": "SELECT count(*) FROM webhook_deliveries WHERE due_at <= :now",
    "receivers": "SELECT count(*) FROM webhook_endpoints WHERE taken_until > :now",
    "endings": "SELECT count(*) FROM ended_work",
    "indexing": "SELECT count(*) FROM unindexed",
}
# A crawl that is kept fresh looks for due pages every ten minutes: nobody waits for that.
NEXT: Final = "SELECT min(next_at) FROM schedules WHERE next_at > :now AND kind <> 'recrawl'"
RETRY: Final = "SELECT min(due_at) FROM webhook_deliveries WHERE due_at > :now"


@dataclass(frozen=True, slots=True)
class StorageLook:
    rows: Mapping[str, int]  # by table
    database_bytes: int
    blobs: int
    blob_bytes: int

    @property
    def all_rows(self) -> int:
        return sum(self.rows.values())


class Stores:
    def __init__(self, database: Database, blobs: Path) -> None:
        self._database = database
        self._blobs = blobs

    async def find_left(self, now: float) -> list[str]:
        """The kinds of work that are left at this time."""
        try:
            async with self._database.read() as connection:
                return [
                    kind
                    for kind, query in LEFT.items()
                    if await connection.scalar(text(query), _at(now) if ":now" in query else {})
                ]
        except Unavailable:
            return ["the database"]

    async def find_next(self, now: float) -> float | None:
        """When something planned is due."""
        return await self._find_moment(NEXT, now)

    async def find_retry(self, now: float) -> float | None:
        """When a delivery that failed is tried again."""
        return await self._find_moment(RETRY, now)

    async def stir(self) -> None:
        """Write something, so that processes that rest while nothing is written look at the clock again."""
        async with self._database.write() as connection:
            await connection.execute(text("UPDATE schedules SET next_at = next_at"))

    async def _find_moment(self, query: str, now: float) -> float | None:
        async with self._database.read() as connection:
            found = await connection.scalar(text(query), _at(now))
        return None if found is None else found / 1000

    async def measure(self) -> StorageLook:
        async with self._database.read(seconds=60) as connection:
            rows = {
                name: int(await connection.scalar(text(f'SELECT count(*) FROM "{name}"')) or 0)
                for name in sorted(metadata.tables)
            }
            if self._database.dialect == "sqlite":
                pages = await connection.scalar(text("PRAGMA page_count")) or 0
                free = await connection.scalar(text("PRAGMA freelist_count")) or 0
                size = (pages - free) * (await connection.scalar(text("PRAGMA page_size")) or 0)
            else:
                size = await connection.scalar(text("SELECT pg_database_size(current_database())")) or 0
        files = [path.stat().st_size for path in self._blobs.rglob("*") if path.is_file()]
        return StorageLook(rows, int(size), len(files), sum(files))


def _at(now: float) -> dict[str, int]:
    return {"now": round(now * 1000)}
