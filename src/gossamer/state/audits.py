"""Audits: what was asked about a page, and the report that came of it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.database import clock, insert_into
from gossamer.state.tables import audits


@dataclass(frozen=True, slots=True)
class Audit:
    id: str
    tenant_id: str
    job_id: str
    url: str
    options_json: str
    created_at: int
    finished_at: int | None = None
    score: int | None = None
    report_json: str | None = None
    crawl_id: str | None = None  # of an audit of a whole site, once that has begun


async def add(
    connection: AsyncConnection,
    audit_id: str,
    *,
    tenant_id: str,
    job_id: str,
    url: str,
    options_json: str,
    now: int | None = None,
) -> None:
    """Once for each job: an audit that is asked for again while its job is active is that job's audit."""
    new = insert_into(connection, audits).values(
        id=audit_id,
        tenant_id=tenant_id,
        job_id=job_id,
        url=url,
        options_json=options_json,
        created_at=clock(now),
    )
    await connection.execute(new.on_conflict_do_nothing(index_elements=["job_id"]))


async def complete(
    connection: AsyncConnection, audit_id: str, score: int, report_json: str, *, now: int | None = None
) -> None:
    """Called in the transaction that finishes the job, so that a late worker can write no report."""
    done = update(audits).where(audits.c.id == audit_id)
    await connection.execute(done.values(score=score, report_json=report_json, finished_at=clock(now)))


async def begin_crawl(connection: AsyncConnection, audit_id: str, crawl_id: str) -> None:
    """Its pages come from this crawl, also if another worker goes on with it."""
    begun = update(audits).where(audits.c.id == audit_id)
    await connection.execute(begun.values(crawl_id=crawl_id))


async def get(connection: AsyncConnection, audit_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.id == audit_id))).first()
    return None if row is None else _audit(row)


async def of_job(connection: AsyncConnection, job_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.job_id == job_id))).first()
    return None if row is None else _audit(row)


async def before(connection: AsyncConnection, audit: Audit) -> Audit | None:
    """The last audit of the same whole site that has a report."""
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
    return Audit(**row._mapping)
