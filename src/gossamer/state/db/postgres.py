"""The server's database: PostgreSQL over asyncpg."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Final

import asyncpg
from sqlalchemy import Dialect, event
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.exc import DBAPIError, DisconnectionError, IntegrityError

from gossamer.problems import Unavailable
from gossamer.state.db.connection import AsyncConnection, AsyncEngine, create_async_engine
from gossamer.state.db.database import MAX_WAITING, SCAN_TIME, SCANS, UNCERTAIN, Connections, Database
from gossamer.state.db.single import Executor
from gossamer.state.db.slots import Slots

_MIGRATION_LOCK: Final = 0x676F_7373_616D_6572  # "gossamer"
_CLOSE_SECONDS: Final = 2.0
DRIVERS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_SETTINGS: Final = {
    "application_name": "gossamer",
    # Our statements are short: compiling them, or starting processes for them, costs more than it saves.
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
_TIMEOUTS: Final = {  # in deadlines of a use
    "lock_timeout": 1,
    "statement_timeout": 2,
    "idle_in_transaction_session_timeout": 2,
}
_READING: Final = {"default_transaction_read_only": "on"}
_READ_ONLY: Final = "25006"
_TOO_LONG: Final = "57014"
_AWAY: Final = {  # SQLSTATE, or its class
    "08": "the connection was lost",
    _READ_ONLY: "it is read-only",
    "25P03": "the transaction stood still for too long",
    "28": "access is denied",
    "3D": "there is no such database",
    "40": "too much contention",
    "53": "out of resources",
    "53100": "the disk is full",
    "53300": "too many connections",
    "55P03": "locked",
    _TOO_LONG: "the statement took too long",
    "57P01": "shutting down",
    "57P02": "restarting after a crash",
    "57P03": "starting up",
    "57P05": "the connection was lost",
    "58": "the disk reports an error",
}

# Single statements are written for their indexes: they are planned once, whatever their values are and
# however full the tables are.
_SINGLE_SETTINGS: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
_INTEGRITY: Final = "23"  # the SQLSTATE class of violated constraints


class PostgresRow(asyncpg.Record):  # type: ignore[misc]
    """Values by attribute, as SQLAlchemy's rows have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class PostgresSingleStatement:
    """Runs single statements straight on the driver, on a few connections of its own."""

    dialect: Final[Dialect] = PGDialect()  # type: ignore[no-untyped-call]

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        why_away: Callable[[str], str | None],
        *,
        connections: int,
        deadline: float,
    ) -> None:
        self._connect = connect
        self._why_away = why_away
        self._deadline = deadline
        self._slots = Slots(connections, service="database")
        self._idle: list[Any] = []

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Sequence[Any]:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadline
        connection = await self._take(until)
        cut = loop.call_at(until, connection.terminate)
        served = False
        try:
            rows: Sequence[Any] = await connection.fetch(statement, *parameters)
            served = True
        except DRIVERS as error:
            if isinstance(error, asyncpg.InternalClientError):  # the server's last words came unrequested
                connection.terminate()
            raise self._translate(error, statement, connection, late=loop.time() >= until) from error
        except AttributeError as error:
            # The driver fails on its own discarded state if it was cut before it saw the answer.
            if not connection.is_closed():
                connection.terminate()
                raise
            raise self._translate(error, statement, connection, late=loop.time() >= until) from error
        except BaseException:
            connection.terminate()  # the caller is gone
            raise
        finally:
            cut.cancel()
            self._give_back(connection, served=served)
        return rows

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def _take(self, until: float) -> Any:
        if not self._slots.are_taken and (ready := self._pop_idle()):
            await self._slots.acquire()  # at once, since there is one
            return ready
        try:
            return await self._wait(until)
        except TimeoutError as error:
            raise Unavailable("database", "no connection could be had in time") from error

    async def _wait(self, until: float) -> Any:
        await self._slots.acquire(until)
        try:
            async with asyncio.timeout_at(until):
                return self._pop_idle() or await self._connect()
        except BaseException:
            self._slots.release(served=False)
            raise

    def _pop_idle(self) -> Any:
        """Pop an idle connection. The driver notices by itself when the server has closed one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _give_back(self, connection: Any, *, served: bool) -> None:
        if not connection.is_closed():
            self._idle.append(connection)
        self._slots.release(served=served)

    def _translate(self, error: Exception, statement: str, connection: Any, *, late: bool) -> Exception:
        state = getattr(error, "sqlstate", None) or ""
        lost = connection.is_closed()
        why = self._why_away(state) or ("the connection was lost" if lost else None)
        if why is None:
            return (IntegrityError if state.startswith(_INTEGRITY) else DBAPIError)(statement, None, error)
        away = Unavailable("database", f"no answer within {self._deadline:g} s" if late else why)
        if lost:
            away.hint = UNCERTAIN
        return away


class PostgresDatabase(Database):
    dialect: ClassVar[str] = "postgresql"
    _probe: ClassVar[str] = "SELECT 1"
    _unconnected: ClassVar[tuple[type[Exception], ...]] = (*Database._unconnected, *DRIVERS)

    def __init__(self, url: str, deadline: float, connections: int) -> None:
        self.url = url  # understood by asyncpg, as libpq would: sslmode, several hosts, sockets
        self._settings = {**_SETTINGS, **_timeouts(deadline)}
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        reading: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
        reader = self._engine(connections, _READING, **reading)
        scanner = self._engine(
            SCANS, {**_READING, "statement_timeout": _milliseconds(SCAN_TIME * deadline)}, **reading
        )
        super().__init__(
            Connections(reader, Slots(connections, service="database")),
            Connections(self._engine(connections, {}), Slots(connections, service="database"), writing=True),
            Connections(scanner, Slots(SCANS, service="database", max_waiting=MAX_WAITING), scanning=True),
            deadline,
        )
        self._alone = PostgresSingleStatement(
            lambda: self._open(_SINGLE_SETTINGS, record_class=PostgresRow),
            _why,
            connections=connections,
            deadline=deadline,
        )

    @property
    def single(self) -> PostgresSingleStatement:
        return self._alone

    @asynccontextmanager
    async def executor(self) -> AsyncIterator[Executor]:
        """Each statement is a transaction of its own."""
        yield self._alone

    async def close(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await super().close()
                await self._alone.close()
        for connection in list(self._opened):
            connection.terminate()

    def _engine(self, connections: int, settings: dict[str, str], **options: Any) -> AsyncEngine:
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=lambda: self._open(settings),
            pool_size=connections,
            max_overflow=0,
            pool_timeout=None,  # waiting ends with the deadline of the use
            **options,
        )
        event.listen(engine.sync_engine, "checkout", _check_open)
        event.listen(engine.sync_engine, "handle_error", _notice_loss)
        return engine

    async def _open(self, settings: dict[str, str], **options: Any) -> Any:
        try:
            connection = await asyncpg.connect(
                self.url, server_settings={**self._settings, **settings}, **options
            )
        except DRIVERS as error:
            raise Unavailable("database", why_unreachable(error)) from error
        self._opened.add(connection)
        return connection

    async def _prepare(self) -> None:
        """The database itself is the operator's to create."""

    async def lock_out(self, connection: AsyncConnection) -> None:
        await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        limits = (f"set_config('{name}', '{value}', true)" for name, value in _timeouts(seconds).items())
        await connection.exec_driver_sql(f"SELECT {', '.join(limits)}")

    def _cut(self, driver: Any) -> None:
        driver.terminate()

    def _interrupt(self, driver: Any) -> None:
        """PostgreSQL ends the statements of scans by itself."""

    def is_too_long(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) == _TOO_LONG

    def _away(self, error: DBAPIError, *, writing: bool) -> Unavailable | None:
        state = getattr(error.orig, "sqlstate", None) or ""
        if state == _READ_ONLY and not writing:
            return None
        why = _why(state)
        if why is None and error.connection_invalidated:
            why = "the connection was lost"
        return None if why is None else Unavailable("database", why)


