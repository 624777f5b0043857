"""The rows of the search index: pages, their words, and how many a tenant has, always changed together.

Every function works on an open transaction. The tenant's row in `search_tenants` is locked first, so two who
write for one tenant take turns, and its number is exact.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state import search_index_postgres, search_index_sqlite
from gossamer.state.database import insert_into
from gossamer.state.search_document import Entry, Gone, Sought
from gossamer.state.tables import search_pages, search_tenants

BATCH: Final = 500  # pages that make room at a time

_pages: Final = search_pages.c
_tenants: Final = search_tenants.c


class Found(NamedTuple):
    id: int
    final_url: str
    seen_at: int
    published_at: int | None
    title: str
    description: str
    text: str


async def lock(connection: AsyncConnection, tenant: str) -> None:
    new = insert_into(connection, search_tenants).values(tenant_id=tenant, pages=0)
    await connection.execute(
        new.on_conflict_do_update(index_elements=["tenant_id"], set_={"pages": _tenants.pages})
    )


async def put(
    connection: AsyncConnection, tenant: str, entries: Sequence[Entry], gone: Sequence[Gone], most: int
) -> None:
    """These replace what was there of the same pages, unless that is newer. The tenant is locked; where it
    has too many, the oldest go."""
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
        await _make_room(connection, tenant, min(pages - most, max(BATCH, len(new))))


async def drop(connection: AsyncConnection, tenant: str, which: ColumnElement[bool]) -> int:
    """At most a batch of them; how many."""
    await lock(connection, tenant)
    chosen = select(_pages.id).where(_pages.tenant_id == tenant, which).limit(BATCH)
    gone = await _delete(connection, _pages.id.in_(chosen))
    await _count(connection, tenant, -gone)
    return gone


async def find(connection: AsyncConnection, sought: Sought) -> list[Found]:
    """The best first: those whose title has all of the words, then the others."""
    words = _words(connection)
    ids: list[int] = await words.find(connection, sought, titled=True)
    if len(ids) < sought.limit:
        ids = list(dict.fromkeys([*ids, *await words.find(connection, sought, titled=False)]))[: sought.limit]
    if not ids:
        return []
    columns = [_pages[name] for name in Found._fields]
    rows = await connection.execute(select(*columns).where(_pages.id.in_(ids)))
    return sorted((Found(*row) for row in rows), key=lambda found: ids.index(found.id))


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
