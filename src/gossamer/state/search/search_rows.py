"""The rows of the search index: pages, their words and the page count of a tenant, always changed together.

Every function needs an open transaction. The row of the tenant in `search_tenants` is locked first, so
writers for one tenant take turns, and its page count is exact.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update
from sqlalchemy.exc import DBAPIError

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import search_pages, search_tenants, search_weights
from gossamer.state.search import lexicon, search_index_postgres, search_index_sqlite
from gossamer.state.search.candidate_steps import (
    CandidateStep,
    IndexExtent,
    StepKind,
    bounded,
    candidate_steps,
)
from gossamer.state.search.search_document import (
    CandidateFilter,
    GonePage,
    IndexEntry,
    SearchQuery,
    read_outline,
)
from gossamer.web.search.passages import Passage, passages_of
from gossamer.web.search.terms import Standing, standings

MAX_DELETED_PAGES: Final = 500  # in one statement
MAX_EMBEDDED: Final = 24  # passages of a page that have vectors

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


def embedded_passages(page: FoundRow) -> list[Passage]:
    """The passages of a page that have vectors, in the order of these: first those that begin a section,
    because they say what it is about."""
    passages = passages_of(page.text, read_outline(page.outline))
    return sorted(passages, key=lambda passage: passage.continues)[:MAX_EMBEDDED]


class CandidatePages(NamedTuple):
    """Pages by id, and how well each answers."""

    standings: dict[int, Standing]
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


async def find(
    connection: AsyncConnection, query: SearchQuery, near: Iterable[int], is_too_long: IsTooLong
) -> CandidatePages:
    """Find pages that have all terms, and if these are few, those that have some; and judge those that are
    near in meaning by their words too.

    Pages that are about the terms are looked at before those that only mention them, because only a bounded
    number is ranked. If others take too long, return what was found before.
    """
    extent = await _extent(connection, query.tenants)
    steps = candidate_steps(query.terms, extent)
    newest = bounded(steps, query.terms, extent)
    found, complete = await _look(connection, query, newest, is_too_long)
    if complete and len(found) < query.limit and newest != steps:
        more, complete = await _look(connection, query, steps, is_too_long)
        found |= more
    found |= await _weights(connection, set(near) - set(found))
    return CandidatePages(standings(found, query.terms), complete)


async def _look(
    connection: AsyncConnection, query: SearchQuery, steps: Sequence[CandidateStep], is_too_long: IsTooLong
) -> tuple[dict[int, str | None], bool]:
    """Weights of pages by id, and whether nothing took too long."""
    found: dict[int, str | None] = {}
    covered: set[StepKind] = set()
    for step in steps:
        if step.kind in covered or not step.is_needed(len(found), query.limit):
            continue
        try:
            more = dict(await _words(connection).find(connection, query, step.candidates))
        except DBAPIError as error:
            if not found or not is_too_long(error):
                raise
            return found, False
        found |= more
        if len(more) < step.candidates.most:
            covered |= step.covers
    return found, True


async def _extent(connection: AsyncConnection, tenants: Sequence[str]) -> IndexExtent:
    owned = select(func.sum(_tenants.pages)).where(_tenants.tenant_id.in_(tenants)).scalar_subquery()
    last = select(func.max(_pages.id)).scalar_subquery()
    row = (await connection.execute(select(owned, last))).one()
    return IndexExtent(int(row[0] or 0), int(row[1] or 0))


async def _weights(connection: AsyncConnection, pages: Collection[int]) -> dict[int, str | None]:
    """Of pages that were not found by their words; empty for those that were indexed without."""
    if not pages:
        return {}
    known = select(search_weights.c.id, search_weights.c.weights).where(search_weights.c.id.in_(pages))
    return {**dict.fromkeys(pages, ""), **{row.id: row.weights for row in await connection.execute(known)}}


async def exists(connection: AsyncConnection, query: SearchQuery, term: int) -> bool:
    """Whether some page has this term."""
    return bool(
        await _words(connection).find(connection, query, CandidateFilter(((term,),), is_about=False, most=1))
    )


async def rows(
    connection: AsyncConnection, ids: Sequence[int], tenants: Sequence[str] | None = None
) -> list[FoundRow]:
    """Those pages that are there and, if tenants are given, belong to one of them: SQLite may have given the
    id of a page that was just deleted to somebody else's."""
    if not ids:
        return []
    columns = [_pages[name] for name in FoundRow._fields]
    wanted = select(*columns).where(_pages.id.in_(ids))
    if tenants is not None:
        wanted = wanted.where(_pages.tenant_id.in_(tenants))
    found = await connection.execute(wanted)
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
