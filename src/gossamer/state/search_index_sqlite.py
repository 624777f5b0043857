"""The words of the search index in SQLite: an FTS5 table whose rows have the ids of their pages."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.search_document import Entry, Row, Sought
from gossamer.web.question import Phrase
from gossamer.web.relevance import relevance

MOST_RANKED: Final = 500  # the newest that match,
MOST_TITLED: Final = 200  # and of those by their title

_LAST: Final = "SELECT coalesce(max(id), 0) FROM search_pages"
_ADD: Final = f"INSERT INTO search_pages (id, {', '.join(Row._fields)}) VALUES (?{', ?' * len(Row._fields)})"  # noqa: S608
_ADD_WORDS: Final = (
    "INSERT INTO search_words (rowid, facets, title, description, body) VALUES (?, ?, ?, ?, ?)"
)
_REMOVE: Final = text("DELETE FROM search_words WHERE rowid = :id")
# Not ranked by bm25(): it goes through all rows that have a word, or a facet, to know how many they are.
_FIND: Final = text(
    "SELECT p.id, w.title, w.description, w.body"
    " FROM search_words w JOIN search_pages p ON p.id = w.rowid"
    " WHERE w.search_words MATCH :sought AND p.tenant_id IN (:tenant, :other)"
    " AND coalesce(p.published_at, p.seen_at) >= :since"
    " ORDER BY w.rowid DESC LIMIT :most"
)
_WORDS: Final = "{title description body}"


async def add(connection: AsyncConnection, entries: Sequence[Entry]) -> None:
    """None of these pages is there. Who writes is alone, so the next ids are known."""
    last = (await connection.exec_driver_sql(_LAST)).scalar_one()
    numbered = list(enumerate(entries, last + 1))
    await connection.exec_driver_sql(_ADD, [(page, *entry.row) for page, entry in numbered])
    await connection.exec_driver_sql(_ADD_WORDS, [(page, *_words(entry)) for page, entry in numbered])


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, [{"id": page} for page in ids])


async def find(connection: AsyncConnection, sought: Sought, *, titled: bool) -> list[int]:
    """The ids of what matches, the best first; `titled`: only where the title has all of the words."""
    parameters = {
        "sought": _written(sought, titled=titled),
        "tenant": sought.tenants[0],
        "other": sought.tenants[-1],
        "since": sought.since,
        "most": MOST_TITLED if titled else MOST_RANKED,
    }
    rows = (await connection.execute(_FIND, parameters)).all()
    return (await asyncio.to_thread(_ranked, rows, sought))[: sought.limit]


def _ranked(rows: Sequence[Any], sought: Sought) -> list[int]:
    phrases = [phrase for choice in sought.all_of for phrase in choice]
    scores: dict[int, float] = {
        page: relevance(title, description, body, phrases) for page, title, description, body in rows
    }
    return sorted(scores, key=lambda page: (-scores[page], -page))


def _words(entry: Entry) -> Iterable[str]:
    return (" ".join(part) for part in (entry.facets, entry.title, entry.description, entry.body))


def _written(sought: Sought, *, titled: bool) -> str:
    """In FTS5's own words. Ours are letters, digits and marks, and stand in quotes: none means anything."""
    wanted = [f"facets : ({_any([(facet,) for facet in choice])})" for choice in sought.facets]
    wanted += [f"{'title' if titled else _WORDS} : ({_any(choice)})" for choice in sought.all_of]
    written = " AND ".join(f"({one})" for one in wanted)
    return f"({written}) NOT ({_WORDS} : ({_any(sought.none_of)}))" if sought.none_of else written


def _any(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(f'"{" ".join(phrase)}"' for phrase in phrases)
