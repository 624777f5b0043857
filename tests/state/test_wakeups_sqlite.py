"""Wake-ups on SQLite, where they differ: a thread looks at the file for those who wait."""

import asyncio
from pathlib import Path

from gossamer.state.db.database import open_database
from gossamer.state.wakeups.wakeups_sqlite import SqliteWakeups


async def test_closing_leaves_no_thread_with_a_closed_connection(tmp_path: Path) -> None:
    """It would end the whole process, not this test alone."""
    path = tmp_path / "gossamer.db"
    database = open_database(f"sqlite:///{path}")
    await database.migrate()
    for turn in range(300):
        wakeups = SqliteWakeups(path)
        with wakeups.waiting(["render"]):
            await asyncio.sleep(turn % 20 / 10_000)  # so that it is closed at every moment of its look
        await wakeups.close()
    await database.close()
