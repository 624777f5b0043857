"""Removes an audit: its report and its job when it is accepted, and then the crawl of a site."""

import msgspec
from msgspec import Struct

from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import AcceptedDeletion, DeleteResult
from gossamer.reach.page.visit import Step
from gossamer.state.crawl.removal import deleting
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import audits, deletions
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants import tenant_data


class AuditLeftovers(msgspec.Struct, frozen=True):
    """What is left of an audit once its report has gone."""

    crawl_id: str = ""


class AuditRemoval(Struct, frozen=True):
    crawls: CrawlRemoval

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        """An audit that is running ends: it has lost its job, so it can neither report nor begin a crawl."""
        audit = await audits.get(connection, deletion.subject)
        if audit is None:
            return await self._accepted_before(connection, deletion, seen_by)
        if seen_by not in (None, audit.tenant_id):
            return None
        await tenant_data.drop_job(connection, [audit.job_id])
        audit = await audits.take(connection, audit.id) or audit  # it may have begun its crawl just now
        if audit.crawl_id is not None:
            await deleting.mark(connection, audit.crawl_id, audit.tenant_id)
        left = msgspec.json.encode(AuditLeftovers(audit.crawl_id or "")).decode()
        own = Deletion(DeletionKind.AUDIT, audit.id, audit.tenant_id, left)
        return AcceptedDeletion(own, audit.url)

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        crawl_id = _leftovers(deletion).crawl_id
        if not crawl_id:
            return DeleteResult(DeletionKind.AUDIT, deletion.subject)
        gone = await self.crawls.remove_crawl(crawl_id, step)
        return DeleteResult(DeletionKind.AUDIT, deletion.subject, pages=gone.pages, urls=gone.urls, crawls=1)

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        if crawl_id := _leftovers(deletion).crawl_id:
            await deleting.drop_row(connection, crawl_id)

    async def _accepted_before(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        known = await deletions.get(connection, DeletionKind.AUDIT, deletion.subject)
        return None if known is None or seen_by not in (None, known.tenant_id) else AcceptedDeletion(known)


def _leftovers(deletion: Deletion) -> AuditLeftovers:
    return msgspec.json.decode(deletion.detail, type=AuditLeftovers)
