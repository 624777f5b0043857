# ruff: noqa: S608 - only names of our own tables and columns are put into these statements
"""Dumped tables: which rows a backup contains, and how each database is asked for them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Boolean, LargeBinary, Table

from gossamer.state.db.all_tables import metadata

# About this database and its processes, not about what they hold.
# The weights of pages in the search index are made from the pages again.
LEFT_OUT: Final = ("backups", "duties", "restores", "search_weights", "workers")
PAGES: Final = "search_pages"
FACETS: Final = (
    "facets"  # of a page in the search index, in the dump only: the database has them with its words
)
_FACETS: Final = {
    "sqlite": "(SELECT facets FROM search_words WHERE search_words.rowid = search_pages.id)",
    "postgresql": "(SELECT string_agg(substr(lexeme, 2), ' ') FROM search_words, unnest(words)"
    # Without the runs of ids, which are of that database alone.
    " WHERE search_words.id = search_pages.id AND lexeme LIKE '@%' AND lexeme !~ '^@r[0-9]')",
}
# A blob of a crawl is named once here, and once by each page in it.
_BLOBS: Final = """
SELECT blob FROM cached_pages WHERE blob IS NOT NULL
UNION SELECT blob FROM batch_results WHERE blob IS NOT NULL
UNION SELECT blob FROM crawl_blobs
UNION SELECT rows_blob FROM archives
UNION SELECT warc_blob FROM archives WHERE warc_blob IS NOT NULL
UNION SELECT blob FROM monitor_snapshots WHERE blob IS NOT NULL
UNION SELECT picture FROM monitor_snapshots WHERE picture IS NOT NULL
UNION SELECT blob FROM unindexed"""

Row = Sequence[Any]


class DumpedTable(Struct, frozen=True):
    """A table with the columns of its rows in a backup: numbers, booleans, text and bytes, or null."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    booleans: frozenset[str]
    binaries: frozenset[str]
    serial: str | None  # the column that PostgreSQL numbers

    def select(self, dialect: str) -> str:
        """All rows, in the order of their keys."""
        shown = [_FACETS[dialect] if name == FACETS else _quoted(name) for name in self.columns]
        return f"SELECT {', '.join(shown)} FROM {self.name} ORDER BY {', '.join(self.key)}"

    def insert(self, columns: Sequence[str]) -> str:
        names, values = ", ".join(map(_quoted, columns)), ", ".join("?" * len(columns))
        return f"INSERT INTO {self.name} ({names}) VALUES ({values})"


def _dumped(table: Table) -> DumpedTable:
    columns = [str(column.name) for column in table.columns]
    key = list(table.primary_key.columns)
    return DumpedTable(
        str(table.name),
        tuple([*columns, FACETS] if table.name == PAGES else columns),
        tuple(column.name for column in key),
        frozenset(column.name for column in table.columns if isinstance(column.type, Boolean)),
        frozenset(column.name for column in table.columns if isinstance(column.type, LargeBinary)),
        key[0].name if table.autoincrement_column is not None else None,
    )


def _quoted(name: str) -> str:
    return f'"{name}"'


# Those that others refer to come first.
DUMPED: Final[Mapping[str, DumpedTable]] = {
    str(table.name): _dumped(table) for table in metadata.sorted_tables if table.name not in LEFT_OUT
}
BLOB_NAMES: Final = f"SELECT blob FROM ({_BLOBS}) AS named ORDER BY blob"
