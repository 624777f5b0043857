"""Memory: what a caller has remembered, read and written by namespace and key.

Each tenant has one store, and each wallet its own. A wallet is known only while it pays, so it reads its
memory as it writes it: by calls that it pays for.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from gossamer import problems
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.memory import entries, memory_index, removal, stores, writes
from gossamer.state.memory.entries import EntryKey
from gossamer.state.memory.stores import MemoryStore, NamespaceRow, StoredSize, StoreFull
from gossamer.state.memory.writes import MemoryBounds, NewMemory, VersionConflict
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.html.dates import unix_time
from gossamer.web.memory.memory_entry import MemoryEntry, MemoryFormat, MemoryVersion, PageSource
from gossamer.web.memory.memory_names import check_tags
from gossamer.web.memory.memory_request import MemoryLine, MemoryWrite, check_value, encode_value
from gossamer.web.memory.memory_text import texts_of

COMPRESSION_LEVEL: Final = 6
SMALL_BYTES: Final = 4_096  # of a value that is analysed in place; others are in a thread
EXPORTED_AT_ONCE: Final = 100  # entries, of up to a megabyte
EXPORTED_BYTES: Final = 4_000_000  # of values, about
SWEPT_AT_ONCE: Final = 100  # stores
MAX_DROPPED_AT_ONCE: Final = 200  # entries that are deleted without a job

OnWritten = Callable[[AsyncConnection, list[MemoryEntry]], Awaitable[None]]


class MemorySizes(Struct, frozen=True):
    """What a caller has, by namespace, and what it may have."""

    size: StoredSize
    bounds: MemoryBounds
    namespaces: list[NamespaceRow]


class WalletBounds(Struct, frozen=True):
    entries: int
    bytes: int


class Memory(Struct, frozen=True):
    database: Database
    quotas: Quotas
    wallets: WalletBounds
    keep_versions: int

    # Reading.

    async def sizes(self, caller: Caller) -> MemorySizes:
        async with self.database.read() as connection:
            store = await stores.find(connection, owner_of(caller))
            named = [] if store is None else await stores.list_namespaces(connection, store.id)
        return MemorySizes(StoredSize() if store is None else store.size, self.bounds(caller), named)

    async def get(
        self, caller: Caller, keys: Sequence[EntryKey], *, now: int | None = None
    ) -> dict[EntryKey, MemoryEntry]:
        async with self.database.read() as connection:
            return await entries.get(connection, owner_of(caller), keys, now=now)

    async def get_one(
        self, caller: Caller, key: EntryKey, version: int | None = None, *, now: int | None = None
    ) -> MemoryEntry:
        """Raises `Problem` if it is not there."""
        if version is None:
            found = (await self.get(caller, [key], now=now)).get(key)
        else:
            async with self.database.read() as connection:
                found = await entries.get_version(connection, owner_of(caller), key, version, now=now)
        if found is None:
            raise no_entry(key)
        return found

    async def versions(self, caller: Caller, key: EntryKey, *, now: int | None = None) -> list[MemoryVersion]:
        async with self.database.read() as connection:
            found = await entries.list_versions(connection, owner_of(caller), key, now=now)
        if not found:
            raise no_entry(key)
        return found

    async def listing(
        self, caller: Caller, namespace: str, *, now: int | None = None, **which: Any
    ) -> list[MemoryEntry]:
        """Entries of a namespace by their keys: `prefix`, `tag`, `after`, `limit`."""
        async with self.database.scan() as connection:
            found = await self._namespaces(connection, owner_of(caller), [namespace])
            if namespace not in found:
                return []
            place = (found[namespace].id, namespace)
            return await entries.listing(connection, place, now=now, **which)

    async def export(
        self, caller: Caller, namespace: str | None = None, *, now: int | None = None
    ) -> AsyncIterator[MemoryEntry]:
        """All entries with their values, by namespace and key. What is written meanwhile may be in it."""
        async with self.database.read() as connection:
            store = await stores.find(connection, owner_of(caller))
            named = [] if store is None else await stores.list_namespaces(connection, store.id)
        for one in named:
            if namespace in (None, one.name):
                async for entry in self._export(one, now):
                    yield entry

    async def _export(self, namespace: NamespaceRow, now: int | None) -> AsyncIterator[MemoryEntry]:
        after, most = "", EXPORTED_AT_ONCE
        while True:
            async with self.database.read() as connection:
                place = (namespace.id, namespace.name)
                found = await entries.listing(
                    connection, place, after=after, limit=most, values=True, now=now
                )
            for entry in found:
                yield entry
            if not found:
                return
            after = found[-1].key
            average = sum(entry.size for entry in found) // len(found)
            most = max(1, min(EXPORTED_AT_ONCE, EXPORTED_BYTES // max(1, average)))

    # Writing.

    async def put(
        self,
        caller: Caller,
        asked: Sequence[MemoryWrite],
        on_written: OnWritten | None = None,
        *,
        now: int | None = None,
    ) -> list[MemoryEntry]:
        """Write all or none. Raises `Problem` for a version that is not the expected one, or a full store."""
        for one in asked:
            one.check()
        new = [await self._prepare(caller, one, now) for one in asked]
        return await self.write(caller, new, on_written, now=now)

    async def write(
        self,
        caller: Caller,
        new: Sequence[NewMemory],
        on_written: OnWritten | None = None,
        *,
        now: int | None = None,
    ) -> list[MemoryEntry]:
        try:
            async with self.database.write() as connection:
                store = await self._lock(connection, caller, now)
                bounds = self.bounds(caller)
                written = await writes.put(connection, store, new, bounds, self.keep_versions, now=now)
                if on_written is not None:
                    await on_written(connection, written)
                return written
        except VersionConflict as conflict:
            raise conflicting(conflict) from None
        except StoreFull as full:
            raise self._full(caller, full) from None

    async def delete(
        self,
        caller: Caller,
        keys: Sequence[EntryKey],
        if_version: int | None = None,
        *,
        now: int | None = None,
    ) -> int:
        """Remove entries with all their versions; returns how many there were."""
        owner = owner_of(caller)
        async with self.database.write() as connection:
            known = await stores.find(connection, owner)
            store = None if known is None else await stores.lock_known(connection, known.id)
            found = {} if store is None else await entries.get(connection, owner, keys, now=now)
            if if_version is not None:
                _check_version(keys[0], if_version, found)
            if store is None or not found:
                return 0
            named = await self._namespaces(connection, owner, [namespace for namespace, _ in found])
            gone = [(named[namespace].id, key) for namespace, key in found]
            return (await writes.drop(connection, store, gone)).entries

    async def delete_if_small(self, caller: Caller, namespace: str | None) -> int | None:
        """Delete a namespace, or all of them, here and now. None: there is too much of it, or nothing."""
        async with self.database.write() as connection:
            known = await stores.find(connection, owner_of(caller))
            store = None if known is None else await stores.lock_known(connection, known.id)
            named = [] if store is None else await stores.list_namespaces(connection, store.id)
            chosen = [one for one in named if namespace in (None, one.name)]
            number = sum(one.size.entries for one in chosen)
            if store is None or not 0 < number <= MAX_DROPPED_AT_ONCE:
                return None
            for one in chosen:
                keys = await entries.all_keys(connection, one.id)
                await writes.drop(connection, store, [(one.id, key) for key in keys])
            return number

    async def import_lines(
        self, caller: Caller, lines: Sequence[MemoryLine], *, now: int | None = None
    ) -> int:
        """Write entries of an export, all or none. Those whose time is over are left out."""
        for line in lines:
            line.check()
        new = [
            await prepare(
                namespace=line.namespace,
                key=line.key,
                value=line.value,
                format_=line.format,
                title=line.title,
                tags=line.tags,
                source=line.source or None,
                expires_at=_milliseconds(line.expires_at),
            )
            for line in lines
        ]
        return len(await self.write(caller, new, now=now)) if new else 0

    async def sweep(self, *, now: int | None = None) -> int:
        """Remove entries whose time is over, of all stores; returns how many."""
        removed = 0
        while True:
            async with self.database.read() as connection:
                ids = await removal.stores_with_expired(connection, SWEPT_AT_ONCE, now=now)
            dropped = [await self.sweep_store(store_id, now=now) for store_id in ids]
            removed += sum(dropped)
            if not sum(dropped):
                return removed

    async def sweep_store(self, store_id: str, *, now: int | None = None) -> int:
        """Remove a batch of the entries of a store whose time is over."""
        async with self.database.write() as connection:
            store = await stores.lock_known(connection, store_id)
            return 0 if store is None else await writes.drop_expired(connection, store, now=now)

    def bounds(self, caller: Caller) -> MemoryBounds:
        if caller.via is Via.WALLET:
            return MemoryBounds(self.wallets.entries, self.wallets.bytes)
        limit = self.quotas.limit
        return MemoryBounds(limit(caller, Quota.MEMORY_ENTRIES), limit(caller, Quota.MEMORY_BYTES))

    async def find_scope(
        self, connection: AsyncConnection, caller: Caller, names: Sequence[str]
    ) -> tuple[MemoryStore | None, dict[str, NamespaceRow]]:
        """The store of a caller, and of the named namespaces those that are there."""
        store = await stores.find(connection, owner_of(caller))
        if store is None:
            return None, {}
        return store, await stores.find_namespaces(connection, store.id, names)

    async def _prepare(self, caller: Caller, asked: MemoryWrite, now: int | None) -> NewMemory:
        ttl_ms = None if asked.ttl is None else asked.ttl * 1000
        if asked.restore is UNSET:
            return await prepare(
                namespace=asked.namespace,
                key=asked.key,
                value=asked.value,
                format_=asked.format or "json",
                title=asked.title,
                tags=asked.tags,
                ttl_ms=ttl_ms,
                if_version=asked.if_version,
            )
        old = await self.get_one(caller, (asked.namespace, asked.key), asked.restore, now=now)
        return await prepare(
            namespace=asked.namespace,
            key=asked.key,
            value=msgspec.json.decode(old.value),
            format_=old.format,
            title=old.title,
            tags=old.tags,
            source=old.source or None,
            ttl_ms=ttl_ms,
            if_version=asked.if_version,
        )

    async def _lock(self, connection: AsyncConnection, caller: Caller, now: int | None) -> MemoryStore:
        return await stores.lock(connection, caller.tenant_id or PUBLIC, owner_of(caller), now=now)

    async def _namespaces(
        self, connection: AsyncConnection, owner: str, names: Sequence[str]
    ) -> dict[str, NamespaceRow]:
        store = await stores.find(connection, owner)
        return {} if store is None else await stores.find_namespaces(connection, store.id, names)

    def _full(self, caller: Caller, full: StoreFull) -> Problem:
        if caller.via is not Via.WALLET and full.quota != "namespaces":
            return self.quotas.full_memory(caller, full)
        return Problem(
            problems.QUOTA_EXCEEDED,
            f"{full.limit:,} {full.quota} of memory are allowed, and there are {full.used:,}.",
            hint="Delete what you do not need, or let entries expire with `ttl`.",
            limit=full.limit,
            used=full.used,
            details={"quota": f"memory_{full.quota}", "reason": "quota_reached"},
        )


async def prepare(
    *,
    namespace: str,
    key: str,
    value: Any,
    format_: MemoryFormat,
    title: str,
    tags: tuple[str, ...],
    source: PageSource | None = None,
    ttl_ms: int | None = None,
    expires_at: int | None = None,
    if_version: int | None = None,
) -> NewMemory:
    """Compress and analyse a value, so that the transaction that writes it is short."""
    check_value(value, format_)
    encoded, tags = encode_value(value), check_tags(tags)

    def work() -> NewMemory:
        return NewMemory(
            namespace=namespace,
            key=key,
            format=format_,
            size=len(encoded),
            body=zlib.compress(encoded, COMPRESSION_LEVEL),
            title=title,
            tags=tags,
            indexed=memory_index.analyse_texts(texts_of(key, title, tags, value, format_)),
            source=source,
            ttl_ms=ttl_ms,
            expires_at=expires_at,
            if_version=if_version,
        )

    return work() if len(encoded) <= SMALL_BYTES else await asyncio.to_thread(work)


def no_entry(key: EntryKey) -> Problem:
    return Problem(
        problems.NOT_FOUND,
        f"There is no entry {key[1]!r} in the namespace {key[0]!r}, or it does not have this version.",
        hint="GET /memory lists the namespaces, GET /memory/entries the keys of one.",
    )


def conflicting(conflict: VersionConflict) -> Problem:
    has = f"has version {conflict.found}" if conflict.found else "is not there"
    wanted = f"version {conflict.expected} was expected" if conflict.expected else "no entry was expected"
    return Problem(
        problems.VERSION_CONFLICT,
        f"{conflict.namespace}/{conflict.key} {has}, and {wanted}.",
        hint="Read the entry, apply your change to it, and write again with its version.",
        details={
            "namespace": conflict.namespace,
            "key": conflict.key,
            "expected": conflict.expected,
            "version": conflict.found,
        },
    )


def _check_version(key: EntryKey, expected: int, found: dict[EntryKey, MemoryEntry]) -> None:
    version = found[key].version if key in found else 0
    if version != expected:
        raise conflicting(VersionConflict(*key, expected, version))


def _milliseconds(moment: str) -> int | None:
    seconds = unix_time(moment) if moment else None
    return None if seconds is None else round(seconds * 1000)
