"""Deletes crawls, audits, batches, pages, tenants and memory, as jobs.

The transaction that accepts a deletion makes its subject disappear for everybody, writes a line to the log of
activity, and remembers the deletion until it is finished. The job removes what is left, in batches, in an
order in which it can begin again after any step; it may also run twice at once. `resume` queues the job again
if it was lost.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from gossamer.reach.page.visit import Step
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import deletions, job_table
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pay import orders
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.url.url import digest

KIND: Final = "delete"
PRIORITY: Final = 10  # behind what a tenant waits for
RESUMED_AT_ONCE: Final = 100
_ACTIONS: Final = {
    DeletionKind.CRAWL: Action.CRAWL_DELETED,
    DeletionKind.AUDIT: Action.AUDIT_DELETED,
    DeletionKind.BATCH: Action.BATCH_DELETED,
    DeletionKind.PAGES: Action.PAGES_DELETED,
    DeletionKind.TENANT: Action.TENANT_DELETED,
    DeletionKind.MEMORY: Action.MEMORY_DELETED,
}


class DeletePayload(msgspec.Struct, frozen=True):
    """What a job carries."""

    deletes: DeletionKind = DeletionKind.CRAWL
    subject: str = ""
    crawl_id: str = ""  # the subject of jobs that a server of the release before has queued

    @property
    def deleted(self) -> str:
        return self.subject or self.crawl_id


class DeleteResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was deleted, with how much."""

    deleted: DeletionKind
    id: str
    pages: int = 0
    urls: int = 0
    results: int = 0  # of batches
    crawls: int = 0


class AcceptedDeletion(Struct, frozen=True):
    """A deletion whose subject nobody finds any more, once the transaction is committed."""

    deletion: Deletion
    about: str = ""  # for the log of activity
    tenant_id: str = ""  # in whose log it is; by default the one whose job it is
    announce: Callable[[], Awaitable[None]] | None = None  # after the transaction


class Removal(Protocol):
    """How subjects of one kind are removed."""

    async def accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None
    ) -> AcceptedDeletion | None:
        """Hide the subject, if this tenant (None: anybody) may see it. None: there is no such subject.
        Raises `Problem` if it must stay."""

    async def remove(self, deletion: Deletion, step: Step) -> DeleteResult:
        """Remove everything that can be removed in batches."""

    async def finish(self, connection: AsyncConnection, deletion: Deletion) -> None:
        """Remove the rest, in the transaction that ends the deletion."""


class Deleter(Struct, frozen=True):
    jobs: Jobs
    removals: Mapping[DeletionKind, Removal]

    @property
    def database(self) -> Database:
        return self.jobs.database

    async def accept(self, deletion: Deletion, seen_by: str | None, by: Actor) -> Job | None:
        """Hide the subject and queue its removal. None: there is no such subject."""
        async with self.database.write() as connection:
            accepted = await self._accept(connection, deletion, seen_by, by)
            job = None if accepted is None else await _put(connection, accepted.deletion, by.request_id)
        if accepted is None or job is None:
            return None
        await _announce(accepted)
        self.jobs.wake(job.kind)
        return job

    async def delete_here(self, deletion: Deletion, by: Actor, step: Step) -> DeleteResult | None:
        """Delete in this process, without a job. If it is stopped, a server goes on with it."""
        async with self.database.write() as connection:
            accepted = await self._accept(connection, deletion, None, by)
        if accepted is None:
            return None
        await _announce(accepted)
        result = await self.remove(accepted.deletion.kind, accepted.deletion.subject, step)
        async with self.database.write() as connection:
            await self.finish(connection, accepted.deletion.kind, accepted.deletion.subject)
        return result

    async def resume(self) -> None:
        """Queue the deletions that have no job any more."""
        async with self.database.write() as connection:
            await deletions.adopt_marked_crawls(connection)
        async with self.database.read() as connection:
            unfinished = await deletions.list_unfinished(connection, RESUMED_AT_ONCE)
        for deletion in unfinished:
            async with self.database.write() as connection:
                job = await _put(connection, deletion, "")
            self.jobs.wake(job.kind)

    async def remove(self, kind: DeletionKind, subject: str, step: Step) -> DeleteResult:
        async with self.database.read() as connection:
            deletion = await self._find(connection, kind, subject)
        if deletion is None:
            return DeleteResult(kind, subject)
        return await self.removals[kind].remove(deletion, step)

    async def finish(self, connection: AsyncConnection, kind: DeletionKind, subject: str) -> None:
        deletion = await self._find(connection, kind, subject)
        if deletion is not None:
            await self.removals[kind].finish(connection, deletion)
            await deletions.finish(connection, deletion)

    async def _find(self, connection: AsyncConnection, kind: DeletionKind, subject: str) -> Deletion | None:
        """None: it is finished. A crawl that a server of the release before has marked is not remembered."""
        known = await deletions.get(connection, kind, subject)
        return Deletion(kind, subject) if known is None and kind is DeletionKind.CRAWL else known

    async def _accept(
        self, connection: AsyncConnection, deletion: Deletion, seen_by: str | None, by: Actor
    ) -> AcceptedDeletion | None:
        await orders.count_deleted(connection, deletion.subject, seen_by)
        accepted = await self.removals[deletion.kind].accept(connection, deletion, seen_by)
        if accepted is None:
            return None
        taken = accepted.deletion
        if await deletions.add(connection, taken):
            owner = accepted.tenant_id or taken.tenant_id
            entry = ActivityEntry(owner, _ACTIONS[taken.kind], taken.subject, by, accepted.about)
            await activity.record(connection, entry)
        return accepted


async def _announce(accepted: AcceptedDeletion) -> None:
    if accepted.announce is not None:
        await accepted.announce()


async def _put(connection: AsyncConnection, deletion: Deletion, request_id: str) -> Job:
    """The job that deletes it: the active one, or a new one."""
    crawl_id = deletion.subject if deletion.kind is DeletionKind.CRAWL else ""
    new = NewJob(
        kind=KIND,
        tenant_id=deletion.tenant_id,
        payload=DeletePayload(deletion.kind, deletion.subject, crawl_id),
        priority=PRIORITY,
        idempotency_key=digest(f"{KIND}\n{deletion.subject}"),
        request_id=request_id,
    )
    return await job_table.put(connection, new)
