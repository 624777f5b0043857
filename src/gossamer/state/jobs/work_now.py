"""What goes on now: the jobs and the crawls that run, and the hosts that are leased for crawls."""

from typing import Final

from msgspec import Struct
from sqlalchemy import func, select, text

from gossamer.state.crawl.crawl_tables import crawls, hosts
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import jobs

MAX_JOBS_SHOWN: Final = 100  # of one worker
MAX_HOSTS_SHOWN: Final = 10  # of one worker


class JobAtWork(Struct, frozen=True):
    job_id: str
    kind: str
    since: int  # when it was first started
    progress: int  # percent


class LeasedHosts(Struct, frozen=True):
    """The hosts that a worker may send requests to, and the first of their names."""

    count: int = 0
    names: tuple[str, ...] = ()


class RunningCrawls(Struct, frozen=True):
    """How many crawls run, and how many URLs they have left."""

    count: int
    pending: int
    in_progress: int


async def running_crawls(connection: AsyncConnection, tenant_id: str | None = None) -> RunningCrawls:
    """Of a tenant, or of all."""
    left = [func.coalesce(func.sum(column), 0) for column in (crawls.c.pending, crawls.c.in_progress)]
    # In the words of the index, or SQLite would not use it.
    query = select(func.count(), *left).where(text("state = 'running'"))
    if tenant_id is not None:
        query = query.where(crawls.c.tenant_id == tenant_id)
    return RunningCrawls(*(int(value) for value in (await connection.execute(query)).one()))


async def running_jobs(connection: AsyncConnection) -> dict[str, list[JobAtWork]]:
    """By the name of the worker, the oldest first."""
    place = func.row_number().over(partition_by=jobs.c.locked_by, order_by=jobs.c.job_id)
    columns = (jobs.c.locked_by, jobs.c.job_id, jobs.c.kind, jobs.c.started_at, jobs.c.progress_pct)
    # In the words of the index.
    running = select(*columns, place.label("place")).where(
        jobs.c.status == "running", jobs.c.locked_until.is_not(None)
    )
    ranked = running.subquery()
    query = select(ranked).where(ranked.c.place <= MAX_JOBS_SHOWN).order_by(ranked.c.job_id)
    found: dict[str, list[JobAtWork]] = {}
    for worker, job_id, kind, started_at, progress, _ in await connection.execute(query):
        found.setdefault(worker, []).append(JobAtWork(job_id, kind, started_at, progress))
    return found


async def leased_hosts(connection: AsyncConnection, *, now: int | None = None) -> dict[str, LeasedHosts]:
    """By the name of the worker."""
    place = func.row_number().over(partition_by=hosts.c.locked_by, order_by=hosts.c.host)
    count = func.count().over(partition_by=hosts.c.locked_by)
    leased = select(hosts.c.locked_by, hosts.c.host, place.label("place"), count.label("count"))
    leased = leased.where(hosts.c.lease_token.is_not(None), hosts.c.locked_until > clock(now))
    ranked = leased.subquery()
    query = select(ranked).where(ranked.c.place <= MAX_HOSTS_SHOWN).order_by(ranked.c.host)
    names: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for worker, host, _, number in await connection.execute(query):
        names.setdefault(worker, []).append(host)
        counts[worker] = number
    return {worker: LeasedHosts(counts[worker], tuple(names[worker])) for worker in names}
