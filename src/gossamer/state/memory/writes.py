"""Writes to memory: entries are put and dropped, with their versions, tags, words and counts.

Every function needs a transaction in which the store is locked.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Struct
from sqlalchemy import delete, insert, select, tuple_, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.memory import memory_index, stores
from gossamer.state.memory.memory_tables import (
    memory_entries,
    memory_namespaces,
    memory_tags,
    memory_versions,
)
from gossamer.state.memory.stores import MemoryStore, StoredSize, StoreFull
from gossamer.state.search.search_document import IndexEntry
from gossamer.web.memory.memory_entry import MemoryEntry, MemoryFormat, PageSource
from gossamer.web.pages.timestamps import iso

DROPPED_AT_ONCE: Final = 200  # entries

_entries: Final = memory_entries.c
_namespaces: Final = memory_namespaces.c
_tags: Final = memory_tags.c
_versions: Final = memory_versions.c
_KEPT: Final = [str(column.name) for column in memory_versions.columns]


class NewMemory(Struct, frozen=True, kw_only=True):
    """A value that is to be written, compressed and analysed."""

    namespace: str
    key: str
    format: MemoryFormat
    size: int  # of the value, not compressed
    body: bytes
    title: str
    tags: tuple[str, ...]
    indexed: IndexEntry
    source: PageSource | None = None
    ttl_ms: int | None = None
    expires_at: int | None = None  # instead of `ttl_ms`
    if_version: int | None = None  # 0: only if there is none


class MemoryBounds(NamedTuple):
    """How much a store may have; None is no bound."""

    entries: int | None = None
    bytes: int | None = None

    def exceeded_by(self, size: StoredSize) -> str:
        """Which of them is too small; empty if none is."""
        if self.entries is not None and size.entries > self.entries:
            return "entries"
        return "bytes" if self.bytes is not None and size.bytes > self.bytes else ""


class VersionConflict(Exception):
    """An entry has another version than the writer has expected."""

    def __init__(self, namespace: str, key: str, expected: int, found: int) -> None:
        super().__init__(f"{namespace}/{key}: {expected} was expected, and it is {found}")
        self.namespace = namespace
        self.key = key
        self.expected = expected
        self.found = found  # 0: there is no entry


class DroppedEntries(NamedTuple):
    entries: int
    bytes: int


async def put(
    connection: AsyncConnection,
    store: MemoryStore,
    new: Sequence[NewMemory],
    bounds: MemoryBounds,
    keep_versions: int,
    *,
    now: int | None = None,
) -> list[MemoryEntry]:
    """Write all entries or none. Raises `VersionConflict` or `StoreFull`; then roll back."""
    at = int(await connection.scalar(select(clock(now))) or 0)
    names = sorted({one.namespace for one in new})
    ids = {name: await stores.ensure_namespace(connection, store.id, name, now=at) for name in names}
    added: Counter[str] = Counter()
    grown: Counter[str] = Counter()
    written: list[MemoryEntry] = []
    indexed: dict[str, IndexEntry] = {}
    for one in new:
        entry, change, moment = await _put_one(connection, store, ids[one.namespace], one, keep_versions, at)
        added[one.namespace] += change.entries
        grown[one.namespace] += change.bytes
        placed = memory_index.place(one.indexed, store.id, ids[one.namespace], one.key, one.tags, moment)
        indexed[placed.row.name] = placed
        written.append(entry)
    for name in names:
        await stores.add_to_namespace(connection, ids[name], added[name], grown[name])
    size = await stores.add_size(connection, store.id, added.total(), grown.total())
    if bounds.exceeded_by(size):
        await _make_room(connection, store, bounds, at)
    await memory_index.put(connection, store.id, list(indexed.values()))
    return written


async def drop(
    connection: AsyncConnection, store: MemoryStore, keys: Iterable[tuple[str, str]]
) -> DroppedEntries:
    """Remove entries, given by the id of the namespace and the key, with all that belongs to them."""
    wanted = sorted(set(keys))
    if not wanted:
        return DroppedEntries(0, 0)
    which = tuple_(_entries.namespace_id, _entries.key).in_(wanted)
    gone = delete(memory_entries).where(which).returning(_entries.namespace_id, _entries.key, _entries.size)
    rows = (await connection.execute(gone)).all()
    earlier = delete(memory_versions).where(tuple_(_versions.namespace_id, _versions.key).in_(wanted))
    old = (await connection.execute(earlier.returning(_versions.namespace_id, _versions.size))).all()
    await connection.execute(delete(memory_tags).where(tuple_(_tags.namespace_id, _tags.key).in_(wanted)))
    names = [memory_index.name_of(row.namespace_id, row.key) for row in rows]
    await memory_index.drop(connection, store.id, names)
    counts = Counter(row.namespace_id for row in rows)
    sizes: Counter[str] = Counter()
    for row in [*rows, *old]:
        sizes[row.namespace_id] += row.size
    for namespace_id in sorted(sizes):
        await stores.add_to_namespace(connection, namespace_id, -counts[namespace_id], -sizes[namespace_id])
    await stores.add_size(connection, store.id, -len(rows), -sizes.total())
    return DroppedEntries(len(rows), sizes.total())


async def drop_expired(connection: AsyncConnection, store: MemoryStore, *, now: int | None = None) -> int:
    """Remove a batch of the entries whose time is over; returns how many."""
    own = select(_entries.namespace_id, _entries.key)
    own = own.join(memory_namespaces, _namespaces.id == _entries.namespace_id)
    own = own.where(_namespaces.store_id == store.id, _namespaces.name.is_not(None))
    over = own.where(_entries.expires_at <= clock(now)).limit(DROPPED_AT_ONCE)
    keys = [(row.namespace_id, row.key) for row in await connection.execute(over)]
    return (await drop(connection, store, keys)).entries


async def _put_one(
    connection: AsyncConnection,
    store: MemoryStore,
    namespace_id: str,
    new: NewMemory,
    keep_versions: int,
    at: int,
) -> tuple[MemoryEntry, DroppedEntries, int]:
    """The entry, by how much the store has grown, and when it counts as written."""
    own = (_entries.namespace_id == namespace_id) & (_entries.key == new.key)
    columns = (_entries.version, _entries.size, _entries.created_at, _entries.updated_at, _entries.expires_at)
    old = (await connection.execute(select(*columns).where(own))).first()
    if old is not None and old.expires_at is not None and old.expires_at <= at:
        change = await _forget(connection, namespace_id, new.key)
        old = None
    else:
        change = DroppedEntries(0, 0)
    found = 0 if old is None else old.version
    if new.if_version is not None and new.if_version != found:
        raise VersionConflict(new.namespace, new.key, new.if_version, found)
    moment = at if old is None else max(at, old.updated_at)  # a clock that was set back changes no order
    row = _row(namespace_id, new, found + 1, at if old is None else old.created_at, moment)
    if old is None:
        await connection.execute(insert(memory_entries).values(**row))
        change = DroppedEntries(change.entries + 1, change.bytes + new.size)
    else:
        dropped = await _keep_old(connection, own, old, new.key, namespace_id, keep_versions)
        await connection.execute(update(memory_entries).where(own).values(**row))
        change = DroppedEntries(0, new.size - dropped)
    await _set_tags(connection, namespace_id, new)
    return _shown(new, row), change, moment


async def _forget(connection: AsyncConnection, namespace_id: str, key: str) -> DroppedEntries:
    """Remove an entry whose key is about to be written anew; returns what that changes."""
    own = (_entries.namespace_id == namespace_id) & (_entries.key == key)
    size = await connection.scalar(delete(memory_entries).where(own).returning(_entries.size)) or 0
    earlier = (_versions.namespace_id == namespace_id) & (_versions.key == key)
    old = (await connection.scalars(delete(memory_versions).where(earlier).returning(_versions.size))).all()
    return DroppedEntries(-1, -size - sum(old))


async def _keep_old(
    connection: AsyncConnection, own: Any, old: Any, key: str, namespace_id: str, keep: int
) -> int:
    """Put the version that is replaced to the earlier ones; returns the bytes of those that go."""
    if keep:
        columns = [memory_entries.c[name] for name in _KEPT]
        await connection.execute(insert(memory_versions).from_select(_KEPT, select(*columns).where(own)))
    earlier = (_versions.namespace_id == namespace_id) & (_versions.key == key)
    too_old = delete(memory_versions).where(earlier, _versions.version <= old.version - keep)
    sizes = (await connection.scalars(too_old.returning(_versions.size))).all()
    return int(sum(sizes)) + (0 if keep else int(old.size))


async def _set_tags(connection: AsyncConnection, namespace_id: str, new: NewMemory) -> None:
    own = (_tags.namespace_id == namespace_id) & (_tags.key == new.key)
    await connection.execute(delete(memory_tags).where(own))
    if new.tags:
        rows = [{"namespace_id": namespace_id, "tag": tag, "key": new.key} for tag in new.tags]
        await connection.execute(insert(memory_tags), rows)


async def _make_room(connection: AsyncConnection, store: MemoryStore, bounds: MemoryBounds, at: int) -> None:
    """What has expired makes room. Raises `StoreFull` if that is not enough."""
    while True:
        dropped = await drop_expired(connection, store, now=at)
        size = await stores.add_size(connection, store.id, 0, 0)
        quota = bounds.exceeded_by(size)
        if not quota:
            return
        if not dropped:
            raise StoreFull(quota, getattr(bounds, quota), getattr(store.size, quota))


def _row(namespace_id: str, new: NewMemory, version: int, created_at: int, at: int) -> dict[str, Any]:
    expires_at = new.expires_at if new.ttl_ms is None else at + new.ttl_ms
    return {
        "namespace_id": namespace_id,
        "key": new.key,
        "version": version,
        "format": new.format,
        "size": new.size,
        "title": new.title,
        "tags_json": msgspec.json.encode(new.tags).decode(),
        "source_json": None if new.source is None else msgspec.json.encode(new.source).decode(),
        "created_at": created_at,
        "updated_at": at,
        "expires_at": expires_at,
        "body": new.body,
    }


def _shown(new: NewMemory, row: dict[str, Any]) -> MemoryEntry:
    expires_at = row["expires_at"]
    return MemoryEntry(
        namespace=new.namespace,
        key=new.key,
        version=row["version"],
        format=new.format,
        size=new.size,
        title=new.title,
        tags=new.tags,
        source=UNSET if new.source is None else new.source,
        created_at=iso(row["created_at"] / 1000),
        updated_at=iso(row["updated_at"] / 1000),
        expires_at=UNSET if expires_at is None else iso(expires_at / 1000),
    )
