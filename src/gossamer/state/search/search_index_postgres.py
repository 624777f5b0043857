"""The terms of the search index in PostgreSQL: a tsvector for each page, built here and not by its parser.

Facets begin with @, and what a page is about is repeated with #; no word of a page begins so. One facet says
in which run of ids a page is, so that the newest are found without reading all pages that have a word: the
index gives all at once, and in no order.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search.search_document import CandidateFilter, IndexEntry, IndexRow, SearchQuery
from gossamer.web.search.question import Phrase
from gossamer.web.search.terms import Term

MAX_ABOUT_PLACES: Final = 1_000  # of the terms that a page is about
MANY_PAGES: Final = 50  # from this number on, words are merged into the index at once
RUN_BITS: Final = 15  # of an id, that pages of one run differ in
MAX_RUNS: Final = 8  # that a search names: each is looked up for every page that has the words
POSITION_GAP: Final = 8  # positions between title, description and text, so that no phrase spans two

_KINDS: Final = {**dict.fromkeys(IndexRow._fields, "text"), "seen_at": "bigint", "published_at": "bigint"}
_ARRAYS: Final = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(_KINDS.values(), 1))
_NAMES: Final = ", ".join(_KINDS)
_ADD: Final = f"""
WITH given AS (
    SELECT * FROM unnest({_ARRAYS}, ${len(_KINDS) + 1}::text[], ${len(_KINDS) + 2}::text[])
        AS given({_NAMES}, words, weights)
), added AS (
    INSERT INTO search_pages ({_NAMES}) SELECT {_NAMES} FROM given RETURNING id, name
), weighed AS (
    INSERT INTO search_weights (id, weights)
    SELECT added.id, given.weights FROM added JOIN given ON given.name = added.name
)
INSERT INTO search_words (id, words)
SELECT added.id, given.words::tsvector || ('@r' || (added.id >> {RUN_BITS}))::tsvector
FROM added JOIN given ON given.name = added.name"""  # noqa: S608
ADD_WORDS: Final = f"""
INSERT INTO search_words (id, words)
SELECT id, words::tsvector || ('@r' || (id >> {RUN_BITS}))::tsvector
FROM unnest($1::bigint[], $2::text[]) AS given(id, words)"""  # noqa: S608
ADD_WEIGHTS: Final = """
INSERT INTO search_weights (id, weights)
SELECT id, weights FROM unnest($1::bigint[], $2::text[]) AS given(id, weights)"""
# Every search scans the pending list from end to end, so it is kept short. Merging many pages at once takes
# much less time than merging bit by bit.
_LEAVE_LITTLE: Final = "SET LOCAL gin_pending_list_limit = '256kB'"
_GATHER: Final = "SET LOCAL gin_pending_list_limit = '64MB'"
_SORT_IN: Final = "SELECT gin_clean_pending_list('ix_search_words_words')"
# Pages of earlier releases name no run. If the oldest of the newest does, all of them do.
_NEWEST: Final = text(
    "SELECT (SELECT max(id) FROM search_words),"
    " (SELECT words @@ CAST('@r' || (id >> CAST(:bits AS integer)) AS tsquery) FROM search_words"
    " WHERE id > :after ORDER BY id LIMIT 1)"
)
_REMOVE: Final = text("DELETE FROM search_words WHERE id = ANY(:ids)")
# If more pages match than are ranked, which of them are is up to the database: sorting would read them all.
# The words and the filter are conditions of their own, the words first: the index then looks only at pages
# that have the words. In one condition, it begins with the rarest part, and tests each page of the newest.
_FIND: Final = text(
    "SELECT found.id, r.weights FROM ("
    " SELECT p.id FROM search_words w JOIN search_pages p ON p.id = w.id"
    " WHERE w.words @@ CAST(CAST(:sought AS text) AS tsquery)"
    " AND w.words @@ CAST(CAST(:within AS text) AS tsquery)"
    " AND p.tenant_id IN (:tenant, :other) AND coalesce(p.published_at, p.seen_at) >= :since"
    " LIMIT :most"
    ") AS found LEFT JOIN search_weights r ON r.id = found.id"
)


async def add(connection: AsyncConnection, entries: Sequence[IndexEntry]) -> None:
    """Add pages, none of which is in the index."""
    columns = [list(column) for column in zip(*(entry.row for entry in entries), strict=True)]
    vectors = await asyncio.to_thread(_vectors, entries)
    many = len(entries) >= MANY_PAGES
    await connection.exec_driver_sql(_GATHER if many else _LEAVE_LITTLE)
    weights = [entry.terms.weights for entry in entries]
    await connection.exec_driver_sql(_ADD, (*columns, vectors, weights))
    if many:
        await connection.exec_driver_sql(_SORT_IN)


def word_rows(numbered: Sequence[tuple[int, IndexEntry]]) -> list[str]:
    """The words that `ADD_WORDS` takes beside the ids of the pages."""
    return _vectors([entry for _, entry in numbered])


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, {"ids": list(ids)})


async def find(
    connection: AsyncConnection, query: SearchQuery, which: CandidateFilter
) -> list[tuple[int, str | None]]:
    """Return the ids and the weights of matching pages."""
    parameters = {
        "sought": _to_tsquery(query.terms, which),
        "within": to_filter(query, *_newest(await _runs(connection, which.after))),
        "tenant": query.tenants[0],
        "other": query.tenants[-1],
        "since": query.since,
        "most": which.most,
    }
    return [(page, weights) for page, weights in await connection.execute(_FIND, parameters)]


async def _runs(connection: AsyncConnection, after: int) -> range:
    """The runs of the pages with higher ids; none if that are too many, or all pages."""
    if not after:
        return range(0)
    last, have_runs = (await connection.execute(_NEWEST, {"after": after, "bits": RUN_BITS})).one()
    runs = range(after >> RUN_BITS, ((last or 0) >> RUN_BITS) + 1)
    return runs if have_runs and len(runs) <= MAX_RUNS else range(0)


def _vectors(entries: Sequence[IndexEntry]) -> list[str]:
    return [_to_tsvector(entry) for entry in entries]


def _to_tsvector(entry: IndexEntry) -> str:
    terms = entry.terms
    places: defaultdict[str, list[str]] = defaultdict(list)
    at = 1
    for weight, field in (("A", terms.title), ("B", terms.about[:MAX_ABOUT_PLACES]), ("", terms.body)):
        for place, word in enumerate(field, at):
            places[word].append(f"{place}{weight}")
        at += len(field) + POSITION_GAP
    lexemes = [f"'{word}':{','.join(found)}" for word, found in places.items()]
    lexemes += [f"'{form}'" for form in terms.forms if form not in places]
    lexemes += [f"'@{facet}'" for facet in entry.facets]
    return " ".join([*lexemes, *(f"'#{word}'" for word in {*terms.title, *terms.about})])


def _to_tsquery(terms: Sequence[Term], which: CandidateFilter) -> str:
    required = {number for number, term in enumerate(terms) if term.is_firm}
    choices = (_all(terms, {*choice, *required}, which) for choice in which.choices)
    return " | ".join(f"({one})" for one in choices)


def to_filter(query: SearchQuery, *wanted: str) -> str:
    """The facets of a query and what it does not want, beside what is wanted."""
    facets = [_any([(f"@{facet}",) for facet in choice]) for choice in query.facets]
    unwanted = [f"!{_any(query.none_of)}"] if query.none_of else []
    return " & ".join([*facets, *wanted, *unwanted])


def _newest(runs: range) -> list[str]:
    return [_any([(f"@r{run}",) for run in runs])] if runs else []


def _all(terms: Sequence[Term], numbers: Iterable[int], which: CandidateFilter) -> str:
    parts = []
    for number in sorted(numbers):
        phrases = terms[number].sought
        if not which.is_about or any(len(phrase) > 1 for phrase in phrases):
            parts.append(_any(phrases))
        if which.is_about:
            parts.append(_any_order(phrases))
    return " & ".join(parts)


def _any(phrases: Iterable[Phrase]) -> str:
    return "(" + " | ".join(" <-> ".join(map(_written, phrase)) for phrase in phrases) + ")"


def _any_order(phrases: Iterable[Phrase]) -> str:
    """Match the words of a phrase in any order. Without positions, no row has to be read. Pages of earlier
    releases have the words of their titles with =."""
    about = (
        " & ".join(f"({_written(f'#{word}')} | {_written(f'={word}')})" for word in one) for one in phrases
    )
    return "(" + " | ".join(f"({one})" for one in about) + ")"


def _written(word: str) -> str:
    return f"'{word[:-1]}':*" if word.endswith("*") else f"'{word}'"
