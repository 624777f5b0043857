"""Statements alone on SQLite: on a connection and a thread of their own, and those that wait commit together.

A commit waits for the disk, and what comes meanwhile for that commit; then all of it is one transaction, so
that many pay for the disk once. A statement that fails takes back what it did, and nothing of the others'.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Dialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.exc import DBAPIError, IntegrityError

from gossamer.problems import Unavailable
from gossamer.state.alone import Rows
from gossamer.state.database import UNCERTAIN


class Row(sqlite3.Row):
    """Values by attribute, as SQLAlchemy's rows have them."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    statement: str
    parameters: Sequence[Any]
    made: asyncio.Future[Rows]


class AloneSqlite:
    dialect: Final[Dialect] = SQLiteDialect()

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        begin: Callable[[sqlite3.Connection], None],
        why_away: Callable[[Exception], str | None],
        turn: asyncio.Lock,
        *,
        deadline: float,
    ) -> None:
        self._connect = connect
        self._begin = begin
        self._why_away = why_away
        self._turn = turn  # of those who write in this process
        self._deadline = deadline
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._waiting: list[_Change] = []
        self._writing: asyncio.Task[None] | None = None

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Rows:
        change = _Change(statement, parameters, asyncio.get_running_loop().create_future())
        self._waiting.append(change)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        try:
            async with asyncio.timeout(self._deadline):
                return await change.made
        except TimeoutError as error:
            raise self._late(change) from error

    async def close(self) -> None:
        """After what was begun, within its deadline."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=self._deadline)
        thread, self._thread = self._thread, None
        if thread is not None:
            dropped = asyncio.wrap_future(thread.submit(self._drop))
            thread.shutdown(wait=False)
            await asyncio.wait([dropped], timeout=self._deadline)

    async def _write(self) -> None:
        while self._waiting:
            async with self._turn:
                given, self._waiting = self._waiting, []
                batch = [change for change in given if not change.made.done()]  # else nobody waits for it
                if batch:
                    await self._commit(batch)

    async def _commit(self, batch: Sequence[_Change]) -> None:
        loop = asyncio.get_running_loop()
        self._thread = self._thread or ThreadPoolExecutor(1, "gossamer-sqlite")
        cut = loop.call_later(self._deadline, self._interrupt)
        made: Sequence[Rows | Exception]
        try:
            made = await loop.run_in_executor(self._thread, self._make, batch)
        except Exception as error:  # noqa: BLE001  (each who waits is told)
            made = [error] * len(batch)
        finally:
            cut.cancel()
        for change, rows in zip(batch, made, strict=True):
            if change.made.done():
                continue
            if isinstance(rows, Exception):
                change.made.set_exception(self._told(rows, change.statement))
            else:
                change.made.set_result(rows)

    def _late(self, change: _Change) -> Unavailable:
        if change in self._waiting:
            return Unavailable("database", "no connection could be had in time")
        away = Unavailable("database", f"no answer within {self._deadline:g} s")
        away.hint = UNCERTAIN
        return away

    def _interrupt(self) -> None:
        connection = self._connection
        if connection is not None:
            with suppress(sqlite3.Error):  # closed in the meantime
                connection.interrupt()

    def _told(self, error: Exception, statement: str) -> Exception:
        why = self._why_away(error)
        if why is not None:
            away = Unavailable("database", why)
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
            self._drop()  # whatever is the matter with it, the next have a new one
            raise
        return made

    def _run(self, connection: sqlite3.Connection, change: _Change) -> Rows | Exception:
        try:
            return connection.execute(change.statement, change.parameters).fetchall()
        except sqlite3.Error as error:
            if self._why_away(error) is not None or not connection.in_transaction:
                raise
            return error

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
