"""Deletes crawls, as jobs: everything that a crawl has stored, a batch at a time.

A crawl is marked in the transaction that accepts its deletion, and nobody finds it from then on. The job
removes what is left, in an order in which it can begin again after any step. Between two batches it rests as
long as the last one took, so that the database has time for others. `resume` queues the job again if it was
lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.problems import Problem, Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawl_blobs, crawl_tables, deleting
from gossamer.state.crawl.deleting import MarkedCrawl, RemovedPage
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.search.search_document import key_of
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.url.url import Url, cache_form, digest

KIND: Final = "delete"
PRIORITY: Final = 10  # behind what a tenant waits for
BLOBS_AT_ONCE: Final = 100
RESUMED_AT_ONCE: Final = 100
MAX_REST: Final = 0.5  # seconds between two batches
LOCKED_SECONDS: Final = 0.1  # until rows are tried again that somebody has locked
MAX_LOCKED_SECONDS: Final = 30.0  # no transaction lasts longer
STEP_PERCENT: Final = 5  # of progress, after which it is reported
URLS, PAGES, BLOBS, COUNTS = 5, 30, 85, 95  # percent of the work that is done when these begin

DropBatch = Callable[[AsyncConnection, str], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class DeletePayload:
    """What a job carries."""

    crawl_id: str


class DeleteResult(msgspec.Struct, frozen=True, rename="camel"):
    """What was deleted."""

    crawl_id: str
    pages: int = 0
    urls: int = 0


@dataclass(slots=True)
class _Progress:
    """Reports a part of the work, at its beginning and now and then."""

    step: Step
    name: str
    first: int  # percent
    last: int
    total: int
    done: int = 0
    told: int = -STEP_PERCENT

    async def add(self, number: int) -> None:
        self.done += number
        share = min(1.0, self.done / self.total) if self.total else 0.0
        percent = self.first + round((self.last - self.first) * share)
        if percent - self.told >= STEP_PERCENT:
            self.told = percent
            await self.step(self.name, percent)


@dataclass(frozen=True, slots=True)
class CrawlDeleter:
    jobs: Jobs
    blobs: Blobs

    @property
    def database(self) -> Database:
        return self.jobs.database

    async def accept(self, crawl_id: str, tenant: str | None, by: Actor) -> Job | None:
        """Mark a crawl of the tenant (None: of any), and queue its deletion. None: there is no such crawl."""
        async with self.database.write() as connection:
            crawl = await self._mark(connection, crawl_id, tenant, by)
            job = None if crawl is None else await _put(connection, crawl, by.request_id)
        if job is not None:
            self.jobs.wake(job.kind)
        return job

    async def delete_here(self, crawl_id: str, by: Actor, step: Step) -> DeleteResult | None:
        """Delete a crawl in this process, without a job. If it is stopped, a server goes on with it."""
        async with self.database.write() as connection:
            if await self._mark(connection, crawl_id, None, by) is None:
                return None
        result = await self.delete(crawl_id, step)
        async with self.database.write() as connection:
            await self.finish(connection, crawl_id)
        return result

    async def resume(self) -> None:
        """Queue the deletions that have no job any more."""
        async with self.database.read() as connection:
            marked = await deleting.list_marked(connection, RESUMED_AT_ONCE)
        for crawl in marked:
            async with self.database.write() as connection:
                job = await _put(connection, crawl, "")
            self.jobs.wake(job.kind)

    async def delete(self, crawl_id: str, step: Step) -> DeleteResult:
        """Remove everything but the crawl's own row. It may run twice, also at once."""
        async with self.database.read() as connection:
            crawl = await deleting.find(connection, crawl_id)
        if crawl is None:
            return DeleteResult(crawl_id)
        urls = _Progress(step, "removing its URLs", URLS, PAGES, crawl.urls)
        await self._drop(crawl, deleting.drop_urls, crawl_tables.frontier, urls)
        queue = _Progress(step, "taking it from the queue of the index", PAGES, PAGES, 0)
        await self._drop(crawl, deleting.drop_unindexed, crawl_tables.unindexed, queue)
        await self._drop_pages(crawl, _Progress(step, "removing its pages", PAGES, BLOBS, crawl.pages))
        await self._drop_blobs(crawl, _Progress(step, "removing their content", BLOBS, COUNTS, 0))
        counts = _Progress(step, "removing its hosts and counts", COUNTS, 99, 0)
        await self._drop(crawl, deleting.drop_hosts, crawl_tables.crawl_hosts, counts)
        await self._drop(crawl, deleting.drop_minutes, crawl_tables.crawl_minutes, counts)
        return DeleteResult(crawl_id, crawl.pages, crawl.urls)

    async def finish(self, connection: AsyncConnection, crawl_id: str) -> None:
        """Remove the row of a crawl that has nothing else any more."""
        await deleting.drop_row(connection, crawl_id)

    async def _mark(
        self, connection: AsyncConnection, crawl_id: str, tenant: str | None, by: Actor
    ) -> MarkedCrawl | None:
        crawl = await deleting.mark(connection, crawl_id, tenant)
        if crawl is not None and crawl.is_new:
            entry = ActivityEntry(
                crawl.tenant_id, Action.CRAWL_DELETED, crawl.id, by, f"{crawl.pages:,} pages"
            )
            await activity.record(connection, entry)
        return crawl

    async def _drop(self, crawl: MarkedCrawl, drop: DropBatch, table: Table, progress: _Progress) -> None:
        """Remove all rows of the crawl, also those that somebody has locked for the moment."""
        clock = asyncio.get_running_loop().time
        moved = clock()
        await progress.add(0)
        while True:
            began = clock()
            async with self.database.write() as connection:
                removed = await drop(connection, crawl.id)
                if not removed and not await deleting.are_left(connection, table, crawl.id):
                    return
            await progress.add(removed)
            if removed:
                moved = clock()
                await _rest(began)
            elif clock() - moved > MAX_LOCKED_SECONDS:
                raise Unavailable("database", f"rows of {table.name} stay locked")
            else:
                await asyncio.sleep(LOCKED_SECONDS)

    async def _drop_pages(self, crawl: MarkedCrawl, progress: _Progress) -> None:
        await progress.add(0)
        async with self.database.read() as connection:
            others = await deleting.siblings(connection, crawl)
        while True:
            began = asyncio.get_running_loop().time()
            async with self.database.read() as connection:
                pages = await deleting.next_pages(connection, crawl.id)
            if not pages:
                return
            names = await asyncio.to_thread(_index_names, crawl.tenant_id, pages)
            async with self.database.write() as connection:
                removed = await deleting.drop_pages(connection, crawl, pages, names, others)
            await progress.add(removed)
            await _rest(began)

    async def _drop_blobs(self, crawl: MarkedCrawl, progress: _Progress) -> None:
        await progress.add(0)
        while True:
            began = asyncio.get_running_loop().time()
            async with self.database.write() as connection:
                released = await crawl_blobs.release(connection, crawl.id, BLOBS_AT_ONCE)
            if not released.number:
                return
            if released.orphans:  # if this fails, upkeep drops them later
                await self.blobs.drop(released.orphans)
                async with self.database.write() as connection:
                    await orphan_blobs.forget(connection, released.orphans)
            await progress.add(released.number)
            await _rest(began)


async def _put(connection: AsyncConnection, crawl: MarkedCrawl, request_id: str) -> Job:
    """The job that deletes the crawl: the active one, or a new one."""
    new = NewJob(
        kind=KIND,
        tenant_id=crawl.tenant_id,
        payload=DeletePayload(crawl.id),
        priority=PRIORITY,
        idempotency_key=digest(f"{KIND}\n{crawl.id}"),
        request_id=request_id,
    )
    return await job_table.put(connection, new)


async def _rest(began: float) -> None:
    """Rest as long as the batch took, so that the database has time for others."""
    await asyncio.sleep(min(MAX_REST, asyncio.get_running_loop().time() - began))


def _index_names(tenant: str, pages: list[RemovedPage]) -> dict[str, RemovedPage]:
    """Pages by their names in the search index."""
    names: dict[str, RemovedPage] = {}
    for page in pages:
        try:
            names[key_of(tenant, cache_form(Url.parse(page.final_url)))] = page
        except Problem:  # a browser may end at any address
            continue
    return names
