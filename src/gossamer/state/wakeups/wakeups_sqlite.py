"""Wake-ups on SQLite: a number that changes when another connection has written to the file."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Final

from gossamer.state.wakeups.wakeups import RETRY_SECONDS, Wakeups

EVERY_SECONDS: Final = 0.1
LINGER: Final = 10  # checks after the last waiter has left: most wait again soon


class SqliteWakeups(Wakeups):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    async def _watch(self) -> None:
        try:
            version = await asyncio.to_thread(DataVersion, self._path)
        except sqlite3.Error:
            await asyncio.sleep(RETRY_SECONDS)
            self.wake()
            return
        try:
            await self._compare(version)
        except sqlite3.Error:
            self.wake()
        finally:
            version.close()

    async def _compare(self, version: "DataVersion") -> None:
        known, idle = -1, 0
        while idle < LINGER:
            idle = 0 if self._waiters else idle + 1
            now = await asyncio.to_thread(version.read)
            if now != known:
                known = now
                self.wake()
            await asyncio.sleep(EVERY_SECONDS)


class DataVersion:
    """The number. A reader may be cancelled while its thread still reads: closing the connection under a
    statement would crash the process, so a lock orders the two."""

    def __init__(self, path: Path) -> None:
        address = f"{path.absolute().as_uri()}?mode=ro"
        self._connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()

    def read(self) -> int:
        with self._lock:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        with self._lock:
            self._connection.close()
