"""Renders: which pages are waiting to be rendered, or are being rendered."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Select, func, select, text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import jobs
from gossamer.state.jobs.job import COLUMNS, Job, JobState, job_of

KIND: Final = "render"
PAGE_PART: Final = 40  # characters with which the keys of all renders of a page begin
OPTIONS_PART: Final = 24  # characters for the options of the request, with which each key ends
# In the words of the index, or SQLite would not use it.
_ACTIVE: Final = text("idempotency_key IS NOT NULL AND status IN ('queued', 'running')")


async def active(connection: AsyncConnection, tenant_id: str, keys: Collection[str]) -> dict[str, Job]:
    """The jobs that are queued or running, by their idempotency keys."""
    found = _of(tenant_id).where(jobs.c.idempotency_key.in_(keys), _ACTIVE)
    return {row.idempotency_key: job_of(row) for row in await connection.execute(found)}


async def of_pages(connection: AsyncConnection, tenant_id: str, parts: Collection[str]) -> Sequence[Job]:
    """The active renders of pages, by the start of their keys; the oldest first."""
    part = func.substr(jobs.c.idempotency_key, 1, PAGE_PART)
    found = _of(tenant_id).where(part.in_(parts), _ACTIVE).order_by(jobs.c.job_id)
    return [job_of(row) for row in await connection.execute(found)]


async def list_queued(connection: AsyncConnection, tenant_id: str, *, limit: int) -> Sequence[Job]:
    """The queued renders, oldest first."""
    found = _of(tenant_id).where(jobs.c.status == JobState.QUEUED.value).order_by(jobs.c.job_id).limit(limit)
    return [job_of(row) for row in await connection.execute(found)]


async def waiting(connection: AsyncConnection) -> int:
    """The number of renders of all tenants that could begin now."""
    counted = select(func.count()).where(
        jobs.c.kind == KIND, text("status = 'queued'"), text("locked_until IS NULL")
    )
    return await connection.scalar(counted) or 0


def _of(tenant_id: str) -> Select[Any]:
    columns = (jobs.c[name] for name in COLUMNS)
    return select(*columns).where(jobs.c.tenant_id == tenant_id, jobs.c.kind == KIND)
