"""Search vectors: the passages of pages as vectors, so that a search finds them by meaning.

Only servers with an embedding model have the table; it is made when it is first needed, and its rows go with
their pages. A page without a row for the present model is one that waits: nothing else is a queue, so pages
that were read before, and pages of another model, wait as well. Backups leave vectors out.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.search import search_rows, search_vectors_postgres, search_vectors_sqlite
from gossamer.state.search.search_document import SearchQuery
from gossamer.state.search.search_rows import FoundRow
from gossamer.web.search.vectors import NearestPages, NearestPassage, Vector

MAX_NEAR: Final = 100  # pages that a question is compared with by their words too
_PASSAGES: Final = 3  # grows whenever passages are cut or chosen in another way
SERVICE: Final = "search by meaning"
NO_PGVECTOR: Final = (
    "PostgreSQL needs the extension pgvector 0.7 or newer; install it, and run CREATE EXTENSION vector"
)

_WAITING: Final = text(
    "SELECT p.id FROM search_pages p WHERE p.id > :after AND p.id <= :until AND NOT EXISTS"
    " (SELECT 1 FROM search_vectors v WHERE v.page_id = p.id AND v.space = :space)"
    " ORDER BY p.id LIMIT :most"
)
_LAST: Final = text("SELECT max(id) FROM search_pages")
_COUNT: Final = text(
    "SELECT (SELECT count(*) FROM search_pages), (SELECT count(*) FROM search_vectors WHERE space = :space)"
)


class EmbeddedPages(NamedTuple):
    pages: int  # in the search index
    embedded: int  # of them, those that have vectors


def space_of(model: str, dimensions: int) -> str:
    """The name of what vectors have in common that can be compared."""
    return f"{model}/{dimensions}/{_PASSAGES}"


class SearchVectors:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_there = False

    async def prepare(self) -> None:
        """Make the table. Raises `Unavailable` where the database cannot have it."""
        if self._is_there:
            return
        dialect = self._dialect
        async with self._database.read() as connection:
            self._is_there = bool(await connection.scalar(text(dialect.IS_THERE)))
        if not self._is_there:
            try:
                async with self._database.write() as connection:
                    await self._database.lock_out(connection)
                    for statement in dialect.CREATE:
                        await connection.exec_driver_sql(statement)
            except DBAPIError as error:
                raise Unavailable(SERVICE, NO_PGVECTOR) from error
            self._is_there = True

    async def last_page(self) -> int:
        """The highest id of a page."""
        async with self._database.read() as connection:
            return int(await connection.scalar(_LAST) or 0)

    async def waiting(self, space: str, after: int, until: int, most: int) -> list[FoundRow]:
        """The first pages with ids in this range that have no vectors in this space."""
        asked = {"space": space, "after": after, "until": until, "most": most}
        async with self._database.read() as connection:
            return await search_rows.rows(connection, (await connection.scalars(_WAITING, asked)).all())

    async def count(self, space: str) -> EmbeddedPages:
        async with self._database.scan() as connection:
            pages, embedded = (await connection.execute(_COUNT, {"space": space})).one()
        return EmbeddedPages(pages, embedded)

    async def put(self, space: str, pages: Sequence[tuple[int, Sequence[Vector]]]) -> None:
        """Store the vectors of pages, by id; pages that are gone are left out."""
        async with self._database.write() as connection:
            await self._dialect.put(connection, space, pages)

    async def nearest(self, query: SearchQuery, space: str, vector: Vector, least: float) -> NearestPages:
        """The pages nearest to a vector, of those that have a similarity of at least `least`."""
        await self.prepare()
        async with self._database.scan() as connection:
            near: list[NearestPassage] = await self._dialect.nearest(
                connection, query, space, vector, least, MAX_NEAR
            )
        is_full = len(near) == MAX_NEAR
        return NearestPages(near, near[-1].similarity if is_full else least)

    @property
    def _dialect(self) -> ModuleType:
        return search_vectors_sqlite if self._database.dialect == "sqlite" else search_vectors_postgres
