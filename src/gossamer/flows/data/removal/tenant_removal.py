"""Removes a tenant with everything that it has.

From the transaction that accepts it on, nobody gets in: its keys, people, sessions and links are gone. Then
its jobs go, so that nothing works for it any more, and then what they have made. A request that was let in
before may still add something; so it looks again until nothing is left.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.flows.data.removal.batch_removal import BatchRemoval
from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.data.removal.memory_removal import MemoryRemoval
from gossamer.flows.data.removal.pacing import RemovalProgress, remove_all
from gossamer.flows.tenants.admit import Admission
from gossamer.problems import Problem, Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.crawl.removal import deleting
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import batches, deletions
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.monitors import snapshots
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants import tenant_data, tenants
from gossamer.state.tenants.tenants import PUBLIC, Key

CRAWLS_AT_ONCE: Final = 100
MAX_PASSES: Final = 3
WORK, CRAWLS, BATCHES, CACHE, SEARCH, RECORDS = 5, 10, 60, 70, 85, 95  # percent that is done when these begin


class TenantRemoval(Struct, frozen=True):
    database: Database
    crawls: CrawlRemoval
    batches: BatchRemoval
    memory: MemoryRemoval
    pages: PageCache
    index: SearchIndex
    admission: Admission

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        tenant_id = deletion.subject
        _refuse(deletion)
        if not await tenant_data.lock(connection, tenant_id):
            return None
        known = await deletions.get(connection, DeletionKind.TENANT, tenant_id)
        tenant = await tenants.get_tenant(connection, tenant_id)
        if known is not None or tenant is None:
            return AcceptedDeletion(known or deletion)
        keys = await tenant_data.close(connection, tenant_id)
        return AcceptedDeletion(deletion, tenant.email, tenant_id, partial(self._refuse_keys, keys))

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        crawls = 0
        for _ in range(MAX_PASSES):
            crawls += await self._remove_once(deletion, step)
            async with self.database.read() as connection:
                left = await tenant_data.what_is_left(connection, deletion.subject)
            if not left:
                return DeleteResult(DeletionKind.TENANT, deletion.subject, crawls=crawls)
        raise Unavailable("database", f"the tenant still has rows in {left}")

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        if await tenant_data.lock(connection, deletion.subject):
            if left := await tenant_data.what_is_left(connection, deletion.subject):
                raise Unavailable("database", f"the tenant got rows in {left} meanwhile")
            await tenant_data.drop_tenant(connection, deletion.subject)

    async def _remove_once(self, deletion: Deletion, step: Step) -> int:
        tenant = deletion.subject
        await step("ending its work", WORK)
        async with self.database.write() as connection:
            await deletions.give(connection, tenant, deletion.tenant_id)
        await self._all(tenant_data.drop_jobs, tenant)
        crawls = await self._remove_crawls(tenant, step)
        await self._remove_batches(tenant, step)
        await self._remove_snapshots(tenant)
        await step("removing its cached pages", CACHE)
        await self._remove_cached(tenant)
        await step("removing its pages from the search index", SEARCH)
        await self.index.drop_all(tenant)
        await step("removing its memory and its records", RECORDS)
        await self.memory.remove_of_tenant(tenant)
        for table in (*tenant_data.RECORDS, *tenant_data.PEOPLE):
            await remove_all(self.database, partial(tenant_data.drop_rows, table=table, tenant=tenant))
        await self._all(tenant_data.drop_deliveries, tenant)  # last: until here an endpoint may hear more
        return crawls

    async def _remove_crawls(self, tenant: str, step: Step) -> int:
        """All are marked first, so that nothing is fetched for them any more."""
        ids: list[str] = []
        while True:
            async with self.database.write() as connection:
                more = await deleting.list_of_tenant(
                    connection, tenant, ids[-1] if ids else "", CRAWLS_AT_ONCE
                )
                for crawl_id in more:
                    await deleting.mark(connection, crawl_id, tenant)
            ids += more
            if len(more) < CRAWLS_AT_ONCE:
                break
        progress = RemovalProgress(step, "removing its crawls", CRAWLS, BATCHES, len(ids))
        await progress.add(0)
        for crawl_id in ids:
            await self.crawls.remove_crawl(crawl_id, _quietly)
            async with self.database.write() as connection:
                await deleting.drop_row(connection, crawl_id)
            await progress.add(1)
        return len(ids)

    async def _remove_batches(self, tenant: str, step: Step) -> None:
        await step("removing its batches", BATCHES)
        while True:
            async with self.database.read() as connection:
                ids = await tenant_data.list_batches(connection, tenant)
            if not ids:
                return
            for batch_id in ids:
                await self.batches.remove_results(batch_id, _quietly)
                async with self.database.write() as connection:
                    await batches.drop_row(connection, batch_id)

    async def _remove_snapshots(self, tenant: str) -> None:
        """Of its monitors."""
        while True:
            async with self.database.write() as connection:
                number, orphans = await snapshots.drop_some(connection, tenant_id=tenant)
            await drop_orphans(self.database, self.crawls.blobs, orphans)
            if not number:
                return

    async def _remove_cached(self, tenant: str) -> None:
        dropped = await self.pages.drop_tenant(tenant)
        if dropped.failed:
            raise Unavailable("cache", "a tier of the page cache did not confirm that its pages are gone")
        await self._all(tenant_data.drop_tombstones, tenant)

    async def _all(self, drop: Callable[[AsyncConnection, str], Awaitable[int]], tenant: str) -> None:
        await remove_all(self.database, lambda connection: drop(connection, tenant))

    async def _refuse_keys(self, keys: list[Key]) -> None:
        for key in keys:
            await self.admission.refresh(key)


def _refuse(deletion: Deletion) -> None:
    """Raises `Problem` if the tenant must stay."""
    if deletion.subject == PUBLIC:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            "This is the tenant of callers who pay without a key. It cannot be deleted.",
            hint="To remove its cached pages, clear the cache.",
        )
    if deletion.subject == deletion.tenant_id:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            "This is your own tenant. It cannot be deleted by itself.",
            hint="Let an admin of another tenant delete it.",
        )


async def _quietly(name: str, percent: int) -> None:
    """The progress of one of many parts."""
