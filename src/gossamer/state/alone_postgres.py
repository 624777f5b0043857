"""Statements alone on PostgreSQL: straight to the driver, on a few connections of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import asyncpg
from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.exc import DBAPIError, IntegrityError

from gossamer.problems import Unavailable
from gossamer.state.database import UNCERTAIN

# Such a statement knows its indexes: it is planned once, not for its values, and not for how full the tables
# happened to be when it was planned.
SETTINGS: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
_BROKEN: Final = "23"  # the class of SQLSTATE in which constraints are


class Row(asyncpg.Record):  # type: ignore[misc]
    """Values by attribute, as SQLAlchemy's rows have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class AlonePostgres:
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
        self._places = asyncio.Semaphore(connections)
        self._idle: list[Any] = []

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Sequence[Any]:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadline
        connection = await self._take(until)
        cut = loop.call_at(until, connection.terminate)
        try:
            rows: Sequence[Any] = await connection.fetch(statement, *parameters)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            if isinstance(error, asyncpg.InternalClientError):  # the server's last words came unasked
                connection.terminate()
            raise self._told(error, statement, connection, late=loop.time() >= until) from error
        except BaseException:
            connection.terminate()  # nobody waits for what it is doing
            raise
        finally:
            cut.cancel()
            self._give_back(connection)
        return rows

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def _take(self, until: float) -> Any:
        if not self._places.locked() and (ready := self._open()):
            await self._places.acquire()  # at once, since there is one
            return ready
        try:
            async with asyncio.timeout_at(until):
                return await self._wait()
        except TimeoutError as error:
            raise Unavailable("database", "no connection could be had in time") from error

    async def _wait(self) -> Any:
        await self._places.acquire()
        try:
            return self._open() or await self._connect()
        except BaseException:
            self._places.release()
            raise

    def _open(self) -> Any:
        """One that is idle; the driver notices by itself when the server has closed one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _give_back(self, connection: Any) -> None:
        if not connection.is_closed():
            self._idle.append(connection)
        self._places.release()

    def _told(self, error: Exception, statement: str, connection: Any, *, late: bool) -> Exception:
        state = getattr(error, "sqlstate", None) or ""
        lost = connection.is_closed()
        why = self._why_away(state) or ("the connection was lost" if lost else None)
        if why is None:
            return (IntegrityError if state.startswith(_BROKEN) else DBAPIError)(statement, None, error)
        away = Unavailable("database", f"no answer within {self._deadline:g} s" if late else why)
        if lost:
            away.hint = UNCERTAIN
        return away
