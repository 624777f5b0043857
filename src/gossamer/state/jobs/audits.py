"""Audits: what was asked about a page or a site, and the report."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, and_, delete, exists, func, not_, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import audits, jobs
from gossamer.state.jobs.job import JobState
from gossamer.web.audit.check import Severity
from gossamer.web.audit.report import AuditOptions, AuditReport


class Audit(Struct, frozen=True):
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
    severities: Mapping[Severity, int] | None = None  # how many findings there are of each; None until done

    def report(self) -> AuditReport | None:
        """May take long for a large site, so call it in a thread."""
        return None if self.report_json is None else msgspec.json.decode(self.report_json, type=AuditReport)


class ListedAudit(NamedTuple):
    """An audit, and the state of its job as long as that is kept."""

    audit: Audit
    job_state: JobState | None

    @property
    def status(self) -> JobState:
        """Without the job, the report tells how it ended."""
        return self.job_state or (JobState.FAILED if self.audit.score is None else JobState.DONE)


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
    connection: AsyncConnection,
    audit_id: str,
    report: AuditReport,
    report_json: str,
    *,
    now: int | None = None,
) -> None:
    """Call it in the transaction that finishes the job, so that a worker without its lease writes nothing."""
    done = update(audits).where(audits.c.id == audit_id)
    await connection.execute(
        done.values(
            score=report.score,
            report_json=report_json,
            severities_json=msgspec.json.encode(report.count_by_severity()).decode(),
            finished_at=clock(now),
        )
    )


async def set_crawl(connection: AsyncConnection, audit_id: str, crawl_id: str) -> None:
    """Remember the crawl, so that another worker can go on with it."""
    changed = update(audits).where(audits.c.id == audit_id)
    await connection.execute(changed.values(crawl_id=crawl_id))


async def get(connection: AsyncConnection, audit_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.id == audit_id))).first()
    return None if row is None else _audit(row._mapping)


async def job_id_of(connection: AsyncConnection, audit_id: str) -> str | None:
    job_id: str | None = await connection.scalar(select(audits.c.job_id).where(audits.c.id == audit_id))
    return job_id


async def take(connection: AsyncConnection, audit_id: str) -> Audit | None:
    """Remove an audit, and return what it was."""
    gone = delete(audits).where(audits.c.id == audit_id).returning(*audits.c)
    row = (await connection.execute(gone)).first()
    return None if row is None else _audit(row._mapping)


async def of_job(connection: AsyncConnection, job_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.job_id == job_id))).first()
    return None if row is None else _audit(row._mapping)


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
    return None if row is None else _audit(row._mapping)


async def listing(
    connection: AsyncConnection, *, tenant_id: str | None, before: str | None, limit: int
) -> list[ListedAudit]:
    """The newest first, without their reports but with the states of their jobs; of one tenant or of all."""
    columns = [column for column in audits.c if column.name != "report_json"]
    states = audits.outerjoin(jobs, jobs.c.job_id == audits.c.job_id)
    query = select(*columns, jobs.c.status).select_from(states).order_by(audits.c.id.desc()).limit(limit)
    if tenant_id is not None:
        query = query.where(audits.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(audits.c.id < before)
    return [_listed(row._mapping) for row in await connection.execute(query)]


async def list_old(connection: AsyncConnection, before: int, limit: int) -> list[str]:
    """The ids of audits that ended before this time, or began before it and have no report."""
    query = select(audits.c.id).where(_is_old(before)).order_by(audits.c.id).limit(limit)
    return list((await connection.scalars(query)).all())


async def count_old(connection: AsyncConnection, before: int) -> tuple[int, int]:
    """How many, and the size of their reports."""
    size = func.coalesce(func.sum(func.length(audits.c.report_json)), 0)
    rows, total = (await connection.execute(select(func.count(), size).where(_is_old(before)))).one()
    return rows, int(total)


def _is_old(before: int) -> ColumnElement[bool]:
    active = exists().where(jobs.c.job_id == audits.c.job_id, jobs.c.status.in_(("queued", "running")))
    return and_(func.coalesce(audits.c.finished_at, audits.c.created_at) < before, not_(active))


def _listed(row: Mapping[Any, Any]) -> ListedAudit:
    columns = dict(row)
    status = columns.pop("status")
    return ListedAudit(_audit(columns), None if status is None else JobState(status))


def _audit(row: Mapping[Any, Any]) -> Audit:
    columns = dict(row)
    counted = columns.pop("severities_json")
    severities = None if counted is None else msgspec.json.decode(counted, type=dict[Severity, int])
    options = msgspec.json.decode(columns.pop("options_json"), type=AuditOptions)
    return Audit(options=options, severities=severities, **columns)
