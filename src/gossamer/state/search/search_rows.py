"""The rows of the search index: pages, their words and the page count of a tenant, always changed together.

Every function needs an open transaction. The row of the tenant in `search_tenants` is locked first, so
writers for one tenant take turns, and its page count is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import search_pages, search_tenants
from gossamer.state.search import search_index_postgres, search_index_sqlite
from gossamer.state.search.search_document import GonePage, IndexEntry, SearchQuery

MAX_DELETED_PAGES: Final = 500  # in one statement

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


class Findings(NamedTuple):
    rows: list[FoundRow]
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


async def find(connection: AsyncConnection, query: SearchQuery, is_too_long: IsTooLong) -> Findings:
    """Return pages with all words in the title first, then the others. If the others take too long, return
    only the first."""
    words = _words(connection)
    ids: list[int] = await words.find(connection, query, titled=True)
    complete = True
    if len(ids) < query.limit:
        try:
            others = await words.find(connection, query, titled=False)
            ids = list(dict.fromkeys([*ids, *others]))[: query.limit]
        except DBAPIError as error:
            if not ids or not is_too_long(error):
                raise
            complete = False
    return Findings(await get(connection, ids), complete)


async def get(connection: AsyncConnection, ids: Sequence[int]) -> list[FoundRow]:
    """The pages with these ids, in this order."""
    if not ids:
        return []
    columns = [_pages[name] for name in FoundRow._fields]
    rows = await connection.execute(select(*columns).where(_pages.id.in_(ids)))
    return sorted((FoundRow(*row) for row in rows), key=lambda found: ids.index(found.id))


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
    return len(gone)
