"""The words of the search index in PostgreSQL: a tsvector for each page, built here and not by its parser."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.search.search_document import IndexEntry, IndexRow, SearchQuery
from gossamer.web.search.question import Phrase

MAX_RANKED: Final = 1_000  # of the matching pages; the others are not considered
MANY_PAGES: Final = 50  # from this number on, words are merged into the index at once
POSITION_GAP: Final = 8  # positions between title, description and text, so that no phrase spans two

_KINDS: Final = {**dict.fromkeys(IndexRow._fields, "text"), "seen_at": "bigint", "published_at": "bigint"}
_ARRAYS: Final = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(_KINDS.values(), 1))
_NAMES: Final = ", ".join(_KINDS)
_ADD: Final = f"""
WITH given AS (
    SELECT * FROM unnest({_ARRAYS}, ${len(_KINDS) + 1}::text[]) AS given({_NAMES}, words)
), added AS (
    INSERT INTO search_pages ({_NAMES}) SELECT {_NAMES} FROM given RETURNING id, name
)
INSERT INTO search_words (id, words)
SELECT added.id, given.words::tsvector FROM added JOIN given ON given.name = added.name"""  # noqa: S608
ADD_WORDS: Final = """
INSERT INTO search_words (id, words)
SELECT id, words::tsvector FROM unnest($1::bigint[], $2::text[]) AS given(id, words)"""
# Every search scans the pending list from end to end, so it is kept short. Merging many pages at once takes
# much less time than merging bit by bit.
_LEAVE_LITTLE: Final = "SET LOCAL gin_pending_list_limit = '256kB'"
_GATHER: Final = "SET LOCAL gin_pending_list_limit = '64MB'"
_SORT_IN: Final = "SELECT gin_clean_pending_list('ix_search_words_words')"
_REMOVE: Final = text("DELETE FROM search_words WHERE id = ANY(:ids)")
# Weights of D, C, B and A; 1 means that long texts count less.
_FIND: Final = text(
    "SELECT id FROM ("
    " SELECT p.id, w.words FROM search_words w JOIN search_pages p ON p.id = w.id"
    " WHERE w.words @@ CAST(CAST(:sought AS text) AS tsquery) AND p.tenant_id IN (:tenant, :other)"
    " AND coalesce(p.published_at, p.seen_at) >= :since"
    " LIMIT :most"
    ") AS found"
    " ORDER BY ts_rank_cd('{0.1, 0.2, 0.4, 1.0}', words, CAST(CAST(:wanted AS text) AS tsquery), 1) DESC,"
    " id DESC LIMIT :limit"
)


async def add(connection: AsyncConnection, entries: Sequence[IndexEntry]) -> None:
    """Add pages, none of which is in the index."""
    columns = [list(column) for column in zip(*(entry.row for entry in entries), strict=True)]
    vectors = await asyncio.to_thread(_vectors, entries)
    many = len(entries) >= MANY_PAGES
    await connection.exec_driver_sql(_GATHER if many else _LEAVE_LITTLE)
    await connection.exec_driver_sql(_ADD, (*columns, vectors))
    if many:
        await connection.exec_driver_sql(_SORT_IN)


def word_rows(numbered: Sequence[tuple[int, IndexEntry]]) -> list[str]:
    """The words that `ADD_WORDS` takes beside the ids of the pages."""
    return _vectors([entry for _, entry in numbered])


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, {"ids": list(ids)})


async def find(connection: AsyncConnection, query: SearchQuery, *, titled: bool) -> list[int]:
    """Return the ids of matching pages, best first; with `titled`, the title must have all words."""
    wanted = " & ".join(_any(choice) for choice in query.all_of)
    parameters = {
        "sought": _to_tsquery(query, wanted, titled=titled),
        "wanted": wanted,
        "tenant": query.tenants[0],
        "other": query.tenants[-1],
        "since": query.since,
        "most": MAX_RANKED,
        "limit": query.limit,
    }
    return [page for (page,) in await connection.execute(_FIND, parameters)]


def _vectors(entries: Sequence[IndexEntry]) -> list[str]:
    return [_to_tsvector(entry) for entry in entries]


def _to_tsvector(entry: IndexEntry) -> str:
    """Build a tsvector. Facets begin with @, and title words are repeated with =; no word of a page can."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    at = 1
    for weight, words in (("A", entry.title), ("B", entry.description), ("", entry.body)):
        for place, word in enumerate(words, at):
            places[word].append(f"{place}{weight}")
        at += len(words) + POSITION_GAP
    lexemes = [f"'{word}':{','.join(found)}" for word, found in places.items()]
    lexemes += [f"'@{facet}'" for facet in entry.facets]
    return " ".join([*lexemes, *(f"'={word}'" for word in set(entry.title))])


def to_filter(query: SearchQuery) -> str:
    """The tsquery of all pages that a search may find, whatever words it is about."""
    parts = [_any([(f"@{facet}",) for facet in choice]) for choice in query.facets]
    if query.none_of:
        parts.append(f"!{_any(query.none_of)}")
    return " & ".join(parts)


def _to_tsquery(query: SearchQuery, wanted: str, *, titled: bool) -> str:
    in_title = [_in_title(choice) for choice in query.all_of] if titled else []
    return " & ".join([to_filter(query), *in_title, wanted])


def _any(phrases: Iterable[Phrase]) -> str:
    return "(" + " | ".join(" <-> ".join(f"'{word}'" for word in phrase) for phrase in phrases) + ")"


def _in_title(choice: Iterable[Phrase]) -> str:
    """Match the words of a phrase in any order. Without positions, no row has to be read."""
    return "(" + " | ".join("(" + " & ".join(f"'={word}'" for word in one) + ")" for one in choice) + ")"
