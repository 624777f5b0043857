"""Removes memory: namespaces and stores are hidden in one transaction, and then removed in batches.

A hidden namespace has no name and a hidden store no owner, so nobody finds them, and nothing is added.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Table, delete, select, tuple_, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import search_tenants
from gossamer.state.memory import memory_index, stores
from gossamer.state.memory.memory_tables import (
    memory_entries,
    memory_namespaces,
    memory_stores,
    memory_tags,
    memory_versions,
)
from gossamer.state.memory.stores import MemoryStore, NamespaceRow
from gossamer.state.search import lexicon

ROWS_AT_ONCE: Final = 200  # some have megabytes

_entries: Final = memory_entries.c
_namespaces: Final = memory_namespaces.c
_stores: Final = memory_stores.c


async def hide_namespace(connection: AsyncConnection, store: MemoryStore, namespace: NamespaceRow) -> None:
    """The store is locked. What the namespace has does not count any more."""
    hidden = update(memory_namespaces).where(_namespaces.id == namespace.id).values(name=None)
    await connection.execute(hidden)
    await stores.add_size(connection, store.id, -namespace.size.entries, -namespace.size.bytes)


async def hide_store(connection: AsyncConnection, store: MemoryStore) -> None:
    """The store is locked. Its owner gets a new one with the next write."""
    await connection.execute(update(memory_stores).where(_stores.id == store.id).values(owner=None))


async def drop_some(connection: AsyncConnection, store_id: str, namespace_id: str) -> int:
    """Remove a batch of what a hidden namespace has; returns how many rows."""
    removed = 0
    for table in (memory_entries, memory_versions, memory_tags):
        removed += await _drop_rows(connection, table, namespace_id)
    return removed + await memory_index.drop_some(connection, store_id, namespace_id)


async def drop_namespace(connection: AsyncConnection, namespace_id: str) -> None:
    """The last step: it is empty."""
    await connection.execute(delete(memory_namespaces).where(_namespaces.id == namespace_id))


async def namespaces_of(connection: AsyncConnection, store_id: str) -> Sequence[str]:
    """The ids of all namespaces, hidden ones too."""
    own = select(_namespaces.id).where(_namespaces.store_id == store_id).order_by(_namespaces.id)
    return (await connection.scalars(own)).all()


async def drop_store(connection: AsyncConnection, store_id: str) -> None:
    """The last step: it has no namespaces any more."""
    await lexicon.forget(connection, store_id)
    await connection.execute(delete(search_tenants).where(search_tenants.c.tenant_id == store_id))
    await connection.execute(delete(memory_stores).where(_stores.id == store_id))


async def stores_with_expired(
    connection: AsyncConnection, limit: int, *, now: int | None = None
) -> Sequence[str]:
    """Stores that have entries whose time is over."""
    query = select(_namespaces.store_id).distinct()
    query = query.join(memory_entries, _entries.namespace_id == _namespaces.id)
    over = query.where(_entries.expires_at <= clock(now), _namespaces.name.is_not(None))
    found = over.join(memory_stores, _stores.id == _namespaces.store_id).where(_stores.owner.is_not(None))
    return (await connection.scalars(found.limit(limit))).all()


async def _drop_rows(connection: AsyncConnection, table: Table, namespace_id: str) -> int:
    key: Any = tuple_(*table.primary_key.columns)
    some = select(*table.primary_key.columns).where(table.c.namespace_id == namespace_id)
    return (await connection.execute(delete(table).where(key.in_(some.limit(ROWS_AT_ONCE))))).rowcount
