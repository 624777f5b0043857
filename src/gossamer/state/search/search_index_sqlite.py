"""The words of the search index in SQLite: an FTS5 table whose rows have the ids of their pages."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.search.search_document import IndexEntry, IndexRow, SearchQuery
from gossamer.web.search.question import Phrase
from gossamer.web.search.relevance import relevance

MAX_RANKED: Final = 500  # of the matching pages, newest first
MAX_RANKED_BY_TITLE: Final = 200  # of the pages that match by title
MAX_SCANNED: Final = 20_000  # of the matching pages, to check their age

_LAST: Final = "SELECT coalesce(max(id), 0) FROM search_pages"
_COLUMNS: Final = IndexRow._fields
_ADD: Final = f"INSERT INTO search_pages (id, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"  # noqa: S608
ADD_WORDS: Final = "INSERT INTO search_words (rowid, facets, title, description, body) VALUES (?, ?, ?, ?, ?)"
_REMOVE: Final = text("DELETE FROM search_words WHERE rowid = :id")
# bm25() is not used, because it counts all rows with a word or a facet.
_FIND: Final = text(
    "SELECT p.id, w.title, w.description, w.body"
    " FROM search_words w JOIN search_pages p ON p.id = w.rowid"
    " WHERE w.search_words MATCH :sought AND p.tenant_id IN (:tenant, :other)"
    " AND coalesce(p.published_at, p.seen_at) >= :since"
    " ORDER BY w.rowid DESC LIMIT :most"
)
# If only recent pages are wanted, nearly all matches may be too old, so only the newest are checked.
_FIND_RECENT: Final = text(
    "SELECT p.id, w.title, w.description, w.body FROM ("
    " SELECT rowid AS page FROM search_words WHERE search_words MATCH :sought"
    " ORDER BY rowid DESC LIMIT :looked_at"
    ") AS newest JOIN search_pages p ON p.id = newest.page JOIN search_words w ON w.rowid = p.id"
    " WHERE p.tenant_id IN (:tenant, :other) AND coalesce(p.published_at, p.seen_at) >= :since"
    " ORDER BY p.id DESC LIMIT :most"
)
_WORDS: Final = "{title description body}"


async def add(connection: AsyncConnection, entries: Sequence[IndexEntry]) -> None:
    """Add pages, none of which is in the index. There is one writer, so the next ids are known."""
    last = (await connection.exec_driver_sql(_LAST)).scalar_one()
    numbered = list(enumerate(entries, last + 1))
    await connection.exec_driver_sql(_ADD, [(page, *entry.row) for page, entry in numbered])
    await connection.exec_driver_sql(ADD_WORDS, word_rows(numbered))


def word_rows(numbered: Iterable[tuple[int, IndexEntry]]) -> list[tuple[int | str, ...]]:
    """What `ADD_WORDS` takes, for pages by their ids."""
    return [(page, *_words(entry)) for page, entry in numbered]


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, [{"id": page} for page in ids])


async def find(connection: AsyncConnection, query: SearchQuery, *, titled: bool) -> list[int]:
    """Return the ids of matching pages, best first; with `titled`, the title must have all words."""
    parameters = {
        "sought": to_match(query, titled=titled),
        "tenant": query.tenants[0],
        "other": query.tenants[-1],
        "since": query.since,
        "most": MAX_RANKED_BY_TITLE if titled else MAX_RANKED,
    }
    if query.since:
        found = await connection.execute(_FIND_RECENT, {**parameters, "looked_at": MAX_SCANNED})
    else:
        found = await connection.execute(_FIND, parameters)
    rows = found.all()
    return (await asyncio.to_thread(_rank, rows, query))[: query.limit]


def _rank(rows: Sequence[Any], query: SearchQuery) -> list[int]:
    phrases = [phrase for choice in query.all_of for phrase in choice]
    scores: dict[int, float] = {
        page: relevance(title, description, body, phrases) for page, title, description, body in rows
    }
    return sorted(scores, key=lambda page: (-scores[page], -page))


def _words(entry: IndexEntry) -> Iterable[str]:
    return (" ".join(part) for part in (entry.facets, entry.title, entry.description, entry.body))


def to_match(query: SearchQuery, *, titled: bool) -> str:
    """Write a query for FTS5. Our words are letters, digits and marks in quotes, so none is an operator."""
    wanted = [f"facets : ({_any([(facet,) for facet in choice])})" for choice in query.facets]
    wanted += [f"{'title' if titled else _WORDS} : ({_any(choice)})" for choice in query.all_of]
    written = " AND ".join(f"({one})" for one in wanted)
    return f"({written}) NOT ({_WORDS} : ({_any(query.none_of)}))" if query.none_of else written


def _any(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(f'"{" ".join(phrase)}"' for phrase in phrases)
