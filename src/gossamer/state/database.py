"""Database: what must not be lost. One face; SQLite and PostgreSQL behind it.

    async with database.read() as connection:     # each statement by itself; writing is refused
    async with database.write() as connection:    # one transaction, committed at the end
    async with database.alone() as hand:          # one statement where that suffices, else a transaction
    await run(database.single, statement, …)      # what is one statement on either: committed when it returns

All end within a deadline, whatever the database does. When it is away, full, frozen or locked, they raise
`problems.Unavailable`; constraint violations and defects of ours pass through as SQLAlchemy raises them.
The embedded implementation is `database_sqlite`, the server's `database_postgres`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Connection, FunctionElement, Table, inspect, literal, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler

from gossamer.breaker import Breaker
from gossamer.problems import Unavailable
from gossamer.state.alone import Alone, Hand

HEAD: Final = "0012"  # the newest revision in migrations/versions
DEADLINE: Final = 5.0
MIGRATION_DEADLINE: Final = 600.0
SILENT_TIMES: Final = 3  # in a row that no connection was had in time: then nobody waits for one,
SILENT_SECONDS: Final = 1.0  # and who comes after that finds out for all

# A database that goes away while it commits may have done so, or not.
UNCERTAIN: Final = (
    "It is not known whether the change was made. To try again without doing it twice, send the same "
    "Idempotency-Key after the number of seconds in Retry-After."
)

# The database's clock in milliseconds; it stands still while a statement runs.
CLOCK: Final[Mapping[str, str]] = {
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)",
}


class DatabaseTooNew(Exception):
    """The schema was made by a later release than this one."""


class Database(ABC):
    dialect: ClassVar[str]
    _probe: ClassVar[str]
    # What may come of connecting besides a DBAPIError. The pool's own: what it had, and what it had instead,
    # was closed before it could be used.
    _unconnected: ClassVar[tuple[type[Exception], ...]] = (InvalidRequestError,)

    def __init__(self, reader: AsyncEngine, writer: AsyncEngine, deadline: float) -> None:
        self._reader = reader
        self._writer = writer
        self._deadline = deadline
        self._uses: set[asyncio.Future[None]] = set()  # each is done when its use is over
        self._breaker = Breaker(failures=SILENT_TIMES, seconds=SILENT_SECONDS, successes=1)

    @asynccontextmanager
    async def read(self, *, seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        async with self._use(self._reader, seconds) as connection:
            yield connection

    @asynccontextmanager
    async def write(self, *, seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        committing = False
        try:
            async with self._use(self._writer, seconds) as connection, connection.begin():
                if seconds is not None:
                    await self._grant(connection, seconds)
                yield connection
                committing = True
        except Unavailable as away:
            if committing:
                away.hint = UNCERTAIN
            raise

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Hand]:
        """For a change that each database makes with as few statements as it can, in raw SQL."""
        async with self.write() as connection:
            yield connection

    @property
    @abstractmethod
    def single(self) -> Alone:
        """For a change that is one statement on either database."""

    async def ping(self) -> None:
        async with self.read() as connection:
            await connection.exec_driver_sql(self._probe)

    async def migrate(self) -> None:
        """Bring the schema to `HEAD`. Any number of processes may do so at once."""
        await self._prepare()
        async with self.read() as connection:
            if await _is_current(connection):
                return
        async with self.write(seconds=MIGRATION_DEADLINE) as connection:
            await self._lock_out(connection)
            if not await _is_current(connection):
                await connection.run_sync(_upgrade)

    async def close(self) -> None:
        """After those who use it, within their deadline: what comes back later would be closed by nobody."""
        if self._uses:
            await asyncio.wait(self._uses, timeout=self._deadline)
        await self._reader.dispose()
        await self._writer.dispose()

    @asynccontextmanager
    async def _use(self, engine: AsyncEngine, seconds: float | None) -> AsyncIterator[AsyncConnection]:
        limit = self._deadline if seconds is None else seconds
        loop = asyncio.get_running_loop()
        until = loop.time() + limit
        self._uses.add(use := loop.create_future())
        try:
            async with AsyncExitStack() as stack:
                connection, driver = await self._connect(engine, stack, until)
                # Cut, not cancelled: what the body awaits besides the database is none of our business, and
                # a server that is frozen would let a polite cancellation wait as well.
                stack.callback(loop.call_at(until, self._cut, driver).cancel)
                yield connection
        except DBAPIError as error:
            why = self._why_away(error, writing=engine is self._writer)
            if why is None:
                raise
            late = loop.time() >= until
            raise Unavailable("database", f"no answer within {limit:g} s" if late else why) from error
        finally:
            self._uses.discard(use)
            use.set_result(None)

    async def _connect(
        self, engine: AsyncEngine, stack: AsyncExitStack, until: float
    ) -> tuple[AsyncConnection, Any]:
        clock, breaker = asyncio.get_running_loop().time, self._breaker
        if not breaker.allows(clock()):
            raise Unavailable("database", "it was silent a moment ago")
        try:
            async with asyncio.timeout_at(until):
                await stack.enter_async_context(self._turn(engine))
                connection = await stack.enter_async_context(engine.connect())
                raw = await connection.get_raw_connection()
        except TimeoutError as error:
            breaker.failed(clock())
            raise Unavailable("database", "no connection could be had in time") from error
        except BaseException as error:
            breaker.given_up()  # whoever refuses at once need not be spared
            if isinstance(error, self._unconnected):
                raise Unavailable("database", "the connection was lost") from error
            raise
        breaker.succeeded(clock())
        return connection, raw.driver_connection

    def _turn(self, engine: AsyncEngine) -> AbstractAsyncContextManager[Any]:
        """What is waited for before a connection is."""
        return nullcontext()

    @abstractmethod
    async def _prepare(self) -> None:
        """What must be there before the first connection."""

    @abstractmethod
    async def _lock_out(self, connection: AsyncConnection) -> None:
        """Wait until no other process migrates; lasts until the end of the transaction."""

    @abstractmethod
    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        """Have the database itself expect that this transaction takes as long."""

    @abstractmethod
    def _cut(self, driver: Any) -> None:
        """End what the driver's connection is doing, now and without waiting for the database."""

    @abstractmethod
    def _why_away(self, error: DBAPIError, *, writing: bool) -> str | None:
        """Why the database could not do it; None when the fault is the statement's."""


