"""The words of the search index in PostgreSQL: a tsvector for each page, made here and not by its parser."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.search_document import Entry, Row, Sought
from gossamer.web.question import Phrase

MOST_RANKED: Final = 1_000  # of those that match; where there are more, not all are looked at
MANY: Final = 50  # pages whose words are sorted in at once, and not with what others added before
GAP: Final = 8  # places between title, description and text, so that no phrase goes across

_KINDS: Final = {**dict.fromkeys(Row._fields, "text"), "seen_at": "bigint", "published_at": "bigint"}
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
# What is not sorted in yet is gone through by every search, from end to end: little of it may be left behind.
# To sort in many pages at once takes much less time than bit by bit.
_LEAVE_LITTLE: Final = "SET LOCAL gin_pending_list_limit = '256kB'"
_GATHER: Final = "SET LOCAL gin_pending_list_limit = '64MB'"
_SORT_IN: Final = "SELECT gin_clean_pending_list('ix_search_words_words')"
_REMOVE: Final = text("DELETE FROM search_words WHERE id = ANY(:ids)")
# Weights of D, C, B and A; 1: long texts count for less.
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


async def add(connection: AsyncConnection, entries: Sequence[Entry]) -> None:
    """None of these pages is there."""
    columns = [list(column) for column in zip(*(entry.row for entry in entries), strict=True)]
    vectors = await asyncio.to_thread(lambda: [_vector(entry) for entry in entries])
    many = len(entries) >= MANY
    await connection.exec_driver_sql(_GATHER if many else _LEAVE_LITTLE)
    await connection.exec_driver_sql(_ADD, (*columns, vectors))
    if many:
        await connection.exec_driver_sql(_SORT_IN)


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, {"ids": list(ids)})


async def find(connection: AsyncConnection, sought: Sought, *, titled: bool) -> list[int]:
    """The ids of what matches, the best first; `titled`: only where the title has all of the words."""
    wanted = " & ".join(_any(choice) for choice in sought.all_of)
    parameters = {
        "sought": _written(sought, wanted, titled=titled),
        "wanted": wanted,
        "tenant": sought.tenants[0],
        "other": sought.tenants[-1],
        "since": sought.since,
        "most": MOST_RANKED,
        "limit": sought.limit,
    }
    return [page for (page,) in await connection.execute(_FIND, parameters)]


def _vector(entry: Entry) -> str:
    """Facets begin with @ and words of the title, a second time, with =, as no word of a page can."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    at = 1
    for weight, words in (("A", entry.title), ("B", entry.description), ("", entry.body)):
        for place, word in enumerate(words, at):
            places[word].append(f"{place}{weight}")
        at += len(words) + GAP
    lexemes = [f"'{word}':{','.join(found)}" for word, found in places.items()]
    lexemes += [f"'@{facet}'" for facet in entry.facets]
    return " ".join([*lexemes, *(f"'={word}'" for word in set(entry.title))])


def _written(sought: Sought, wanted: str, *, titled: bool) -> str:
    parts = [_any([(f"@{facet}",) for facet in choice]) for choice in sought.facets]
    if titled:
        parts += [_in_title(choice) for choice in sought.all_of]
    if sought.none_of:
        parts.append(f"!{_any(sought.none_of)}")
    return " & ".join([*parts, wanted])


def _any(phrases: Iterable[Phrase]) -> str:
    return "(" + " | ".join(" <-> ".join(f"'{word}'" for word in phrase) for phrase in phrases) + ")"


def _in_title(choice: Iterable[Phrase]) -> str:
    """The words of a phrase, in whatever order: what has no place costs no look at the row."""
    return "(" + " | ".join("(" + " & ".join(f"'={word}'" for word in one) + ")" for one in choice) + ")"