def _check_open(connection: Any, _record: Any, _proxy: Any) -> None:
    # The driver notices a closed socket by itself, so a restart of the server costs no ping on every use.
    if connection.driver_connection.is_closed():
        raise DisconnectionError


def _notice_loss(context: Any) -> None:
    # When the server's last words come unrequested, the driver still calls the connection open.
    if isinstance(context.original_exception.__cause__, asyncpg.InternalClientError):
        context.is_disconnect = True
    # A connection that is cut after the answer came, but before the driver saw it, makes the driver fail on
    # its own discarded state.
    if isinstance(context.original_exception, AttributeError) and _is_closed(context.connection):
        context.is_disconnect = True
        raise Unavailable("database", "the connection was lost") from context.original_exception


def _is_closed(connection: Any) -> bool:
    return bool(connection.connection.driver_connection.is_closed())


def _timeouts(deadline: float) -> dict[str, str]:
    """Timeouts that end what a frozen or vanished client leaves behind. A live client has ended its use by
    then."""
    return {name: _milliseconds(times * deadline) for name, times in _TIMEOUTS.items()}


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _why(state: str) -> str | None:
    return _AWAY.get(state) or _AWAY.get(state[:2])


def why_unreachable(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return _why(getattr(error, "sqlstate", None) or "") or "it cannot be reached"
