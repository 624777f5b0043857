"""Entries of memory, as they are read: those that have not expired, in namespaces that were not deleted."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET
from sqlalchemy import ColumnElement, Select, or_, select, tuple_

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.memory.memory_tables import (
    memory_entries,
    memory_namespaces,
    memory_stores,
    memory_tags,
    memory_versions,
)
from gossamer.web.memory.memory_entry import MemoryEntry, MemoryVersion, PageSource
from gossamer.web.memory.memory_names import LAST_CHARACTER
from gossamer.web.pages.timestamps import iso

MAX_SIZE: Final = 2 * 1_048_576  # of a value that is decompressed

EntryKey = tuple[str, str]  # namespace and key

_entries: Final = memory_entries.c
_namespaces: Final = memory_namespaces.c
_stores: Final = memory_stores.c
_tags: Final = memory_tags.c
_versions: Final = memory_versions.c
_ABOUT: Final = [column for column in memory_entries.columns if column.name != "body"]


def is_alive(now: int | None) -> ColumnElement[bool]:
    return or_(_entries.expires_at.is_(None), _entries.expires_at > clock(now))


async def get(
    connection: AsyncConnection, owner: str, keys: Sequence[EntryKey], *, now: int | None = None
) -> dict[EntryKey, MemoryEntry]:
    """Entries with their values; those that are not there are left out."""
    query = _of_owner(owner, [*_ABOUT, _entries.body], now)
    rows = await connection.execute(query.where(tuple_(_namespaces.name, _entries.key).in_(keys)))
    return {(row.name, row.key): _to_entry(row, row.name, row.body) for row in rows}


async def listing(
    connection: AsyncConnection,
    namespace: tuple[str, str],
    *,
    prefix: str = "",
    tag: str = "",
    after: str = "",
    limit: int,
    values: bool = False,
    now: int | None = None,
) -> list[MemoryEntry]:
    """Entries of a namespace, given as id and name, in the order of their keys."""
    namespace_id, name = namespace
    columns = [*_ABOUT, _entries.body] if values else _ABOUT
    query = select(*columns).where(_entries.namespace_id == namespace_id, is_alive(now))
    key: ColumnElement[str] = _entries.key
    if tag:
        same = (_tags.namespace_id == _entries.namespace_id) & (_tags.key == _entries.key)
        query = query.join(memory_tags, same).where(_tags.namespace_id == namespace_id, _tags.tag == tag)
        key = _tags.key
    if after:
        query = query.where(key > after)
    if prefix:
        query = query.where(key >= prefix, key < prefix + LAST_CHARACTER)
    rows = await connection.execute(query.order_by(key).limit(limit))
    return [_to_entry(row, name, row.body if values else None) for row in rows]


async def find(
    connection: AsyncConnection, keys: Sequence[tuple[str, str]], *, now: int | None = None
) -> Mapping[EntryKey, MemoryEntry]:
    """Entries without their values by the id of the namespace and the key; of deleted namespaces none."""
    query = select(*_ABOUT, _namespaces.name).join(memory_namespaces, _namespaces.id == _entries.namespace_id)
    query = query.where(tuple_(_entries.namespace_id, _entries.key).in_(keys), is_alive(now))
    rows = await connection.execute(query.where(_namespaces.name.is_not(None)))
    return {(row.namespace_id, row.key): _to_entry(row, row.name) for row in rows}


async def list_versions(
    connection: AsyncConnection, owner: str, entry: EntryKey, *, now: int | None = None
) -> list[MemoryVersion]:
    """All versions that are kept, the newest first: that of the entry, and earlier ones."""
    current = await _current(connection, owner, entry, now)
    if current is None:
        return []
    columns = [column for column in memory_versions.columns if column.name != "body"]
    own = (_versions.namespace_id == current.namespace_id) & (_versions.key == current.key)
    rows = await connection.execute(select(*columns).where(own).order_by(_versions.version.desc()))
    return [_to_version(current), *map(_to_version, rows)]


async def get_version(
    connection: AsyncConnection, owner: str, entry: EntryKey, version: int, *, now: int | None = None
) -> MemoryEntry | None:
    """The entry as it was in an earlier version that is kept, or as it is."""
    current = await _current(connection, owner, entry, now)
    if current is None:
        return None
    table = memory_entries if current.version == version else memory_versions
    own = (table.c.namespace_id == current.namespace_id) & (table.c.key == current.key)
    row = (await connection.execute(select(table).where(own, table.c.version == version))).first()
    if row is None:
        return None
    known = {"created_at": current.created_at, "expires_at": current.expires_at}
    return _to_entry(row, entry[0], row.body, **known)


async def all_keys(connection: AsyncConnection, namespace_id: str) -> Sequence[str]:
    """Also of entries that have expired."""
    return (await connection.scalars(select(_entries.key).where(_entries.namespace_id == namespace_id))).all()


def _of_owner(owner: str, columns: Sequence[Any], now: int | None) -> Select[Any]:
    query = select(*columns, _namespaces.name)
    query = query.join(memory_namespaces, _namespaces.id == _entries.namespace_id)
    query = query.join(memory_stores, _stores.id == _namespaces.store_id)
    return query.where(_stores.owner == owner, is_alive(now))


async def _current(connection: AsyncConnection, owner: str, entry: EntryKey, now: int | None) -> Any:
    query = _of_owner(owner, _ABOUT, now).where(_namespaces.name == entry[0], _entries.key == entry[1])
    return (await connection.execute(query)).first()


def _to_entry(row: Any, namespace: str, body: bytes | None = None, **known: Any) -> MemoryEntry:
    times = known or {"created_at": row.created_at, "expires_at": row.expires_at}
    expires_at = times["expires_at"]
    return MemoryEntry(
        namespace=namespace,
        key=row.key,
        created_at=iso(times["created_at"] / 1000),
        expires_at=UNSET if expires_at is None else iso(expires_at / 1000),
        value=UNSET if body is None else msgspec.Raw(_inflate(body)),
        **_about(row),
    )


def _to_version(row: Any) -> MemoryVersion:
    return MemoryVersion(**_about(row))


def _about(row: Any) -> dict[str, Any]:
    source = UNSET if row.source_json is None else msgspec.json.decode(row.source_json, type=PageSource)
    return {
        "version": row.version,
        "format": row.format,
        "size": row.size,
        "updated_at": iso(row.updated_at / 1000),
        "title": row.title,
        "tags": tuple(msgspec.json.decode(row.tags_json, type=list[str])),
        "source": source,
    }


def _inflate(body: bytes) -> bytes:
    return zlib.decompressobj().decompress(body, MAX_SIZE)
