# ruff: noqa: S608 - only names of our own tables and columns are put into these statements
"""All rows of a PostgreSQL database, on a connection of its own: read with a cursor, written with COPY."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

from gossamer.problems import Unavailable
from gossamer.state.backup.dumped_tables import PAGES, DumpedTable, Row
from gossamer.state.backup.row_store import BATCH, index_entries, without_facets
from gossamer.state.db.postgres import DRIVERS, why_unreachable
from gossamer.state.search import search_index_postgres

_SETTINGS: Final = {
    "application_name": "gossamer backup",
    "jit": "off",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "cursor_tuple_fraction": "1",  # all rows are read: an index that gives the first ones soon is no use
}
_CONNECT_SECONDS: Final = 10.0


class PostgresRows:
    dialect: Final = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def batches(self, statement: str) -> AsyncGenerator[list[Row]]:
        cursor = await self._connection.cursor(statement)
        while batch := await cursor.fetch(BATCH):
            yield [tuple(record) for record in batch]

    async def insert(self, table: DumpedTable, columns: Sequence[str], rows: Sequence[Row]) -> None:
        rows = [_storable(row) for row in rows]
        kept, stripped = without_facets(table, columns, rows)
        await self._connection.copy_records_to_table(table.name, records=stripped, columns=kept)
        if table.name == PAGES:
            entries = await asyncio.to_thread(index_entries, columns, rows)
            vectors = await asyncio.to_thread(search_index_postgres.word_rows, entries)
            await self._connection.execute(
                search_index_postgres.ADD_WORDS, [page for page, _ in entries], vectors
            )
            weights = [entry.terms.weights for _, entry in entries]
            await self._connection.execute(
                search_index_postgres.ADD_WEIGHTS, [page for page, _ in entries], weights
            )

    async def execute(self, statement: str) -> None:
        await self._connection.execute(statement)

    async def complete(self, table: DumpedTable) -> None:
        if table.serial is not None:
            name = f"pg_get_serial_sequence('{table.name}', '{table.serial}')"
            last = f"SELECT max({table.serial}) FROM {table.name}"
            await self._connection.execute(f"SELECT setval({name}, COALESCE(({last}), 1))")
        await self._connection.execute(f"ANALYZE {table.name}")  # else its first queries are planned badly


def _storable(row: Row) -> Row:
    """PostgreSQL refuses one character in texts: NUL."""
    if not any(isinstance(value, str) and "\0" in value for value in row):
        return row
    return tuple(value.replace("\0", "") if isinstance(value, str) else value for value in row)


@asynccontextmanager
async def open_snapshot(url: str) -> AsyncIterator[PostgresRows]:
    async with (
        _connected(url) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        await connection.fetchval("SELECT 1")  # begins the snapshot
        yield PostgresRows(connection)


@asynccontextmanager
async def open_target(url: str) -> AsyncIterator[PostgresRows]:
    async with _connected(url) as connection, connection.transaction():
        await connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
        yield PostgresRows(connection)


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Any]:
    try:
        connection = await asyncpg.connect(url, server_settings=_SETTINGS, timeout=_CONNECT_SECONDS)
    except (*DRIVERS, TimeoutError) as error:
        raise Unavailable("database", why_unreachable(error)) from error
    try:
        yield connection
    except DRIVERS as error:
        if connection.is_closed() or isinstance(error, asyncpg.PostgresConnectionError):
            raise Unavailable("database", "the connection was lost") from error
        raise
    finally:
        connection.terminate()
