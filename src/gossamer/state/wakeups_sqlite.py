"""Wake-ups on SQLite: a number that changes when another connection has written to the file."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Final

from gossamer.state.wakeups import RETRY_SECONDS, Wakeups

EVERY_SECONDS: Final = 0.1
LINGER: Final = 10  # looks after the last one who waited: most wait again soon


class SqliteWakeups(Wakeups):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    async def _watch(self) -> None:
        try:
            connection = await asyncio.to_thread(_open, self._path)
        except sqlite3.Error:
            await asyncio.sleep(RETRY_SECONDS)
            self.wake()
            return
        try:
            await self._compare(connection)
        except sqlite3.Error:
            self.wake()
        finally:
            connection.close()

    async def _compare(self, connection: sqlite3.Connection) -> None:
        known, idle = -1, 0
        while idle < LINGER:
            idle = 0 if self._waiters else idle + 1
            version = await asyncio.to_thread(_version, connection)
            if version != known:
                known = version
                self.wake()
            await asyncio.sleep(EVERY_SECONDS)


def _open(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)
