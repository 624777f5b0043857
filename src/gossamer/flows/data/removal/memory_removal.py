"""Removes memory: a namespace, or everything that a tenant or a wallet has remembered."""

from functools import partial

import msgspec
from msgspec import Struct

from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.flows.data.removal.pacing import RemovalProgress, remove_all
from gossamer.reach.page.visit import Step
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.memory import removal, stores


class MemorySubject(msgspec.Struct, frozen=True):
    """What of memory is deleted. Once that is accepted, the ids say it: names are free for others."""

    owner: str = ""
    namespace: str = ""  # its name; empty: everything
    store_id: str = ""
    namespace_id: str = ""


def forgetting(owner: str, namespace: str = "") -> Deletion:
    return Deletion(DeletionKind.MEMORY, "", "", _written(MemorySubject(owner, namespace)))


class MemoryRemoval(Struct, frozen=True):
    database: Database

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        """The owner that the deletion names is the caller's own, so whoever asks may see it."""
        asked = _read(deletion)
        known = await stores.find(connection, asked.owner)
        store = None if known is None else await stores.lock_known(connection, known.id)
        if store is None:
            return None
        if not asked.namespace:
            await removal.hide_store(connection, store)
            own = Deletion(
                DeletionKind.MEMORY, store.id, store.tenant_id, _written(MemorySubject(store_id=store.id))
            )
            return AcceptedDeletion(own, f"{store.size.entries:,} entries")
        named = await stores.find_namespaces(connection, store.id, [asked.namespace])
        if not named:
            return None
        namespace = named[asked.namespace]
        await removal.hide_namespace(connection, store, namespace)
        ids = MemorySubject(store_id=store.id, namespace_id=namespace.id)
        own = Deletion(DeletionKind.MEMORY, namespace.id, store.tenant_id, _written(ids))
        return AcceptedDeletion(own, f"{namespace.name}: {namespace.size.entries:,} entries")

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        ids = _read(deletion)
        progress = RemovalProgress(step, "removing its entries", 5, 99)
        await progress.add(0)
        if ids.namespace_id:
            await self._remove_entries(ids.store_id, ids.namespace_id, progress)
        else:
            await self.remove_store(ids.store_id, progress)
        return DeleteResult(DeletionKind.MEMORY, deletion.subject)

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        ids = _read(deletion)
        if ids.namespace_id:
            await removal.drop_namespace(connection, ids.namespace_id)
        else:
            await removal.drop_store(connection, ids.store_id)

    async def remove_store(self, store_id: str, progress: RemovalProgress | None = None) -> None:
        """Remove everything but the row of the store, which is hidden."""
        async with self.database.read() as connection:
            namespaces = await removal.namespaces_of(connection, store_id)
        for namespace_id in namespaces:
            await self._remove_entries(store_id, namespace_id, progress)
            async with self.database.write() as connection:
                await removal.drop_namespace(connection, namespace_id)

    async def remove_of_tenant(self, tenant: str) -> None:
        async with self.database.write() as connection:
            ids = await stores.list_of_tenant(connection, tenant)
            for store_id in ids:
                store = await stores.lock_known(connection, store_id)
                if store is not None:
                    await removal.hide_store(connection, store)
        for store_id in ids:
            await self.remove_store(store_id)
            async with self.database.write() as connection:
                await removal.drop_store(connection, store_id)

    async def _remove_entries(
        self, store_id: str, namespace_id: str, progress: RemovalProgress | None
    ) -> None:
        drop = partial(removal.drop_some, store_id=store_id, namespace_id=namespace_id)
        await remove_all(self.database, drop, progress)


def _read(deletion: Deletion) -> MemorySubject:
    return msgspec.json.decode(deletion.detail, type=MemorySubject)


def _written(subject: MemorySubject) -> str:
    return msgspec.json.encode(subject).decode()
