"""The terms of the search index in SQLite: an FTS5 table whose rows have the ids of their pages.

The column `description` has what a page is about: its description, its headings, the words of its URL, and
the terms that its text has most.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.search.search_document import CandidateFilter, IndexEntry, IndexRow, SearchQuery
from gossamer.web.search.question import Phrase
from gossamer.web.search.terms import Term

MAX_SCANNED: Final = 20_000  # of the matching pages, to check their age

_LAST: Final = "SELECT coalesce(max(id), 0) FROM search_pages"
_COLUMNS: Final = IndexRow._fields
_ADD: Final = f"INSERT INTO search_pages (id, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"  # noqa: S608
ADD_WORDS: Final = "INSERT INTO search_words (rowid, facets, title, description, body) VALUES (?, ?, ?, ?, ?)"
ADD_WEIGHTS: Final = "INSERT INTO search_weights (id, weights) VALUES (?, ?)"
_REMOVE: Final = text("DELETE FROM search_words WHERE rowid = :id")
# bm25() is not used, because it counts all rows with a word or a facet.
_FIND: Final = text(
    "SELECT p.id, r.weights"
    " FROM search_words w JOIN search_pages p ON p.id = w.rowid LEFT JOIN search_weights r ON r.id = p.id"
    " WHERE w.search_words MATCH :sought AND w.rowid > :after AND p.tenant_id IN (:tenant, :other)"
    " ORDER BY w.rowid DESC LIMIT :most"
)
# If only recent pages are wanted, nearly all matches may be too old, so only the newest are checked.
_FIND_RECENT: Final = text(
    "SELECT p.id, r.weights FROM ("
    " SELECT rowid AS page FROM search_words WHERE search_words MATCH :sought AND rowid > :after"
    " ORDER BY rowid DESC LIMIT :looked_at"
    ") AS newest JOIN search_pages p ON p.id = newest.page LEFT JOIN search_weights r ON r.id = p.id"
    " WHERE p.tenant_id IN (:tenant, :other) AND coalesce(p.published_at, p.seen_at) >= :since"
    " ORDER BY p.id DESC LIMIT :most"
)
_ANYWHERE: Final = "{title description body}"
_ABOUT: Final = "{title description}"


async def add(connection: AsyncConnection, entries: Sequence[IndexEntry]) -> None:
    """Add pages, none of which is in the index. There is one writer, so the next ids are known."""
    last = (await connection.exec_driver_sql(_LAST)).scalar_one()
    numbered = list(enumerate(entries, last + 1))
    await connection.exec_driver_sql(_ADD, [(page, *entry.row) for page, entry in numbered])
    await connection.exec_driver_sql(ADD_WORDS, word_rows(numbered))
    await connection.exec_driver_sql(ADD_WEIGHTS, [(page, entry.terms.weights) for page, entry in numbered])


def word_rows(numbered: Iterable[tuple[int, IndexEntry]]) -> list[tuple[int | str, ...]]:
    """What `ADD_WORDS` takes, for pages by their ids."""
    return [(page, *_words(entry)) for page, entry in numbered]


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> None:
    await connection.execute(_REMOVE, [{"id": page} for page in ids])


async def find(
    connection: AsyncConnection, query: SearchQuery, which: CandidateFilter
) -> list[tuple[int, str | None]]:
    """Return the ids and the weights of matching pages, newest first."""
    parameters = {
        "sought": _to_match(query, which),
        "tenant": query.tenants[0],
        "other": query.tenants[-1],
        "most": which.most,
        "after": which.after,
    }
    if query.since:
        parameters |= {"since": query.since, "looked_at": MAX_SCANNED}
    found = await connection.execute(_FIND_RECENT if query.since else _FIND, parameters)
    return [(page, weights) for page, weights in found]


def _words(entry: IndexEntry) -> Iterable[str]:
    terms = entry.terms
    fields = (entry.facets, terms.title, terms.about, [*terms.body, *terms.forms])
    return (" ".join(field) for field in fields)


def _to_match(query: SearchQuery, which: CandidateFilter) -> str:
    """Write a query for FTS5. Our words are letters, digits and marks in quotes, so none is an operator.

    The rarest words stand first: FTS5 goes through the lists of pages in this order, and skips in the later
    ones what the first do not have.
    """
    required = {number for number, term in enumerate(query.terms) if term.is_firm}
    choices = (_all(query.terms, {*choice, *required}, which) for choice in which.choices)
    return to_filter(query, " OR ".join(f"({one})" for one in choices))


def to_filter(query: SearchQuery, *wanted: str) -> str:
    """The facets of a query and what it does not want, beside what is wanted."""
    facets = [f"facets : ({_any([(facet,) for facet in choice])})" for choice in query.facets]
    written = " AND ".join(f"({one})" for one in (*wanted, *facets))
    return f"({written}) NOT ({_ANYWHERE} : ({_any(query.none_of)}))" if query.none_of else written


def _all(terms: Sequence[Term], numbers: Iterable[int], which: CandidateFilter) -> str:
    chosen = sorted((terms[number] for number in numbers), key=lambda term: -term.weight)
    parts = []
    for term in chosen:
        if not which.is_about or any(len(phrase) > 1 for phrase in term.phrases):
            parts.append(f"{_ANYWHERE} : ({_any(term.sought)})")
        if which.is_about:
            parts.append(f"{_ABOUT} : ({_any_order(term.sought)})")
    return " AND ".join(f"({part})" for part in parts)


def _any(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(_written(" ".join(phrase)) for phrase in phrases)


def _any_order(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(f"({' AND '.join(map(_written, phrase))})" for phrase in phrases)


def _written(said: str) -> str:
    return f'"{said[:-1]}" *' if said.endswith("*") else f'"{said}"'
