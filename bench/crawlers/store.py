# mypy: disable-error-code="import-not-found,import-untyped"
"""What a crawler keeps of each page: what Gossamer keeps of it. Runs in the contender's own interpreter.

That is title, description, language and a hash of the text in a row; all links with their texts and `rel`;
and the headers and the body, compressed as Gossamer compresses them. The text itself is read and not kept.
"""

import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BATCH: Final = 500
LEVEL: Final = 1
TRACKING: Final = ("utm_", "ref=", "source=")  # parameters that mean nothing
SCHEMA: Final = (
    "CREATE TABLE pages (url TEXT PRIMARY KEY, status INTEGER, title TEXT, description TEXT, language TEXT,"
    " links_count INTEGER, text_hash BLOB, links BLOB, content BLOB)"
)
INSERT: Final = "INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

KeptLink = tuple[str, str, str]  # URL, text, rel


@dataclass(frozen=True)
class Seeds:
    urls: list[str]
    hosts: frozenset[str]  # with their ports


@dataclass(frozen=True)
class KeptPage:
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    title: str = ""
    description: str = ""
    language: str = ""
    text: str = ""
    links: Sequence[KeptLink] = field(default_factory=list)


class Store:
    """Rows in SQLite, so many in a transaction."""

    def __init__(self, folder: str) -> None:
        self._database = sqlite3.connect(Path(folder) / "pages.db", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(SCHEMA)
        self._rows: list[tuple[object, ...]] = []
        self._encode = msgspec.msgpack.Encoder().encode

    def add(self, page: KeptPage) -> None:
        row = (
            page.url,
            page.status,
            page.title,
            page.description,
            page.language,
            len(page.links),
            sha256(page.text.encode("utf-8", "replace")).digest(),
            zstd.compress(self._encode(page.links), LEVEL),
            zstd.compress(self._encode((page.headers, page.body)), LEVEL),
        )
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


def untracked(url: str) -> str:
    """The URL without the parameters that Gossamer ignores too, so that all fetch each page once."""
    base, mark, query = url.partition("?")
    if not mark:
        return url
    kept = [part for part in query.split("&") if not part.startswith(TRACKING)]
    return f"{base}?{'&'.join(kept)}" if kept else base


def told() -> tuple[str, Seeds]:
    """The folder and the seeds of the command line."""
    folder, file = sys.argv[1:3]
    urls = Path(file).read_text().split()
    return folder, Seeds(urls, frozenset(urlsplit(url).netloc for url in urls))
