"""Removes a batch: its job when it is accepted, and then its results, in rows and in blobs."""

from msgspec import Struct

from gossamer.flows.data.removal import pacing
from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.data.removal.pacing import RemovalProgress, rest
from gossamer.reach.page.visit import Step
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import batches
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants import tenant_data


class BatchRemoval(Struct, frozen=True):
    database: Database
    blobs: Blobs

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        """Without its job nobody finds a batch, and nothing can be added to it."""
        batch = await batches.get(connection, deletion.subject)
        if batch is None or seen_by not in (None, batch.tenant_id):
            return None
        await tenant_data.drop_job(connection, [batch.job_id])
        await batches.forget_headers_of(connection, batch.job_id)
        own = Deletion(DeletionKind.BATCH, batch.job_id, batch.tenant_id)
        return AcceptedDeletion(own, f"{batch.total:,} URLs")

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        return DeleteResult(
            DeletionKind.BATCH, deletion.subject, results=await self.remove_results(deletion.subject, step)
        )

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        await batches.drop_row(connection, deletion.subject)

    async def remove_results(self, batch_id: str, step: Step) -> int:
        async with self.database.read() as connection:
            total = len(await batches.positions(connection, batch_id))
        progress = RemovalProgress(step, "removing its results", 5, 99, total)
        await progress.add(0)
        while True:
            began = pacing.now()
            async with self.database.write() as connection:
                dropped = await batches.drop_results(connection, batch_id)
            if not dropped.number:
                return progress.done
            await drop_orphans(self.database, self.blobs, dropped.blobs)
            await progress.add(dropped.number)
            await rest(began)
