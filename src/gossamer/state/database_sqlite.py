"""The embedded database: one file, one writer in this process, other processes beside it."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from sqlalchemy import URL, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gossamer.problems import Unavailable
from gossamer.state.alone_sqlite import AloneSqlite, Row
from gossamer.state.database import Database

_RETRY_SECONDS: Final = 0.02
_LOOK_SECONDS: Final = 0.02  # within which SQLite looks four times whether somebody else has stopped writing
# FULL: what was answered must survive a power cut; NORMAL may lose the last transactions then.
_WRITING: Final = ("synchronous=FULL", "foreign_keys=ON", "journal_size_limit=67108864")
_AWAY: Final = {
    sqlite3.SQLITE_PERM: "access to the file is denied",
    sqlite3.SQLITE_BUSY: "locked by another process",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_READONLY: "the file is read-only",
    sqlite3.SQLITE_INTERRUPT: "the statement took too long",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "locked by another process",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}


class _Connection(sqlite3.Connection):
    """Closed in the middle of a transaction, as when a use is cancelled, SQLite's own would keep the lock
    until the collector has found the last statement."""

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


class SqliteDatabase(Database):
    dialect: ClassVar[str] = "sqlite"
    _probe: ClassVar[str] = "SELECT count(*) FROM sqlite_master"

    def __init__(self, path: Path, deadline: float, connections: int) -> None:
        # The busy timeout is a little shorter than the deadline, so that "locked" is what is reported.
        self._busy = deadline * 0.8
        self._path = path
        self._interrupts: set[asyncio.Task[None]] = set()
        reader = self._engine(
            connections,
            self._busy,
            "query_only=ON",
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
        )
        writer = self._engine(1, _LOOK_SECONDS, *_WRITING)
        event.listen(writer.sync_engine, "begin", lambda begun: self._begin_immediate(begun.exec_driver_sql))
        super().__init__(reader, writer, deadline)
        self._turns = asyncio.Lock()
        self._single = AloneSqlite(
            self._open_single,
            lambda connection: self._begin_immediate(connection.execute),
            _why,
            self._turns,
            deadline=deadline,
        )

    @property
    def single(self) -> AloneSqlite:
        return self._single

    async def close(self) -> None:
        await self._single.close()
        await super().close()

    def _engine(self, connections: int, busy: float, *pragmas: str, **options: Any) -> AsyncEngine:
        engine = create_async_engine(
            URL.create("sqlite+aiosqlite", database=str(self._path)),
            connect_args={"timeout": busy, "isolation_level": None, "factory": _Connection},
            pool_size=connections,
            max_overflow=0,
            pool_timeout=None,  # waiting ends with the deadline of the use
            **options,
        )

        def set_up(connection: Any, _record: Any) -> None:
            cursor = connection.cursor()
            for pragma in pragmas:
                cursor.execute(f"PRAGMA {pragma}")
            cursor.close()

        event.listen(engine.sync_engine, "connect", set_up)
        return engine

    def _open_single(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=_LOOK_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # it is interrupted by another
            factory=_Connection,
        )
        connection.row_factory = Row
        try:
            for pragma in _WRITING:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _turn(self, engine: AsyncEngine) -> AbstractAsyncContextManager[Any]:
        """One after the other in this process, in the order in which they come: SQLite lets only those wait
        for one another who look again and again."""
        return self._turns if engine is self._writer else nullcontext()

    def _begin_immediate(self, execute: Callable[[str], object]) -> None:
        """The write lock at once: a reader that turns writer later cannot wait for it, only fail. SQLite
        looks for it ever more seldom, so that of two busy processes one may wait for seconds: it is asked
        anew."""
        until = time.monotonic() + self._busy
        while True:
            try:
                execute("BEGIN IMMEDIATE")
                return
            except (DBAPIError, sqlite3.Error) as error:
                busy = _why(getattr(error, "orig", error)) == _AWAY[sqlite3.SQLITE_BUSY]
                if not busy or time.monotonic() > until:
                    raise

    async def _prepare(self) -> None:
        try:
            await asyncio.to_thread(_create, self._path, self._busy)
        except OSError as error:
            raise Unavailable("database", "the file cannot be created") from error
        except sqlite3.Error as error:
            raise Unavailable("database", _why(error) or "the file cannot be opened") from error

    async def _lock_out(self, connection: AsyncConnection) -> None:
        """BEGIN IMMEDIATE has seen to it."""

    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        """It has no limits of its own."""

    def _cut(self, driver: Any) -> None:
        task = asyncio.ensure_future(_interrupt(driver))
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)

    def _why_away(self, error: DBAPIError, *, writing: bool) -> str | None:
        why = _why(error.orig)
        return None if why == _AWAY[sqlite3.SQLITE_READONLY] and not writing else why


async def _interrupt(driver: Any) -> None:
    with suppress(ValueError):  # closed in the meantime
        await driver.interrupt()


def _why(error: BaseException | None) -> str | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else _AWAY.get(code & 0xFF)


def _create(path: Path, seconds: float) -> None:
    """The file, readable by its owner alone, in WAL mode, which it then keeps."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    until = time.monotonic() + seconds
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=seconds)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # While two processes change the mode at once, SQLite says "locked" without waiting.
            if _why(error) != _AWAY[sqlite3.SQLITE_BUSY] or time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)
