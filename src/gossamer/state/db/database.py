"""Database: one interface to SQLite and PostgreSQL, for everything that must not be lost.

    async with database.read() as connection:     # each statement by itself; writing is refused
    async with database.scan() as connection:     # the same for slow queries: searches, lists
    async with database.write() as connection:    # one transaction, committed at the end
    await database.transact(work)                 # the same, where `work` awaits nothing but its connection
    async with database.executor() as executor:   # one statement where that suffices, else a transaction
    await run(database.single, statement, …)      # one statement on either: committed when it returns

All end within a deadline, whatever the database does. When it is away, full, frozen or locked, they raise
`problems.Unavailable`; constraint violations and defects of ours pass through as SQLAlchemy raises them.
Scans have a few connections of their own, so that they delay nothing else. Too many scans, and scans that
take too long, raise `problems.Busy`. `sqlite` has the embedded implementation, `postgres` the server's.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from msgspec import Struct
from sqlalchemy import BigInteger, FunctionElement, Table, literal
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler

from gossamer.concurrency.breaker import Breaker
from gossamer.observe.traces import span
from gossamer.problems import Busy, Unavailable, UnusableDatabase
from gossamer.state.db.connection import AsyncConnection, AsyncEngine
from gossamer.state.db.revisions import MigrationPlan, plan, read_revision, upgrade
from gossamer.state.db.single import Executor, SingleStatement
from gossamer.state.db.slots import Slots

T = TypeVar("T")
HEAD: Final = "0015"  # the newest revision in migrations/versions
DEADLINE: Final = 5.0
MIGRATION_DEADLINE: Final = 600.0
SCANS: Final = 2  # at a time
MAX_WAITING: Final = 32  # scans that wait for their turn
SCAN_WAIT: Final = 0.2  # how long a scan waits for its turn, as a share of the deadline
SCAN_TIME: Final = 0.6  # how long a scan may take, as a share of the deadline
SILENT_TIMES: Final = 3  # connections in a row that were not made in time: then none is waited for
SILENT_SECONDS: Final = 1.0  # until the next use tries again, on behalf of all

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


class DatabaseTooNew(UnusableDatabase):
    """The schema was made by a later release than this one."""


class UnfinishedRestore(UnusableDatabase):
    """A restore into this database was begun and has not ended."""


class Connections(Struct, frozen=True, eq=False):
    """Connections of one kind, and how many uses of them there may be."""

    engine: AsyncEngine
    slots: Slots
    writing: bool = False
    scanning: bool = False

    @property
    def pool(self) -> str:
        return "write" if self.writing else "scan" if self.scanning else "read"


class Database(ABC):
    dialect: ClassVar[str]
    _probe: ClassVar[str]
    # What connecting may raise besides a DBAPIError. The pool raises this one when a connection, and then its
    # replacement, was closed before it could be used.
    _unconnected: ClassVar[tuple[type[Exception], ...]] = (InvalidRequestError,)

    def __init__(
        self, reader: Connections, writer: Connections, scanner: Connections, deadline: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._scanner = scanner
        self._deadline = deadline
        self._uses: set[asyncio.Future[None]] = set()  # each is done when its use is over
        self._conversations = 0  # transactions under way, a round trip for each statement
        self.commits = 0  # of `write` in this process, without quiet ones
        self.breaker = Breaker(failures=SILENT_TIMES, seconds=SILENT_SECONDS, successes=1)
        self.on_wait: Callable[[str, float], None] | None = None  # hears how long a use waited, and for what

    @asynccontextmanager
    async def read(self, *, seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        async with self._use(self._reader, seconds) as connection:
            yield connection

    @asynccontextmanager
    async def scan(self) -> AsyncIterator[AsyncConnection]:
        async with self._use(self._scanner, None) as connection:
            yield connection

    @asynccontextmanager
    async def write(
        self, *, seconds: float | None = None, quiet: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """A transaction. A quiet one changes nothing that anybody waits for, and wakes nobody on SQLite."""
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
        finally:
            self.commits += committing and not quiet

    async def transact(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """A transaction whose work awaits nothing but its connection. Nobody waits for its locks while this
        process is busy with something else."""
        self._conversations += 1
        try:
            async with self.write() as connection:
                return await work(connection)
        finally:
            self._conversations -= 1

    @property
    def is_conversing(self) -> bool:
        """Whether a transaction holds locks until the event loop has heard the next answer."""
        return self._conversations > 0

    @asynccontextmanager
    async def executor(self) -> AsyncIterator[Executor]:
        """For a change that each database makes with as few statements as it can, in raw SQL."""
        async with self.write() as connection:
            yield connection

    @property
    @abstractmethod
    def single(self) -> SingleStatement:
        """For a change that is one statement on either database."""

    async def ping(self) -> None:
        async with self.read() as connection:
            await connection.exec_driver_sql(self._probe)

    async def migrate(self, *, restoring: bool = False) -> None:
        """Bring the schema to `HEAD`. Any number of processes may do so at once. Only a restore may use a
        database whose last restore has not ended: others get `UnfinishedRestore`."""
        await self._prepare()
        async with self.read() as connection:
            if await _is_current(connection):
                if not restoring:
                    await _refuse_half_restored(connection)
                return
        async with self.write(seconds=MIGRATION_DEADLINE) as connection:
            await self.lock_out(connection)
            if not await _is_current(connection):
                await connection.run_sync(upgrade)

    async def plan_migration(self) -> MigrationPlan:
        """What `migrate` would do now. Nothing is changed, created or locked."""
        revision = await self._revision()
        return await asyncio.to_thread(plan, revision, HEAD, self._writer.engine.dialect)

    async def _revision(self) -> str | None:
        async with self.read() as connection:
            await _is_current(connection)  # a newer one is refused
            return await connection.run_sync(read_revision)

    async def close(self) -> None:
        """Wait for the uses under way, within their deadline: a connection returned later would stay open."""
        if self._uses:
            await asyncio.wait(self._uses, timeout=self._deadline)
        for connections in (self._reader, self._writer, self._scanner):
            await connections.engine.dispose()

    @asynccontextmanager
    async def _use(self, connections: Connections, seconds: float | None) -> AsyncIterator[AsyncConnection]:
        limit = self._deadline if seconds is None else seconds
        loop = asyncio.get_running_loop()
        until = loop.time() + limit
        self._uses.add(use := loop.create_future())
        try:
            async with AsyncExitStack() as stack:
                stack.enter_context(span("database", pool=connections.pool))
                await self._admit(connections, stack, until)
                connection, driver = await self._connect(connections.engine, stack, until)
                if self.on_wait is not None:
                    self.on_wait(connections.pool, loop.time() - until + limit)
                # Cut, not cancelled: the body may await other things, and a frozen server would delay a
                # polite cancellation as well.
                stack.callback(loop.call_at(until, self._cut, driver).cancel)
                if connections.scanning:
                    enough = loop.call_later(limit * SCAN_TIME, self._interrupt, driver)
                    stack.callback(enough.cancel)
                yield connection
        except DBAPIError as error:
            if connections.scanning and self.is_too_long(error):
                raise Busy("database", "it took too long to go through so much") from error
            away = self._away(error, writing=connections.writing)
            if away is None:
                raise
            if loop.time() >= until:
                away = Unavailable("database", f"no answer within {limit:g} s")
            raise away from error
        finally:
            self._uses.discard(use)
            use.set_result(None)

    async def _admit(self, connections: Connections, stack: AsyncExitStack, until: float) -> None:
        """Wait for a turn. Too many scans are no sign that the database is away, and do not count as one."""
        loop = asyncio.get_running_loop()
        patient = min(until, loop.time() + self._deadline * SCAN_WAIT) if connections.scanning else until
        try:
            await stack.enter_async_context(connections.slots.hold(patient))
        except TimeoutError as error:
            if connections.scanning:
                raise connections.slots.too_late() from error
            self.breaker.record_failure(loop.time())
            raise Unavailable("database", "no connection could be had in time") from error

    async def _connect(
        self, engine: AsyncEngine, stack: AsyncExitStack, until: float
    ) -> tuple[AsyncConnection, Any]:
        clock, breaker = asyncio.get_running_loop().time, self.breaker
        if not breaker.allows(clock()):
            raise Unavailable("database", "it was silent a moment ago")
        try:
            async with asyncio.timeout_at(until):
                connection = await stack.enter_async_context(engine.connect())
                raw = await connection.get_raw_connection()
        except TimeoutError as error:
            breaker.record_failure(clock())
            raise Unavailable("database", "no connection could be had in time") from error
        except BaseException as error:
            breaker.record_unknown()  # a database that refuses at once need not be spared
            if isinstance(error, self._unconnected):
                raise Unavailable("database", "the connection was lost") from error
            raise
        breaker.record_success(clock())
        return connection, raw.driver_connection

    @abstractmethod
    async def _prepare(self) -> None:
        """Create what the first connection needs."""

    @abstractmethod
    async def lock_out(self, connection: AsyncConnection) -> None:
        """Wait until no other process migrates, and keep others out until the end of the transaction."""

    @abstractmethod
    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        """Tell the database itself how long this transaction may take."""

    @abstractmethod
    def _cut(self, driver: Any) -> None:
        """End what the driver's connection is doing, now and without waiting for the database."""

    @abstractmethod
    def _interrupt(self, driver: Any) -> None:
        """End the current statement and nothing else, where the database does not do so by itself."""

    @abstractmethod
    def is_too_long(self, error: DBAPIError) -> bool:
        """Whether the statement was ended because it took too long."""

    @abstractmethod
    def _away(self, error: DBAPIError, *, writing: bool) -> Unavailable | None:
        """Why the database could not do it; None when the statement is at fault."""


def open_database(url: str, *, deadline: float = DEADLINE, connections: int = 5) -> Database:
    """The database behind `sqlite:///path`, a plain path, `postgresql://…` or `postgres://…`.

    Nothing is connected yet. `connections` bounds how many are open for reading, and as many for writing
    (SQLite has one writer). Scans have `SCANS` more.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", "/" + url
    if scheme == "sqlite":
        from gossamer.state.db.sqlite import SqliteDatabase

        return SqliteDatabase(Path(rest.removeprefix("/")), deadline, connections)
    if scheme in ("postgresql", "postgres"):
        try:
            from gossamer.state.db.postgres import PostgresDatabase
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
    version = await connection.run_sync(read_revision)
    if version is not None and version > HEAD:
        raise DatabaseTooNew(
            f"The database has schema {version}, this Gossamer knows only {HEAD}: install a newer Gossamer."
        )
    return version == HEAD


async def _refuse_half_restored(connection: AsyncConnection) -> None:
    begun = await connection.exec_driver_sql("SELECT 1 FROM restores WHERE finished_at IS NULL LIMIT 1")
    if begun.first() is not None:
        raise UnfinishedRestore(
            "A restore or move into this database did not finish: run it again, or use another database."
        )
