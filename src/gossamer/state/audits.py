"""Audits: what was asked about a page or a site, and the report."""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import audits
from gossamer.web.audit.report import AuditOptions, AuditReport


@dataclass(frozen=True, slots=True)
class Audit:
    id: str
    tenant_id: str
    job_id: str  # its own id, if it was made without a job
    url: str
    options: AuditOptions
    created_at: int
    finished_at: int | None = None
    score: int | None = None
    report_json: str | None = None  # None until it is done, and in lists
    crawl_id: str | None = None  # set once the audit of a site has begun its crawl

    def report(self) -> AuditReport | None:
        """May take long for a large site, so call it in a thread."""
        return None if self.report_json is None else msgspec.json.decode(self.report_json, type=AuditReport)


async def add(
    connection: AsyncConnection,
    audit_id: str,
    *,
    tenant_id: str,
    job_id: str,
    url: str,
    options: AuditOptions,
    now: int | None = None,
) -> None:
    """Add one audit per job: a second request for an active job shares its audit."""
    new = insert_into(connection, audits).values(
        id=audit_id,
        tenant_id=tenant_id,
        job_id=job_id,
        url=url,
        options_json=msgspec.json.encode(options).decode(),
        created_at=clock(now),
    )
    await connection.execute(new.on_conflict_do_nothing(index_elements=["job_id"]))


async def complete(
    connection: AsyncConnection, audit_id: str, score: int, report_json: str, *, now: int | None = None
) -> None:
    """Call it in the transaction that finishes the job, so that a worker without its lease writes nothing."""
    done = update(audits).where(audits.c.id == audit_id)
    await connection.execute(done.values(score=score, report_json=report_json, finished_at=clock(now)))


async def set_crawl(connection: AsyncConnection, audit_id: str, crawl_id: str) -> None:
    """Remember the crawl, so that another worker can go on with it."""
    changed = update(audits).where(audits.c.id == audit_id)
    await connection.execute(changed.values(crawl_id=crawl_id))


async def get(connection: AsyncConnection, audit_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.id == audit_id))).first()
    return None if row is None else _audit(row)


async def of_job(connection: AsyncConnection, job_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.job_id == job_id))).first()
    return None if row is None else _audit(row)


async def before(connection: AsyncConnection, audit: Audit) -> Audit | None:
    """The last earlier audit of the same whole site that has a report."""
    query = (
        select(audits)
        .where(audits.c.tenant_id == audit.tenant_id, audits.c.id < audit.id, audits.c.url == audit.url)
        .where(audits.c.crawl_id.is_not(None), audits.c.report_json.is_not(None))
        .order_by(audits.c.id.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).first()
    return None if row is None else _audit(row)


async def listing(
    connection: AsyncConnection, *, tenant_id: str | None, before: str | None, limit: int
) -> list[Audit]:
    """The newest first, without their reports; of one tenant or of all."""
    columns = [column for column in audits.c if column.name != "report_json"]
    query = select(*columns).order_by(audits.c.id.desc()).limit(limit)
    if tenant_id is not None:
        query = query.where(audits.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(audits.c.id < before)
    return [_audit(row) for row in await connection.execute(query)]


def _audit(row: Row[Any]) -> Audit:
    columns = dict(row._mapping)
    options = msgspec.json.decode(columns.pop("options_json"), type=AuditOptions)
    return Audit(options=options, **columns)
