"""Audits: starts audits as jobs, finds and compares them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Struct
from ulid import ULID

from gossamer import problems
from gossamer.flows.audit.audit import Auditor, AuditPayload
from gossamer.flows.audit.stored_pages import not_over
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.crawl import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import audits, job_table
from gossamer.state.jobs.audits import Audit, ListedAudit
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.audit.check import Scope
from gossamer.web.audit.comparison import Comparison, compare
from gossamer.web.audit.report import AuditOptions
from gossamer.web.url.url import Url, audit_form

KINDS: Final[dict[Scope, str]] = {"page": "audit", "site": "site_audit"}  # of jobs
RECIPE: Final = "v1"  # raise it when the checks change so much that an old report no longer answers

Remember = Callable[[AsyncConnection, Job, str], Awaitable[None]]  # with the id of the audit


def idempotency_key(tenant: str, url: Url, options: AuditOptions) -> str:
    """The same for the same audit, so that two requests share one job while it is queued or running."""
    wanted = msgspec.json.encode(options).decode()
    return hashlib.sha256(f"{tenant}|{audit_form(url)}|{wanted}|{RECIPE}".encode()).hexdigest()


def quotas_of(options: AuditOptions) -> tuple[Quota, ...]:
    """Those that bound a new audit."""
    if options.crawl_id is not None:
        return (Quota.JOBS,)
    return (Quota.JOBS, Quota.PAGES, Quota.BYTES) if options.scope == "site" else (Quota.JOBS,)


class Audits(Struct, frozen=True):
    jobs: Jobs
    dialer: Dialer
    auditor: Auditor
    quotas: Quotas

    async def start(
        self, url: str, options: AuditOptions, *, caller: Caller, by: Actor, remember: Remember
    ) -> tuple[Job, str]:
        """The job and the audit's id. `remember` runs in the transaction that stores both."""
        target = self.check(url, options)
        await self.quotas.check(caller, *quotas_of(options))
        async with self.jobs.database.write() as connection:
            job, audit_id = await self.begin(connection, target, options, caller=caller, by=by)
            await remember(connection, job, audit_id)
        self.jobs.wake(job.kind)
        return job, audit_id

    def check(self, url: str, options: AuditOptions) -> Url:
        """Raises `Problem` for an address that cannot be audited."""
        target = Url.parse(url)
        if options.crawl_id is None:
            self.dialer.admit(target.host, target.port)
        return target

    async def begin(
        self, connection: AsyncConnection, target: Url, options: AuditOptions, *, caller: Caller, by: Actor
    ) -> tuple[Job, str]:
        """Write an audit that was checked, and queue its job; or the same one that is queued or running.
        Raises `Problem` for a crawl that the caller does not have, or that is not over."""
        if options.crawl_id is not None:
            await _check_crawl(connection, options.crawl_id, caller)
        audit_id, tenant_id = str(ULID()), caller.tenant_id
        new = NewJob(
            kind=KINDS[options.scope],
            tenant_id=tenant_id,
            payload=AuditPayload(audit_id, target.href, options),
            idempotency_key=idempotency_key(tenant_id, target, options),
            request_id=by.request_id,
        )
        job = await job_table.put(connection, new)
        if job.job_id == new.job_id:
            await audits.add(
                connection,
                audit_id,
                tenant_id=tenant_id,
                job_id=job.job_id,
                url=target.href,
                options=options,
            )
            started = ActivityEntry(tenant_id, Action.AUDIT_STARTED, audit_id, by, target.href)
            await activity.record(connection, started)
        known = await audits.of_job(connection, job.job_id)
        return job, known.id if known else audit_id

    async def get(self, audit_id: str, *, tenant_id: str | None) -> tuple[Audit, Job | None]:
        """The audit and its job, as long as that is kept. A tenant of None may see all audits."""
        async with self.jobs.database.read() as connection:
            job_id = await audits.job_id_of(connection, audit_id)
            job = None if job_id is None else await job_table.get(connection, job_id)
            audit = await audits.get(connection, audit_id)  # after the job, which ends together with it
        if audit is None or (tenant_id is not None and audit.tenant_id != tenant_id):
            raise Problem(problems.NOT_FOUND, "There is no audit with this id.")
        return audit, job

    async def list(self, *, tenant_id: str | None, before: str | None, limit: int) -> list[ListedAudit]:
        """The newest first, without their reports. A tenant of None may see all audits."""
        async with self.jobs.database.read() as connection:
            return await audits.listing(connection, tenant_id=tenant_id, before=before, limit=limit)

    async def compare(
        self, audit: Audit, *, against: str | None = None, tenant_id: str | None
    ) -> Comparison | None:
        """Compare with the audit of this id, or with the last one before; None if there is none."""
        if against is not None:
            other: Audit | None = (await self.get(against, tenant_id=tenant_id))[0]
        elif audit.options.scope == "site":
            async with self.jobs.database.read() as connection:
                other = await audits.before(connection, audit)
        else:
            other = None
        return None if other is None else await asyncio.to_thread(_compare, audit, other)


async def _check_crawl(connection: AsyncConnection, crawl_id: str, caller: Caller) -> None:
    crawl = await crawls.get(connection, crawl_id)
    if crawl is None or (caller.role is not Role.ADMIN and crawl.tenant_id != caller.tenant_id):
        raise Problem(problems.NOT_FOUND, "There is no crawl with this id.")
    if not crawl.is_over:
        raise not_over()


def _compare(audit: Audit, other: Audit) -> Comparison | None:
    """None while there is no report. A Problem says that the two cannot be compared."""
    if not (audit.options.scope == other.options.scope == "site") or other.report_json is None:
        raise Problem(problems.UNPROCESSABLE_ENTITY, "Only finished audits of whole sites can be compared.")
    before, after = other.report(), audit.report()
    return None if before is None or after is None else compare(before, after, audit_id=other.id)
