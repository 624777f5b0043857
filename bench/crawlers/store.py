"""What a crawler keeps of each page. Runs in the contender's own interpreter: the standard library alone."""

import sqlite3
import sys
import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

BATCH: Final = 500
SCHEMA: Final = (
    "CREATE TABLE pages (url TEXT PRIMARY KEY, status INTEGER, title TEXT, description TEXT, links INTEGER,"
    " text_hash BLOB, text TEXT, body BLOB)"
)
INSERT: Final = "INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class Seeds:
    urls: list[str]
    hosts: frozenset[str]  # with their ports


class Store:
    """Rows in SQLite, so many in a transaction; bodies compressed."""

    def __init__(self, folder: str) -> None:
        self._database = sqlite3.connect(Path(folder) / "pages.db", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(SCHEMA)
        self._rows: list[tuple[object, ...]] = []

    def add(
        self, url: str, status: int, title: str, description: str, links: int, text: str, body: bytes
    ) -> None:
        hashed = sha256(text.encode("utf-8", "replace")).digest()
        row = (url, status, title, description, links, hashed, text, zlib.compress(body, 1))
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany(INSERT, self._rows)
        self._database.execute("COMMIT")
        self._rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        self._database.close()


def told() -> tuple[str, Seeds]:
    """The folder and the seeds of the command line."""
    folder, file = sys.argv[1:3]
    urls = Path(file).read_text().split()
    return folder, Seeds(urls, frozenset(urlsplit(url).netloc for url in urls))
