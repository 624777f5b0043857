"""Single statements on SQLite, committed together."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Dialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.exc import DBAPIError, IntegrityError

from gossamer.problems import Unavailable
from gossamer.state.db.database import UNCERTAIN
from gossamer.state.db.single import Rows
from gossamer.state.db.slots import Slots


class _Change(Struct, frozen=True, eq=False):
    statement: str
    parameters: Sequence[Any]
    rows: asyncio.Future[Rows]
    served: int  # writers in this process, before it came


class SqliteSingleStatement:
    """Runs single statements on a connection and a thread of its own; those that wait commit together.

    A commit waits for the disk. The statements that come meanwhile become one transaction, so that many pay
    for the disk once. A statement that fails undoes its own changes, and nothing of the others.
    """

    dialect: Final[Dialect] = SQLiteDialect()

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        begin: Callable[[sqlite3.Connection], None],
        away: Callable[[Exception], Unavailable | None],
        turn: Slots,
        *,
        deadline: float,
    ) -> None:
        self._connect = connect
        self._begin = begin
        self._away = away
        self._turn = turn  # of the writers in this process
        self._deadline = deadline
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._waiting: list[_Change] = []
        self._writing: asyncio.Task[None] | None = None

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Rows:
        made: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        change = _Change(statement, parameters, made, self._turn.served)
        self._waiting.append(change)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        try:
            async with asyncio.timeout(self._deadline):
                return await change.rows
        except TimeoutError as error:
            raise self._late(change) from error

    async def close(self) -> None:
        """Wait for what was begun, within its deadline."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=self._deadline)
        thread, self._thread = self._thread, None
        if thread is not None:
            dropped = asyncio.wrap_future(thread.submit(self._drop))
            thread.shutdown(wait=False)
            await asyncio.wait([dropped], timeout=self._deadline)

    async def _write(self) -> None:
        while self._waiting:
            async with self._turn.hold():
                given, self._waiting = self._waiting, []
                batch = [
                    change for change in given if not change.rows.done()
                ]  # the others have no caller any more
                if batch:
                    await self._commit(batch)

    async def _commit(self, batch: Sequence[_Change]) -> None:
        loop = asyncio.get_running_loop()
        self._thread = self._thread or ThreadPoolExecutor(1, "gossamer-sqlite")
        cut = loop.call_later(self._deadline, self._interrupt)
        made: Sequence[Rows | Exception]
        try:
            made = await loop.run_in_executor(self._thread, self._make, batch)
        except Exception as error:  # noqa: BLE001  (each caller gets it)
            made = [error] * len(batch)
        finally:
            cut.cancel()
        for change, rows in zip(batch, made, strict=True):
            if change.rows.done():
                continue
            if isinstance(rows, Exception):
                change.rows.set_exception(self._translate(rows, change.statement))
            else:
                change.rows.set_result(rows)

    def _late(self, change: _Change) -> Unavailable:
        if change in self._waiting:
            if self._turn.served > change.served:
                return self._turn.too_late()
            return Unavailable("database", "no connection could be had in time")
        away = Unavailable("database", f"no answer within {self._deadline:g} s")
        away.hint = UNCERTAIN
        return away

    def _interrupt(self) -> None:
        connection = self._connection
        if connection is not None:
            with suppress(sqlite3.Error):  # closed in the meantime
                connection.interrupt()

    def _translate(self, error: Exception, statement: str) -> Exception:
        away = self._away(error)
        if away is not None:
            away.__cause__ = error
            return away
        return (IntegrityError if isinstance(error, sqlite3.IntegrityError) else DBAPIError)(
            statement, None, error
        )

    # In the thread.

    def _make(self, batch: Sequence[_Change]) -> list[Rows | Exception]:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        self._begin(connection)
        try:
            made = [self._run(connection, change) for change in batch]
            connection.execute("COMMIT")
        except BaseException:
            self._drop()  # whatever is wrong with it, the next batch gets a new one
            raise
        return made

    def _run(self, connection: sqlite3.Connection, change: _Change) -> Rows | Exception:
        try:
            return connection.execute(change.statement, change.parameters).fetchall()
        except sqlite3.Error as error:
            if self._away(error) is not None or not connection.in_transaction:
                raise
            return error

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
