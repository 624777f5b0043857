"""All rows of an SQLite file, on a connection and a thread of its own.

A transaction that only reads sees the file as it was at its first read, and hinders no writer.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from gossamer.problems import Unavailable
from gossamer.state.backup.dumped_tables import PAGES, DumpedTable, Row
from gossamer.state.backup.row_store import BATCH, index_entries, without_facets
from gossamer.state.search import search_index_sqlite

T = TypeVar("T")
LOCK_SECONDS: Final = 10.0  # to wait for another writer


class SqliteRows:
    dialect: Final = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "gossamer-rows")
        self._opened: sqlite3.Connection | None = None

    async def open(self, begin: str, *, writing: bool) -> None:
        await self._call(lambda: self._open(begin, writing=writing))

    async def batches(self, statement: str) -> AsyncGenerator[list[Row]]:
        cursor = await self._call(lambda: self._ready.execute(statement))
        try:
            while batch := await self._call(lambda: cursor.fetchmany(BATCH)):
                yield batch
        finally:
            await self._call(cursor.close)

    async def insert(self, table: DumpedTable, columns: Sequence[str], rows: Sequence[Row]) -> None:
        kept, stripped = without_facets(table, columns, rows)
        await self._call(lambda: self._ready.executemany(table.insert(kept), stripped))
        if table.name == PAGES:
            await self._call(lambda: self._add_words(columns, rows))

    async def execute(self, statement: str) -> None:
        await self._call(lambda: self._ready.execute(statement))

    async def complete(self, table: DumpedTable) -> None:
        """SQLite needs nothing: it counts on from the largest number."""

    async def close(self) -> None:
        """Undo what was not committed."""
        await self._call(self._close)
        self._thread.shutdown(wait=False)

    async def _call(self, work: Callable[[], T]) -> T:
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if self._opened is not None:
                self._opened.interrupt()
            await asyncio.wait([running])
            running.exception()
            raise
        except sqlite3.OperationalError as error:
            raise Unavailable("database", str(error)) from error

    # In the thread.

    @property
    def _ready(self) -> sqlite3.Connection:
        if self._opened is None:
            raise ValueError("it is not open")
        return self._opened

    def _open(self, begin: str, *, writing: bool) -> None:
        self._opened = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=LOCK_SECONDS,
            check_same_thread=False,  # it is interrupted by another
        )
        if writing:
            self._opened.execute("PRAGMA synchronous=FULL")
            self._opened.execute("PRAGMA foreign_keys=ON")
        else:
            self._opened.execute("PRAGMA query_only=ON")
        self._opened.execute(begin)
        if writing:
            self._opened.execute("PRAGMA defer_foreign_keys=ON")
        else:
            self._opened.execute("SELECT 1 FROM alembic_version").fetchall()  # begins the snapshot

    def _add_words(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        entries = index_entries(columns, rows)
        self._ready.executemany(search_index_sqlite.ADD_WORDS, search_index_sqlite.word_rows(entries))
        weights = [(page, entry.terms.weights) for page, entry in entries]
        self._ready.executemany(search_index_sqlite.ADD_WEIGHTS, weights)

    def _close(self) -> None:
        if self._opened is not None:
            if self._opened.in_transaction:
                self._opened.rollback()
            self._opened.close()


@asynccontextmanager
async def open_snapshot(path: Path) -> AsyncIterator[SqliteRows]:
    rows = SqliteRows(path)
    try:
        await rows.open("BEGIN", writing=False)
        yield rows
    finally:
        await rows.close()


@asynccontextmanager
async def open_target(path: Path) -> AsyncIterator[SqliteRows]:
    rows = SqliteRows(path)
    try:
        await rows.open("BEGIN IMMEDIATE", writing=True)
        yield rows
        await rows.execute("COMMIT")
    finally:
        await rows.close()
