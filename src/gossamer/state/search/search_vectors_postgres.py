"""The vectors of the search index in PostgreSQL: an array of pgvector's halfvec for each page.

A tenant's vectors are compared one by one, and no index guesses: with one for all tenants, the nearest pages
may all be other tenants'.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search.search_document import SearchQuery
from gossamer.state.search.search_index_postgres import to_filter
from gossamer.web.search.vectors import NearestPassage, Vector

MAX_COMPARED: Final = 100_000  # pages, newest first

IS_THERE: Final = "SELECT to_regclass('search_vectors') IS NOT NULL"
CREATE: Final = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    """
CREATE TABLE IF NOT EXISTS search_vectors (
    page_id BIGINT PRIMARY KEY REFERENCES search_pages (id) ON DELETE CASCADE,
    space TEXT NOT NULL,
    vectors halfvec[] NOT NULL)""",
    "ALTER TABLE search_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL",  # they do not get smaller
)
_PUT: Final = """
INSERT INTO search_vectors (page_id, space, vectors)
SELECT pages.id, $1::text, given.vectors::halfvec[]
FROM unnest($2::bigint[], $3::text[]) AS given(id, vectors) JOIN search_pages pages ON pages.id = given.id
ORDER BY pages.id FOR KEY SHARE OF pages
ON CONFLICT (page_id) DO UPDATE SET space = excluded.space, vectors = excluded.vectors"""
_NEAREST: Final = text(
    "WITH compared AS ("
    " SELECT v.page_id, v.vectors FROM search_words w"
    " JOIN search_pages p ON p.id = w.id JOIN search_vectors v ON v.page_id = w.id"
    " WHERE w.words @@ CAST(CAST(:sought AS text) AS tsquery) AND p.tenant_id IN (:tenant, :other)"
    " AND coalesce(p.published_at, p.seen_at) >= :since AND v.space = :space"
    " ORDER BY w.id DESC LIMIT :most"
    ") SELECT compared.page_id, best.place - 1, 1 - best.distance FROM compared, LATERAL ("
    " SELECT place, vector <=> CAST(CAST(:vector AS text) AS halfvec) AS distance"
    " FROM unnest(compared.vectors) WITH ORDINALITY AS passages(vector, place) ORDER BY distance LIMIT 1"
    ") AS best WHERE best.distance <= 1 - CAST(:least AS double precision)"
    " ORDER BY best.distance, compared.page_id DESC LIMIT :limit"
)


async def put(connection: AsyncConnection, space: str, pages: Sequence[tuple[int, Sequence[Vector]]]) -> None:
    ids = [page for page, _ in pages]
    arrays = [_array(vectors) for _, vectors in pages]
    await connection.exec_driver_sql(_PUT, (space, ids, arrays))


async def nearest(
    connection: AsyncConnection, query: SearchQuery, space: str, vector: Vector, least: float, most: int
) -> list[NearestPassage]:
    """The nearest pages, best first."""
    parameters = {
        "sought": to_filter(query),
        "tenant": query.tenants[0],
        "other": query.tenants[-1],
        "since": query.since,
        "space": space,
        "vector": _text(vector),
        "least": least,
        "most": MAX_COMPARED,
        "limit": most,
    }
    return [NearestPassage(*row) for row in await connection.execute(_NEAREST, parameters)]


def _text(vector: Vector) -> str:
    return f"[{','.join(f'{value:.6g}' for value in vector)}]"


def _array(vectors: Sequence[Vector]) -> str:
    return "{" + ",".join(f'"{_text(vector)}"' for vector in vectors) + "}"
