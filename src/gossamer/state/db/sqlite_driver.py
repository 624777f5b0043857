"""aiosqlite for SQLAlchemy, with one trip to the thread of a connection for each statement.

SQLAlchemy's own adapter makes four: it opens a cursor, runs the statement, fetches the rows and closes the
cursor in one each. All rows are kept either way.
"""

import sqlite3
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any, cast

import aiosqlite
from msgspec import Struct
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)
from sqlalchemy.util.concurrency import await_


class _StatementAnswer(Struct):
    """Of a statement. It stands in for the cursor, which is closed."""

    description: Any = None
    rowcount: int = -1
    lastrowid: int | None = None
    arraysize: int = 1
    rows: Sequence[Any] = ()


class _OneTripConnection(aiosqlite.Connection):
    async def ask(self, statement: str, parameters: Any, *, many: bool = False) -> _StatementAnswer:
        run = self._conn.executemany if many else self._conn.execute
        answer: _StatementAnswer = await self._execute(_ask, run, statement, parameters)  # type: ignore[no-untyped-call]
        return answer


def _ask(run: Any, statement: str, parameters: Any) -> _StatementAnswer:
    with closing(run(statement, parameters)) as cursor:
        rows = cursor.fetchall() if cursor.description else ()
        return _StatementAnswer(cursor.description, cursor.rowcount, cursor.lastrowid, rows=rows)


class _AdaptedCursor(AsyncAdapt_aiosqlite_cursor):
    __slots__ = ()

    def _make_new_cursor(self, connection: Any) -> Any:
        return _StatementAnswer()

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor

    async def _execute_async(self, operation: Any, parameters: Any) -> None:
        await self._ask(operation, () if parameters is None else parameters)

    async def _executemany_async(self, operation: Any, seq_of_parameters: Any) -> None:
        await self._ask(operation, seq_of_parameters, many=True)

    async def _ask(self, statement: str, parameters: Any, *, many: bool = False) -> None:
        connection = cast(_OneTripConnection, self._connection)
        async with self._adapt_connection._execute_mutex:
            answer = await connection.ask(statement, parameters, many=many)
        self._cursor, self._rows = cast(Any, answer), deque(answer.rows)

    def close(self) -> None:
        self._rows.clear()


class _AdaptedConnection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()

    _cursor_cls = _AdaptedCursor


class SqliteDriver(AsyncAdapt_aiosqlite_dbapi):
    def __init__(self) -> None:
        super().__init__(cast(Any, aiosqlite), cast(Any, sqlite3))

    def connect(self, *given: Any, **options: Any) -> _AdaptedConnection:
        connection = _OneTripConnection(partial(sqlite3.connect, *given, **options), iter_chunk_size=0)
        connection._thread.daemon = True  # as SQLAlchemy has it: a process ends without it
        return _AdaptedConnection(self, await_(connection))  # type: ignore[arg-type]
