"""RowStore: all rows of a database, read in one snapshot or written in one transaction.

    async with open_snapshot(url) as rows:        # nothing that is written meanwhile is seen
        async for batch in rows.batches(table.select(rows.dialect)): …
    async with open_target(url) as rows:          # committed at the end, or nothing was written
        await rows.insert(table, columns, batch)

Both have a connection of their own without time limits. `rows_sqlite` and `rows_postgres` implement it.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Final, Protocol

from gossamer.state.backup.dumped_tables import DUMPED, FACETS, PAGES, DumpedTable, Row
from gossamer.state.search.search_document import IndexEntry, IndexRow, entry_of

BATCH: Final = 500  # rows at a time; some have texts of 100 kB


class RowStore(Protocol):
    @property
    def dialect(self) -> str: ...

    def batches(self, statement: str) -> AsyncGenerator[list[Row]]:
        """The rows of a SELECT. Booleans may be numbers (`normalise`)."""
        ...

    async def insert(self, table: DumpedTable, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows, and for pages of the search index their words."""
        ...

    async def execute(self, statement: str) -> None: ...

    async def complete(self, table: DumpedTable) -> None:
        """All rows are there: the next number that the database gives out is new, and it knows how many."""
        ...


def open_snapshot(url: str) -> AbstractAsyncContextManager[RowStore]:
    """A snapshot of the database at `url`, written as for `open_database`."""
    if url.startswith("postgres"):
        from gossamer.state.backup import rows_postgres  # an extra: imported where it is chosen

        return rows_postgres.open_snapshot(url)
    from gossamer.state.backup import rows_sqlite

    return rows_sqlite.open_snapshot(sqlite_path(url))


def open_target(url: str) -> AbstractAsyncContextManager[RowStore]:
    """A transaction on the database at `url`."""
    if url.startswith("postgres"):
        from gossamer.state.backup import rows_postgres

        return rows_postgres.open_target(url)
    from gossamer.state.backup import rows_sqlite

    return rows_sqlite.open_target(sqlite_path(url))


def sqlite_path(url: str) -> Path:
    _, separator, rest = url.partition("://")
    return Path(rest.removeprefix("/") if separator else url)


async def count(rows: RowStore, table: DumpedTable) -> int:
    return int(await scalar(rows, f"SELECT count(*) FROM {table.name}") or 0)  # noqa: S608


async def scalar(rows: RowStore, statement: str) -> int | str | None:
    """The first value of the first row; None if there is no row."""
    async with aclosing(rows.batches(statement)) as batches:
        async for batch in batches:
            value: int | str = batch[0][0]
            return value
    return None


async def clear(rows: RowStore) -> None:
    """Delete every row, those that refer to others first."""
    await rows.execute("DELETE FROM search_words")
    await rows.execute("DELETE FROM search_weights")
    for table in reversed(list(DUMPED.values())):
        await rows.execute(f"DELETE FROM {table.name}")  # noqa: S608


def normalise(table: DumpedTable, batch: list[Row]) -> list[Row]:
    """The same rows from either database: with true and false for 1 and 0, and facets in one order."""
    if table.name == PAGES:
        place = table.columns.index(FACETS)
        return [(*row[:place], " ".join(sorted((row[place] or "").split()))) for row in batch]
    places = [place for place, name in enumerate(table.columns) if name in table.booleans]
    if not places or all(isinstance(batch[0][place], bool) for place in places):
        return batch
    changed = [list(row) for row in batch]
    for row in changed:
        for place in places:
            row[place] = None if row[place] is None else bool(row[place])
    return [tuple(row) for row in changed]


def index_entries(columns: Sequence[str], rows: Sequence[Row]) -> list[tuple[int, IndexEntry]]:
    """The terms of pages of the search index, by the ids of the pages. For a thread: this takes a while."""
    identity, facets = columns.index("id"), columns.index(FACETS)
    places = {name: columns.index(name) for name in IndexRow._fields if name in columns}  # of any release
    return [
        (
            row[identity],
            entry_of(
                IndexRow(**{name: row[place] for name, place in places.items()}),
                tuple((row[facets] or "").split()),
            ),
        )
        for row in rows
    ]


def without_facets(
    table: DumpedTable, columns: Sequence[str], rows: Sequence[Row]
) -> tuple[Sequence[str], Sequence[Row]]:
    if table.name != PAGES or FACETS not in columns:
        return columns, rows
    place = columns.index(FACETS)
    kept = [name for name in columns if name != FACETS]
    return kept, [(*row[:place], *row[place + 1 :]) for row in rows]
