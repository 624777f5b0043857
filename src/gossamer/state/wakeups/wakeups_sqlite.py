"""Wake-ups on SQLite: the write-ahead log looks different when anybody has written to the database."""

import asyncio
import sqlite3
import time
from typing import Final

from gossamer.problems import Unavailable
from gossamer.state.db.sqlite import SqliteDatabase
from gossamer.state.wakeups.wakeups import RETRY_SECONDS, Wakeups

EVERY_SECONDS: Final = 0.1
QUIET_EVERY_SECONDS: Final = 0.5  # when nothing was written for many checks
QUIET_CHECKS: Final = 30
LINGER: Final = 10  # checks after the last waiter has left: most wait again soon


class SqliteWakeups(Wakeups):
    sees_writes = True

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__()
        self._database = database

    async def _watch(self) -> None:
        watch, idle, quiet = LogWatch(self._database), 0, 0
        while idle < LINGER:
            idle = 0 if self._waiters else idle + 1
            try:
                written = await watch.was_written()
                quiet = 0 if written else quiet + 1
                pause = EVERY_SECONDS if quiet < QUIET_CHECKS else QUIET_EVERY_SECONDS
            except (Unavailable, sqlite3.Error):
                written, pause = True, RETRY_SECONDS
            if written:
                self.wake()
            await asyncio.sleep(pause)


class LogWatch:
    """Compares the database with how it was at the last look. Nothing is read while its log stays the same,
    nor after a commit of our own, which says enough."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._log = database.look_at_log()
        self._settled = False  # the log cannot have changed without looking different
        self._commits = database.commits
        self._version: tuple[int, int] | None = None

    async def was_written(self) -> bool:
        log = self._database.look_at_log()
        if log == self._log and self._settled:
            return False
        self._log, self._settled = log, log is not None and not log.is_fresh(time.time_ns())
        if self._has_committed():
            return True
        version, self._version = self._version, await self._database.read_version()
        return self._version != version or self._has_committed()  # what was being written meanwhile

    def _has_committed(self) -> bool:
        commits, self._commits = self._commits, self._database.commits
        return commits != self._commits