def open_database(url: str, *, deadline: float = DEADLINE, connections: int = 5) -> Database:
    """The database behind `sqlite:///path`, a plain path, `postgresql://…` or `postgres://…`.

    Nothing is connected yet. `connections` bounds how many are open for reading, and as many for writing
    (SQLite has one writer).
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", "/" + url
    if scheme == "sqlite":
        from gossamer.state.database_sqlite import SqliteDatabase

        return SqliteDatabase(Path(rest.removeprefix("/")), deadline, connections)
    if scheme in ("postgresql", "postgres"):
        try:
            from gossamer.state.database_postgres import PostgresDatabase
        except ModuleNotFoundError as error:
            raise ValueError("PostgreSQL needs its driver: install gossamer[postgres]") from error
        return PostgresDatabase(url, deadline, connections)
    raise ValueError(
        f"{scheme}:// is not a database that Gossamer knows; use sqlite:///path or postgresql://…"
    )


class _Clock(FunctionElement[int]):
    type = BigInteger()
    inherit_cache = True


@compiles(_Clock)
def _compile_clock(_clock: _Clock, compiler: SQLCompiler, **_options: Any) -> str:
    return CLOCK[compiler.dialect.name]


def clock(now: int | None = None) -> ColumnElement[int]:
    """The time for a statement: the database's own, or the one that a test passes in."""
    return _Clock() if now is None else literal(now, BigInteger)


def insert_into(connection: AsyncConnection, table: Table) -> postgresql.Insert:
    """An INSERT that may say ON CONFLICT, which both databases know and SQLAlchemy spells twice."""
    insert: Any = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    statement: postgresql.Insert = insert(table)
    return statement


async def _is_current(connection: AsyncConnection) -> bool:
    version = await connection.run_sync(_version)
    if version is not None and version > HEAD:
        raise DatabaseTooNew(
            f"The database has schema {version}, this Gossamer knows only {HEAD}: install a newer Gossamer."
        )
    return version == HEAD


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return version


def _upgrade(connection: Connection) -> None:
    # Imported here because it takes a good part of a second, and most starts find nothing to do.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    scripts = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    command.upgrade(config, "head")
