"""The server's database: PostgreSQL over asyncpg."""

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Final

import asyncpg
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gossamer.problems import Unavailable
from gossamer.state.alone import Hand
from gossamer.state.alone_postgres import SETTINGS as ALONE_SETTINGS
from gossamer.state.alone_postgres import AlonePostgres, Row
from gossamer.state.database import Database

_MIGRATION_LOCK: Final = 0x676F_7373_616D_6572  # "gossamer"
_CLOSE_SECONDS: Final = 2.0
_DRIVERS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_SETTINGS: Final = {
    "application_name": "gossamer",
    "jit": "off",  # our statements are short; compiling them costs more than it gains
}
_TIMEOUTS: Final = {  # in deadlines of a use
    "lock_timeout": 1,
    "statement_timeout": 2,
    "idle_in_transaction_session_timeout": 2,
}
_READ_ONLY: Final = "25006"
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
    "57014": "the statement took too long",
    "57P01": "shutting down",
    "57P02": "restarting after a crash",
    "57P03": "starting up",
    "57P05": "the connection was lost",
    "58": "the disk reports an error",
}


class PostgresDatabase(Database):
    dialect: ClassVar[str] = "postgresql"
    _probe: ClassVar[str] = "SELECT 1"
    _unconnected: ClassVar[tuple[type[Exception], ...]] = (*Database._unconnected, *_DRIVERS)

    def __init__(self, url: str, deadline: float, connections: int) -> None:
        self._url = url  # understood by asyncpg, as libpq would: sslmode, several hosts, sockets
        self._settings = {**_SETTINGS, **_patience(deadline)}
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        reader = self._engine(
            connections,
            {"default_transaction_read_only": "on"},
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
        )
        super().__init__(reader, self._engine(connections, {}), deadline)
        self._alone = AlonePostgres(
            lambda: self._open(ALONE_SETTINGS, record_class=Row),
            _why,
            connections=connections,
            deadline=deadline,
        )

    @property
    def single(self) -> AlonePostgres:
        return self._alone

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Hand]:
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
                self._url, server_settings={**self._settings, **settings}, **options
            )
        except _DRIVERS as error:
            raise Unavailable("database", _why_unreachable(error)) from error
        self._opened.add(connection)
        return connection

    async def _prepare(self) -> None:
        """The database itself is the operator's to create."""

    async def _lock_out(self, connection: AsyncConnection) -> None:
        await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    async def _grant(self, connection: AsyncConnection, seconds: float) -> None:
        limits = (f"set_config('{name}', '{value}', true)" for name, value in _patience(seconds).items())
        await connection.exec_driver_sql(f"SELECT {', '.join(limits)}")

    def _cut(self, driver: Any) -> None:
        driver.terminate()

    def _why_away(self, error: DBAPIError, *, writing: bool) -> str | None:
        state = getattr(error.orig, "sqlstate", None) or ""
        if state == _READ_ONLY and not writing:
            return None
        why = _why(state)
        return "the connection was lost" if why is None and error.connection_invalidated else why


def _check_open(connection: Any, _record: Any, _proxy: Any) -> None:
    # The driver notices a closed socket by itself, so a restart of the server costs no ping on every use.
    if connection.driver_connection.is_closed():
        raise DisconnectionError


def _notice_loss(context: Any) -> None:
    # The server's last words, when they come unasked, leave the driver with a connection that it calls open.
    if isinstance(context.original_exception.__cause__, asyncpg.InternalClientError):
        context.is_disconnect = True


def _patience(deadline: float) -> dict[str, str]:
    """What a client leaves behind that is frozen or gone ends by itself. One that lives has ended its use by
    then, so nobody else is meant."""
    return {name: f"{round(times * deadline * 1000)}ms" for name, times in _TIMEOUTS.items()}


def _why(state: str) -> str | None:
    return _AWAY.get(state) or _AWAY.get(state[:2])


def _why_unreachable(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return _why(getattr(error, "sqlstate", None) or "") or "it cannot be reached"
