"""The rows of the search index: pages, their words and the page count of a tenant, always changed together.

Every function needs an open transaction. The row of the tenant in `search_tenants` is locked first, so
writers for one tenant take turns, and its page count is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import ModuleType
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import search_pages, search_tenants, search_weights
from gossamer.state.search import lexicon, search_index_postgres, search_index_sqlite
from gossamer.state.search.search_document import CandidateFilter, GonePage, IndexEntry, SearchQuery
from gossamer.web.search.terms import MIN_FREE_TERMS, Standing, Term, standing

MAX_DELETED_PAGES: Final = 500  # in one statement
MAX_ABOUT: Final = 200  # of the pages that are about the terms,
MAX_MENTIONS: Final = 300  # and of those that only have them; the others are not ranked
MAX_RANKED: Final = 1_000  # of all together
MAX_QUORUM: Final = 4  # of the rarest terms, of which a page has two if it does not have all

IsTooLong = Callable[[DBAPIError], bool]

_pages: Final = search_pages.c
_tenants: Final = search_tenants.c


class FoundRow(NamedTuple):
    id: int
    final_url: str
    seen_at: int
    published_at: int | None
    title: str
    description: str
    text: str
    language: str
    outline: str


class Ranking(NamedTuple):
    """Pages by id, and how well each answers; the best first."""

    pages: list[tuple[int, Standing]]
    complete: bool  # False if the search ended early


async def lock(connection: AsyncConnection, tenant: str) -> None:
    new = insert_into(connection, search_tenants).values(tenant_id=tenant, pages=0)
    await connection.execute(
        new.on_conflict_do_update(index_elements=["tenant_id"], set_={"pages": _tenants.pages})
    )


async def put(
    connection: AsyncConnection,
    tenant: str,
    entries: Sequence[IndexEntry],
    gone: Sequence[GonePage],
    most: int,
) -> None:
    """Replace pages by their new entries, unless the stored ones are newer. The tenant is locked. If it has
    too many pages, the oldest are deleted."""
    moments = {entry.row.name: entry.row.seen_at for entry in entries}
    moments |= {one.name: one.seen_at for one in gone}
    known = select(_pages.id, _pages.name, _pages.seen_at).where(_pages.name.in_(moments))
    rows = (await connection.execute(known)).all()
    newer = {row.name for row in rows if row.seen_at > moments[row.name]}
    old = await _delete(connection, _pages.id.in_([row.id for row in rows if row.name not in newer]))
    new = [entry for entry in entries if entry.row.name not in newer]
    if new:
        await _words(connection).add(connection, new)
        known_names = {row.name for row in rows}
        await lexicon.add(connection, tenant, [entry for entry in new if entry.row.name not in known_names])
    pages = await _count(connection, tenant, len(new) - old)
    if pages > most:
        await _make_room(connection, tenant, min(pages - most, max(MAX_DELETED_PAGES, len(new))))


async def drop(connection: AsyncConnection, tenant: str, which: ColumnElement[bool]) -> int:
    """Delete at most one batch of pages; return how many."""
    await lock(connection, tenant)
    chosen = select(_pages.id).where(_pages.tenant_id == tenant, which).limit(MAX_DELETED_PAGES)
    gone = await _delete(connection, _pages.id.in_(chosen))
    await _count(connection, tenant, -gone)
    return gone


async def set_seen(connection: AsyncConnection, tenant: str, moments: Mapping[str, int]) -> None:
    """These pages, by name, count as read at another time."""
    if moments:
        await lock(connection, tenant)
        changed = (
            update(search_pages).where(_pages.name == bindparam("page")).values(seen_at=bindparam("seen"))
        )
        given = [{"page": name, "seen": seen_at} for name, seen_at in sorted(moments.items())]
        await connection.execute(changed, given)


async def rank(connection: AsyncConnection, query: SearchQuery, is_too_long: IsTooLong) -> Ranking:
    """Rank pages that have all terms, and if these are few, those that have some.

    Pages that are about the terms are looked at before those that only mention them, because only a bounded
    number is ranked. If others take too long, return what was found before.
    """
    found: dict[int, str | None] = {}
    complete = True
    for which in _steps(query):
        if which.is_needed(len(found), query.limit):
            try:
                found |= dict(await _words(connection).find(connection, query, which.candidates))
            except DBAPIError as error:
                if not found or not is_too_long(error):
                    raise
                complete = False
                break
    standings = [(page, standing(weights, query.terms)) for page, weights in found.items()]
    standings.sort(key=lambda one: (one[1].is_behind, -one[1].score, -one[0]))
    return Ranking(standings, complete)


async def exists(connection: AsyncConnection, query: SearchQuery, term: int) -> bool:
    """Whether some page has this term."""
    return bool(
        await _words(connection).find(connection, query, CandidateFilter(((term,),), is_about=False, most=1))
    )


class _Step(NamedTuple):
    candidates: CandidateFilter
    enough: int  # pages; with these, the step is not needed. 0: fewer than were asked for

    def is_needed(self, found: int, limit: int) -> bool:
        return found < (self.enough or limit)


def _steps(query: SearchQuery) -> list[_Step]:
    every = (tuple(range(len(query.terms))),)
    some = _quorums(query.terms)
    steps = [
        _Step(CandidateFilter(every, is_about=True, most=MAX_ABOUT), MAX_ABOUT),
        _Step(CandidateFilter(every, is_about=False, most=MAX_MENTIONS), MAX_ABOUT),
    ]
    if some:
        may_be_best = MAX_RANKED if len(query.terms) >= MIN_FREE_TERMS else 0
        steps.append(_Step(CandidateFilter(some, is_about=True, most=MAX_ABOUT), may_be_best))
        steps.append(_Step(CandidateFilter(some, is_about=False, most=MAX_MENTIONS), 0))
        single = tuple(dict.fromkeys(choice[:1] for choice in some))
        steps.append(_Step(CandidateFilter(single, is_about=False, most=MAX_MENTIONS), 0))
    return steps


def _quorums(terms: Sequence[Term]) -> tuple[tuple[int, ...], ...]:
    """Which terms a page must have besides the firm ones, if it need not have all: two of the rarest."""
    free = [number for number, term in enumerate(terms) if not term.is_firm]
    if 0 < len(free) < len(terms):
        return ((),)  # the firm ones are enough
    rarest = sorted(free, key=lambda number: -terms[number].weight)[:MAX_QUORUM]
    if len(rarest) < 2:
        return ()
    if len(rarest) < 3:
        return tuple((number,) for number in rarest)
    return tuple(combinations(rarest, 2))


async def rows(connection: AsyncConnection, ids: Sequence[int]) -> list[FoundRow]:
    if not ids:
        return []
    columns = [_pages[name] for name in FoundRow._fields]
    found = await connection.execute(select(*columns).where(_pages.id.in_(ids)))
    return sorted((FoundRow(*row) for row in found), key=lambda found: ids.index(found.id))


def _words(connection: AsyncConnection) -> ModuleType:
    return search_index_sqlite if connection.dialect.name == "sqlite" else search_index_postgres


async def _count(connection: AsyncConnection, tenant: str, more: int) -> int:
    counted = update(search_tenants).where(_tenants.tenant_id == tenant).values(pages=_tenants.pages + more)
    pages: Any = await connection.scalar(counted.returning(_tenants.pages))
    return int(pages)


async def _make_room(connection: AsyncConnection, tenant: str, pages: int) -> None:
    oldest = select(_pages.id).where(_pages.tenant_id == tenant).order_by(_pages.id).limit(pages)
    await _count(connection, tenant, -await _delete(connection, _pages.id.in_(oldest)))


async def _delete(connection: AsyncConnection, which: ColumnElement[bool]) -> int:
    gone = (await connection.scalars(delete(search_pages).where(which).returning(_pages.id))).all()
    if gone:
        await _words(connection).remove(connection, gone)
        await connection.execute(delete(search_weights).where(search_weights.c.id.in_(gone)))
    return len(gone)
