"""The vectors of the search index in SQLite: all passages of a page are one value, a byte for each dimension.

They are compared here and not by an extension of SQLite, because many Pythons cannot load extensions.
"""

import asyncio
from array import array
from collections.abc import Sequence
from heapq import nlargest
from typing import Any, Final

from sqlalchemy import text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search.search_document import SearchQuery
from gossamer.state.search.search_index_sqlite import to_filter
from gossamer.state.search.search_rows import MAX_EMBEDDED
from gossamer.web.search.vectors import NearestPassage, Vector

MAX_COMPARED_BYTES: Final = 256_000_000  # of vectors, newest pages first; a second or two
CHUNK_BYTES: Final = 8_000_000

IS_THERE: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'search_vectors'"
CREATE: Final = (
    """
CREATE TABLE IF NOT EXISTS search_vectors (
    page_id INTEGER PRIMARY KEY REFERENCES search_pages (id) ON DELETE CASCADE,
    space TEXT NOT NULL,
    vectors BLOB NOT NULL)""",
)
_PUT: Final = """
INSERT INTO search_vectors (page_id, space, vectors) SELECT id, ?, ? FROM search_pages WHERE id = ?
ON CONFLICT (page_id) DO UPDATE SET space = excluded.space, vectors = excluded.vectors"""
_NEWEST: Final = text(
    "SELECT v.page_id, v.vectors FROM search_words w"
    " JOIN search_pages p ON p.id = w.rowid JOIN search_vectors v ON v.page_id = w.rowid"
    " WHERE w.search_words MATCH :sought AND w.rowid < :before AND p.tenant_id IN (:tenant, :other)"
    " AND coalesce(p.published_at, p.seen_at) >= :since AND v.space = :space"
    " ORDER BY w.rowid DESC LIMIT :most"
)
_END: Final = 2**63 - 1  # beyond all ids


async def put(connection: AsyncConnection, space: str, pages: Sequence[tuple[int, Sequence[Vector]]]) -> None:
    rows = [(space, b"".join(map(_pack, vectors)), page) for page, vectors in pages]
    await connection.exec_driver_sql(_PUT, rows)


async def nearest(
    connection: AsyncConnection, query: SearchQuery, space: str, vector: Vector, least: float, most: int
) -> list[NearestPassage]:
    """The nearest pages, best first. Vectors are compared in chunks, so that memory is bounded."""
    found: list[NearestPassage] = []
    before, compared = _END, 0
    while compared < MAX_COMPARED_BYTES:
        parameters = {
            "sought": to_filter(query),
            "before": before,
            "tenant": query.tenants[0],
            "other": query.tenants[-1],
            "since": query.since,
            "space": space,
            "most": max(1, CHUNK_BYTES // (MAX_EMBEDDED * len(vector))),
        }
        rows = (await connection.execute(_NEWEST, parameters)).all()
        if not rows:
            break
        before = rows[-1][0]
        compared += sum(len(packed) for _, packed in rows)
        found += await asyncio.to_thread(_compare, rows, vector, least, most)
        found = nlargest(most, found, key=lambda near: (near.similarity, near.page))
    return found


def _pack(vector: Vector) -> bytes:
    """Scale to what a byte holds. The length is lost, which is one anyway."""
    scale = 127 / max(map(abs, vector))
    return array("b", [round(value * scale) for value in vector]).tobytes()


def _compare(rows: Sequence[Any], vector: Vector, least: float, most: int) -> list[NearestPassage]:
    """The nearest passage of each of the nearest pages."""
    import numpy as np  # an extra

    packed = np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(-1, len(vector))
    passages = packed.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", passages, passages))
    similarities = passages @ np.asarray(vector, np.float32) / lengths
    firsts = np.cumsum([0, *(len(vectors) // len(vector) for _, vectors in rows)])  # of each page
    near = np.flatnonzero(similarities >= least)
    found: dict[int, NearestPassage] = {}
    for place in near[np.argsort(-similarities[near])].tolist():
        row = int(np.searchsorted(firsts, place, "right")) - 1
        page = rows[row][0]
        found.setdefault(page, NearestPassage(page, place - int(firsts[row]), float(similarities[place])))
        if len(found) == most:
            break
    return list(found.values())
