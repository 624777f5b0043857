"""Deletions that were accepted and are not finished: the truth behind their jobs, which may get lost.

A row is written in the transaction that accepts the deletion, in which its subject disappears for everybody,
and removed in the one that removes the last trace of the subject.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, delete, exists, not_, or_, select, update

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import deletions


class DeletionKind(StrEnum):
    """What is deleted."""

    CRAWL = "crawl"
    AUDIT = "audit"
    BATCH = "batch"
    PAGES = "pages"  # those that match a filter, in all crawls
    TENANT = "tenant"
    MEMORY = "memory"  # a namespace of it, or all that somebody has


class Deletion(Struct, frozen=True):
    kind: DeletionKind
    subject: str  # the id of what is deleted; of pages, the deletion's own
    tenant_id: str = ""  # whose job it is
    detail: str = "{}"  # what else its removal has to know, as JSON


_deletions: Final = deletions.c


async def add(connection: AsyncConnection, deletion: Deletion, *, now: int | None = None) -> bool:
    """False: it was accepted before."""
    new = insert_into(connection, deletions).values(
        kind=deletion.kind.value,
        subject=deletion.subject,
        tenant_id=deletion.tenant_id,
        detail_json=deletion.detail,
        accepted_at=clock(now),
    )
    added = new.on_conflict_do_nothing().returning(_deletions.subject)
    return await connection.scalar(added) is not None


async def get(connection: AsyncConnection, kind: DeletionKind, subject: str) -> Deletion | None:
    query = select(deletions).where(_deletions.kind == kind.value, _deletions.subject == subject)
    row = (await connection.execute(query)).first()
    return None if row is None else Deletion(kind, row.subject, row.tenant_id, row.detail_json)


async def list_unfinished(connection: AsyncConnection, limit: int) -> list[Deletion]:
    """The oldest first."""
    rows = await connection.execute(select(deletions).order_by(_deletions.accepted_at).limit(limit))
    return [Deletion(DeletionKind(row.kind), row.subject, row.tenant_id, row.detail_json) for row in rows]


async def finish(connection: AsyncConnection, deletion: Deletion) -> None:
    kind, subject = deletion.kind.value, deletion.subject
    await connection.execute(delete(deletions).where(_deletions.kind == kind, _deletions.subject == subject))


async def give(connection: AsyncConnection, tenant: str, to: str) -> None:
    """The jobs of a tenant that goes belong to another one."""
    theirs = update(deletions).where(_deletions.tenant_id == tenant)
    await connection.execute(theirs.values(tenant_id=to))


async def adopt_marked_crawls(connection: AsyncConnection) -> None:
    """Servers of the release before only mark a crawl. One that goes with its audit or its tenant is left to
    their deletions."""
    known = or_(
        and_(_deletions.kind == DeletionKind.CRAWL.value, _deletions.subject == crawls.c.id),
        and_(_deletions.kind == DeletionKind.TENANT.value, _deletions.subject == crawls.c.tenant_id),
        and_(_deletions.kind == DeletionKind.AUDIT.value, _deletions.detail_json.contains(crawls.c.id)),
    )
    marked = select(crawls.c.id, crawls.c.tenant_id).where(crawls.c.deleting, not_(exists().where(known)))
    for crawl_id, tenant in (await connection.execute(marked)).all():
        await add(connection, Deletion(DeletionKind.CRAWL, crawl_id, tenant))


def is_kept(kind: DeletionKind, subject: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether nobody has asked to delete it."""
    return not_(exists().where(_deletions.kind == kind.value, _deletions.subject == subject))
