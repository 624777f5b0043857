"""The embedded database: one SQLite file, with one writer in this process and other processes beside it."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec import Struct
from sqlalchemy import URL, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError

from gossamer.observe.traces import span
from gossamer.problems import Damaged, Unavailable
from gossamer.state.db.connection import AsyncConnection, AsyncEngine, create_async_engine
from gossamer.state.db.database import MAX_WAITING, SCANS, Connections, Database
from gossamer.state.db.slots import Slots
from gossamer.state.db.sqlite_driver import SqliteDriver
from gossamer.state.db.sqlite_single import SqliteSingleStatement
from gossamer.state.db.sqlite_transactions import SqliteTransactions, T, Work

_RETRY_SECONDS: Final = 0.02
_POLL_SECONDS: Final = 0.02  # in which SQLite checks four times whether another writer is done
_GRAIN_NS: Final = 50_000_000
_COARSE_NS: Final = 2_500_000_000
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
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "locked by another process",
}
_DAMAGED: Final = {
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}
_REMEDY: Final = (
    "Stop Gossamer, move the file away together with its -wal and -shm, and put back a copy of it; "
    "`sqlite3 FILE .recover` saves what can be read. Without a copy, Gossamer starts with a new one."
)


class LogState(Struct, frozen=True):
    """The write-ahead log, to which every commit of any process writes."""

    inode: int
    size: int
    changed_ns: int

    def is_fresh(self, now_ns: int) -> bool:
        """Whether it may be written to again without looking different, because clocks of file systems are
        coarse: mostly some milliseconds, and a second or two where times have no fractions."""
        grain = _GRAIN_NS if self.changed_ns % 1_000_000_000 else _COARSE_NS
        return abs(now_ns - self.changed_ns) < grain


class SqliteRow(sqlite3.Row):
    """Values by attribute, as SQLAlchemy's rows have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class _Connection(sqlite3.Connection):
    """Rolls back when it is closed in the middle of a transaction, as when a use is cancelled. SQLite's own
    would keep the lock until the collector has found the last statement."""

    def __init__(self, *given: Any, pragmas: Sequence[str], **options: Any) -> None:
        super().__init__(*given, **options)
        try:
            for pragma in pragmas:
                self.execute(f"PRAGMA {pragma}")
        except BaseException:
            self.close()
            raise

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
        self._damage: Damaged | None = None  # found last; a file does not repair itself
        reading: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
        reader = self._engine(connections, self._busy, "query_only=ON", **reading)
        scanner = self._engine(SCANS, self._busy, "query_only=ON", **reading)
        writer = self._engine(1, _POLL_SECONDS, *_WRITING)
        event.listen(writer.sync_engine, "begin", lambda begun: self._begin_immediate(begun.exec_driver_sql))
        # Writers of this process take turns here: SQLite's own waiting is polling.
        turns = Slots(1, service="database")
        super().__init__(
            Connections(reader, Slots(connections, service="database")),
            Connections(writer, turns, writing=True),
            Connections(scanner, Slots(SCANS, service="database", max_waiting=MAX_WAITING), scanning=True),
            deadline,
        )
        self._transactions = SqliteTransactions(self._whole_engine())
        self._single = SqliteSingleStatement(
            self._open_single,
            lambda connection: self._begin_immediate(connection.execute),
            lambda error: self._translate(error, writing=True),
            turns,
            deadline=deadline,
        )

    @property
    def single(self) -> SqliteSingleStatement:
        return self._single

    async def transact(self, work: Work[T]) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadline
        self._uses.add(use := loop.create_future())
        try:
            async with AsyncExitStack() as stack:
                stack.enter_context(span("database", pool=self._writer.pool))
                await self._admit(self._writer, stack, until)
                if self.on_wait is not None:
                    self.on_wait(self._writer.pool, loop.time() - until + self._deadline)
                return await self._transactions.run(work, until)
        except DBAPIError as error:
            away = self._away(error, writing=True)
            if away is None:
                raise
            if loop.time() >= until:
                away = Unavailable("database", f"no answer within {self._deadline:g} s")
            raise away from error
        finally:
            self._uses.discard(use)
            use.set_result(None)

    async def ping(self) -> None:
        """Raises `Damaged` where it answers, but a part of it could not be read."""
        try:
            await super().ping()
        except Damaged as damaged:
            raise Unavailable("database", damaged.reason or "") from damaged
        if self._damage is not None:
            raise self._damage

    async def close(self) -> None:
        await self._single.close()
        await super().close()
        await self._transactions.close()

    def look_at_log(self) -> LogState | None:
        """How the write-ahead log looks; None if there is none. It takes no thread and no lock."""
        try:
            found = os.stat(f"{self._path}-wal")
        except OSError:
            return None
        return LogState(found.st_ino, found.st_size, found.st_mtime_ns)

    async def read_version(self) -> tuple[int, int]:
        """Changes with every commit but those of our own `write`, whose connection does not see its own."""
        async with self._use(self._writer, None) as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            ((version,),) = await driver.execute_fetchall("PRAGMA data_version")
        return id(driver), version

    def _whole_engine(self) -> Engine:
        """For whole transactions: one connection, in one thread."""
        engine = create_engine(
            URL.create("sqlite", database=str(self._path)),
            connect_args={
                "timeout": _POLL_SECONDS,
                "isolation_level": None,
                "check_same_thread": False,  # it is interrupted by another
                "factory": partial(_Connection, pragmas=_WRITING),
            },
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
        )
        event.listen(engine, "begin", lambda begun: self._begin_immediate(begun.exec_driver_sql))
        return engine

    def _engine(self, connections: int, busy: float, *pragmas: str, **options: Any) -> AsyncEngine:
        return create_async_engine(
            URL.create("sqlite+aiosqlite", database=str(self._path)),
            module=SqliteDriver(),
            connect_args={
                "timeout": busy,
                "isolation_level": None,
                "factory": partial(_Connection, pragmas=pragmas),
            },
            pool_size=connections,
            max_overflow=0,
            pool_timeout=None,  # waiting ends with the deadline of the use
            **options,
        )

    def _open_single(self) -> sqlite3.Connection:
        connection = _Connection(
            self._path,
            timeout=_POLL_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # it is interrupted by another
            pragmas=_WRITING,
        )
        connection.row_factory = SqliteRow
        return connection

    def _begin_immediate(self, execute: Callable[[str], object]) -> None:
        """Take the write lock at once: a reader that turns writer later cannot wait for it, only fail. SQLite
        polls ever more rarely, so one of two busy processes could wait for seconds: ask again instead."""
        until = time.monotonic() + self._busy
        while True:
            try:
                execute("BEGIN IMMEDIATE")
                return
            except (DBAPIError, sqlite3.Error) as error:
                busy = _code(getattr(error, "orig", error)) == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    raise

    async def _prepare(self) -> None:
        try:
            await asyncio.to_thread(_create, self._path, self._busy)
        except OSError as error:
            raise Unavailable("database", "the file cannot be created") from error
        except sqlite3.Error as error:
            known = self._translate(error, writing=True)
            raise known or Unavailable("database", "the file cannot be opened") from error

    async def _revision(self) -> str | None:
        """None for a file that is not there: reading would fail, and must not create it."""
        return await super()._revision() if self._path.exists() else None

    async def lock_out(self, connection: AsyncConnection) -> None:
        """BEGIN IMMEDIATE has done so."""

    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        """SQLite has no limits of its own."""

    def _cut(self, driver: Any) -> None:
        task = asyncio.ensure_future(_interrupt(driver))
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)

    def _interrupt(self, driver: Any) -> None:
        self._cut(driver)

    def is_too_long(self, error: DBAPIError) -> bool:
        return _code(error.orig) == sqlite3.SQLITE_INTERRUPT

    def _away(self, error: DBAPIError, *, writing: bool) -> Unavailable | None:
        return self._translate(error.orig, writing=writing)

    def _translate(self, error: BaseException | None, *, writing: bool) -> Unavailable | None:
        code = _code(error)
        if code in _DAMAGED:
            what = str(self._path.absolute())
            self._damage = Damaged("database", _DAMAGED[code], what=what, remedy=_REMEDY)
            return self._damage
        if code is None or code not in _AWAY or (code == sqlite3.SQLITE_READONLY and not writing):
            return None
        return Unavailable("database", _AWAY[code])


async def _interrupt(driver: Any) -> None:
    with suppress(ValueError):  # closed in the meantime
        await driver.interrupt()


def _code(error: BaseException | None) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _create(path: Path, seconds: float) -> None:
    """Create the file, readable by its owner only, in WAL mode, which it keeps."""
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
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)
