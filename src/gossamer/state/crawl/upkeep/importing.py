"""Crawls that come out of a file.

They run while a job reads the file, which counts as one URL in progress, so that nobody takes them for
finished. The job has the id of the crawl.
"""

from typing import Final

from sqlalchemy import exists, select, update

from gossamer.state.crawl import crawls as table
from gossamer.state.crawl.crawl_tables import crawled_pages, crawls
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import jobs
from gossamer.state.jobs.job import JobState
from gossamer.state.webhooks import publishing
from gossamer.web.crawl.spec import CrawlSpec

KIND: Final = "import"  # of jobs
STALLED_AT_ONCE: Final = 100

_crawls: Final = crawls.c
_pages: Final = crawled_pages.c
_jobs: Final = jobs.c


async def add(
    connection: AsyncConnection,
    tenant: str,
    *,
    tier: str,
    quota_tier: str | None,
    name: str,
    request_id: str = "",
    now: int | None = None,
) -> Crawl:
    crawl = await table.add(
        connection,
        tenant,
        CrawlSpec(seeds=(), sitemaps=False),
        tier=tier,
        quota_tier=quota_tier,
        name=name,
        request_id=request_id,
        now=now,
    )
    begun = update(crawls).where(_crawls.id == crawl.id)
    await connection.execute(begun.values(started_at=clock(now), in_progress=1))
    return crawl


async def end(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> None:
    """The file is read. A crawl that was stopped before stays so."""
    this = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(this.values(in_progress=0))
    running = this.where(_crawls.state.in_(("running", "paused")))
    done = running.values(state="done", finished_at=clock(now), held_by=None)
    if (await connection.execute(done)).rowcount:
        await publishing.note_ended_crawls(connection, [crawl_id])


async def is_importing(connection: AsyncConnection, crawl_id: str) -> bool:
    reading = exists().where(
        _jobs.job_id == crawl_id, _jobs.kind == KIND, _jobs.status.in_((JobState.QUEUED, JobState.RUNNING))
    )
    return bool(await connection.scalar(select(reading)))


async def list_stalled(connection: AsyncConnection) -> list[str]:
    """Crawls whose file nobody reads any more: the job has failed, or was canceled."""
    over = (JobState.FAILED, JobState.CANCELED)
    stalled = (
        select(_crawls.id)
        .join(jobs, _jobs.job_id == _crawls.id)
        .where(_crawls.state.in_(("running", "paused")), _jobs.kind == KIND, _jobs.status.in_(over))
        .where(_crawls.deleting.is_(False))
    )
    return list((await connection.scalars(stalled.limit(STALLED_AT_ONCE))).all())


async def known_hashes(connection: AsyncConnection, crawl_id: str) -> set[str]:
    """Of the pages that an attempt before has stored."""
    return set((await connection.scalars(select(_pages.url_hash).where(_pages.crawl_id == crawl_id))).all())


async def next_moment(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> int:
    """The time of the next pages: later than that of those before, because a blob has pages of one moment."""
    last = select(_pages.crawled_at).where(_pages.crawl_id == crawl_id)
    newest = await connection.scalar(last.order_by(_pages.crawled_at.desc()).limit(1))
    present = await connection.scalar(select(clock(now)))
    return max(present or 0, (newest or 0) + 1)
