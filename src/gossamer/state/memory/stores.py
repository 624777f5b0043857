"""Stores and their namespaces: whose memory it is, and how much is in it.

Every writer locks the row of the store first. Whoever changes entries changes the counts in its transaction.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.memory.memory_tables import memory_namespaces, memory_stores

MAX_NAMESPACES: Final = 1_000  # of a store

_stores: Final = memory_stores.c
_namespaces: Final = memory_namespaces.c


class StoredSize(NamedTuple):
    """How much there is. The bytes are those of values, earlier versions included."""

    entries: int = 0
    bytes: int = 0


class StoreFull(Exception):
    """A store would have more than it may."""

    def __init__(self, quota: str, limit: int, used: int) -> None:
        super().__init__(f"{quota}: {used} of {limit}")
        self.quota = quota
        self.limit = limit
        self.used = used  # before the write


class MemoryStore(NamedTuple):
    """What one tenant or one wallet has."""

    id: str
    tenant_id: str
    size: StoredSize


class NamespaceRow(NamedTuple):
    id: str
    name: str
    size: StoredSize
    created_at: int


async def find(connection: AsyncConnection, owner: str) -> MemoryStore | None:
    return _to_store(await connection.execute(select(memory_stores).where(_stores.owner == owner)))


async def lock(
    connection: AsyncConnection, tenant: str, owner: str, *, now: int | None = None
) -> MemoryStore:
    """The store of an owner, made if there is none. It stays locked until the transaction ends."""
    new = insert_into(connection, memory_stores).values(
        id=str(ULID()), tenant_id=tenant, owner=owner, entries=0, bytes=0, created_at=clock(now)
    )
    locked = new.on_conflict_do_update(index_elements=["owner"], set_={"owner": owner})
    store = _to_store(await connection.execute(locked.returning(*memory_stores.columns)))
    assert store is not None  # noqa: S101  (it is inserted or updated)
    return store


async def lock_known(connection: AsyncConnection, store_id: str) -> MemoryStore | None:
    """None: it is gone, or was deleted."""
    known = select(memory_stores).where(_stores.id == store_id, _stores.owner.is_not(None))
    return _to_store(await connection.execute(known.with_for_update()))


async def add_size(connection: AsyncConnection, store_id: str, entries: int, size: int) -> StoredSize:
    """Count what was added, or taken away; returns what there is now. The store is locked."""
    counted = update(memory_stores).where(_stores.id == store_id)
    counted = counted.values(entries=_stores.entries + entries, bytes=_stores.bytes + size)
    row = (await connection.execute(counted.returning(_stores.entries, _stores.bytes))).one()
    return StoredSize(*row)


async def total(connection: AsyncConnection) -> StoredSize:
    """Of all stores together."""
    sums = (func.coalesce(func.sum(_stores.entries), 0), func.coalesce(func.sum(_stores.bytes), 0))
    entries, size = (await connection.execute(select(*sums))).one()
    return StoredSize(int(entries), int(size))


async def list_namespaces(connection: AsyncConnection, store_id: str) -> list[NamespaceRow]:
    """By name."""
    query = select(memory_namespaces).where(_namespaces.store_id == store_id, _namespaces.name.is_not(None))
    rows = await connection.execute(query.order_by(_namespaces.name))
    return [_to_namespace(row) for row in rows]


async def find_namespaces(
    connection: AsyncConnection, store_id: str, names: Sequence[str]
) -> dict[str, NamespaceRow]:
    query = select(memory_namespaces).where(_namespaces.store_id == store_id, _namespaces.name.in_(names))
    return {row.name: _to_namespace(row) for row in await connection.execute(query)}


async def ensure_namespace(
    connection: AsyncConnection, store_id: str, name: str, *, now: int | None = None
) -> str:
    """The id of the namespace, made if there is none. The store is locked. Raises `StoreFull`."""
    known = select(_namespaces.id).where(_namespaces.store_id == store_id, _namespaces.name == name)
    namespace_id: str | None = await connection.scalar(known)
    if namespace_id is None:
        named = (_namespaces.store_id == store_id) & _namespaces.name.is_not(None)
        used = await connection.scalar(select(func.count()).where(named)) or 0
        if used >= MAX_NAMESPACES:
            raise StoreFull("namespaces", MAX_NAMESPACES, used)
        namespace_id = str(ULID())
        new = {"id": namespace_id, "store_id": store_id, "name": name, "entries": 0, "bytes": 0}
        await connection.execute(insert(memory_namespaces).values(**new, created_at=clock(now)))
    return namespace_id


async def add_to_namespace(connection: AsyncConnection, namespace_id: str, entries: int, size: int) -> None:
    """Count what was added, or taken away. A namespace that becomes empty goes."""
    counted = update(memory_namespaces).where(_namespaces.id == namespace_id)
    counted = counted.values(entries=_namespaces.entries + entries, bytes=_namespaces.bytes + size)
    left = await connection.scalar(counted.returning(_namespaces.entries))
    if left == 0:
        await connection.execute(delete(memory_namespaces).where(_namespaces.id == namespace_id))


async def sum_of_tenant(connection: AsyncConnection, tenant: str) -> StoredSize:
    """What all stores of a tenant have."""
    sums = (func.coalesce(func.sum(column), 0) for column in (_stores.entries, _stores.bytes))
    query = select(*sums).where(_stores.tenant_id == tenant, _stores.owner.is_not(None))
    return StoredSize(*map(int, (await connection.execute(query)).one()))


async def list_of_tenant(connection: AsyncConnection, tenant: str) -> Sequence[str]:
    """The ids of all stores, also of those that were deleted and are not gone yet."""
    return (await connection.scalars(select(_stores.id).where(_stores.tenant_id == tenant))).all()


def _to_store(rows: Any) -> MemoryStore | None:
    row = rows.first()
    return None if row is None else MemoryStore(row.id, row.tenant_id, StoredSize(row.entries, row.bytes))


def _to_namespace(row: Any) -> NamespaceRow:
    return NamespaceRow(row.id, row.name, StoredSize(row.entries, row.bytes), row.created_at)
