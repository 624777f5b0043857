"""Replays stored pages: reads their content again by the rules of today, and writes what has changed.

Pages are read as the crawl reads them, by the same parser and processor. Where a page stands, when it was
crawled and what past minutes counted stays as it is.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from sqlalchemy import and_, tuple_

from gossamer.flows.crawl.plan import CrawlPlan, Plans
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_parser import PageParser, ParsedPage, is_quick_here
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.visit import MAX_ATTEMPTS
from gossamer.flows.data.archive.archiver import read_answers
from gossamer.flows.data.removal.leftovers import index_names
from gossamer.flows.data.removal.pacing import RemovalProgress
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.problems import Busy, Problem, Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME, Position, StoredPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.new_urls import LOW
from gossamer.state.crawl.removal import purge
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl, RemovedPage
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.crawl.upkeep import refetch, whole_pages
from gossamer.state.crawl.upkeep.whole_pages import ReplayedPage
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.db.tables import search_pages
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.search import search_rows
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.pages.page import Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import digest

KIND: Final = "replay"
PAGES_AT_ONCE: Final = 100
CRAWLS_AT_ONCE: Final = 100
_NO_RULES: Final = Robots.parse("")  # new URLs are not taken, so nothing is forbidden


class ReplayPayload(msgspec.Struct, frozen=True):
    """What a job carries."""

    which: PurgeFilter
    refetch: bool = False


class ReplayExample(msgspec.Struct, frozen=True, rename="camel"):
    """A page that has changed, or would: each value before and after."""

    url: str
    changes: dict[str, tuple[Any, Any]]


class ReplayResult(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What was read again."""

    pages: int = 0  # whose content was read
    changed: int = 0
    unreadable: int = 0  # their content is missing or damaged
    refetched: int = 0  # URLs that wait to be fetched again
    changes: dict[str, int] = {}  # pages by what has changed
    example: ReplayExample | None = None


class _ReplayCount(Struct):
    pages: int = 0
    changed: int = 0
    unreadable: int = 0
    refetched: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    example: ReplayExample | None = None

    def add(self, read: int, total: int, changed: Sequence[ReplayedPage]) -> None:
        self.pages += read
        self.unreadable += total - read
        self.changed += len(changed)
        for page in changed:
            self.changes.update(page.changes.keys())
            self.example = self.example or ReplayExample(page.before.url, page.changes)

    def result(self) -> ReplayResult:
        return ReplayResult(
            pages=self.pages,
            changed=self.changed,
            unreadable=self.unreadable,
            refetched=self.refetched,
            changes=dict(self.changes),
            example=self.example,
        )


class Replayer(Struct, frozen=True):
    jobs: Jobs
    crawls: Crawls
    blobs: Blobs
    parsers: ParserPool
    agent: str

    @property
    def database(self) -> Database:
        return self.jobs.database

    async def queue(self, which: PurgeFilter, by: Actor, tenant: str, *, refetch: bool) -> Job:
        """Replay as a job of this tenant."""
        payload = ReplayPayload(which, refetch)
        new = NewJob(
            kind=KIND,
            tenant_id=tenant,
            payload=payload,
            idempotency_key=digest(f"{KIND}\n{msgspec.json.encode(payload).decode()}"),
            request_id=by.request_id,
        )
        async with self.database.write() as connection:
            job = await job_table.put(connection, new)
            entry = ActivityEntry(tenant, Action.PAGES_REPLAYED, job.job_id, by, which.describe())
            await activity.record(connection, entry)
        self.jobs.wake(job.kind)
        return job

    async def run(self, payload: ReplayPayload, step: Step) -> ReplayResult:
        work = self.refetch if payload.refetch else self.replay
        return await work(payload.which, step)

    async def replay(self, which: PurgeFilter, step: Step, *, dry_run: bool = False) -> ReplayResult:
        count = _ReplayCount()
        progress = RemovalProgress(step, "reading pages again", 5, 99, await self._total(which))
        await progress.add(0)
        plans = Plans(self.crawls, asyncio.get_running_loop().time)
        for crawl in await self._crawls(which):
            plan = await plans.get(crawl.id)
            if plan is not None:
                await self._replay_crawl(crawl, plan, which, progress, count, dry_run=dry_run)
        return count.result()

    async def refetch(self, which: PurgeFilter, step: Step) -> ReplayResult:
        """Let the crawls fetch these pages again. Those that were canceled stay as they are."""
        count = _ReplayCount()
        progress = RemovalProgress(step, "queueing URLs again", 5, 99, await self._total(which))
        await progress.add(0)
        for crawl in await self._crawls(which):
            after = Position(-1, "")
            while pages := await self._next(crawl, which, after, with_body=False):
                after = Position(pages[-1].crawled_at, pages[-1].url_hash)
                try:
                    async with self.database.write() as connection:
                        count.refetched += await refetch.put(connection, crawl.id, pages)
                except CrawlsGone:
                    break
                await progress.add(len(pages))
        return count.result()

    async def _replay_crawl(
        self,
        crawl: OwnedCrawl,
        plan: CrawlPlan,
        which: PurgeFilter,
        progress: RemovalProgress,
        count: _ReplayCount,
        *,
        dry_run: bool,
    ) -> None:
        processor, after = PageProcessor(KnownUrls(1), self.agent), Position(-1, "")
        while pages := await self._next(crawl, which, after, with_body=True):
            after = Position(pages[-1].crawled_at, pages[-1].url_hash)
            read = await self._read(processor, plan, pages)
            changed = [page for page in read if page.changes]
            count.add(len(read), len(pages), changed)
            if changed and not dry_run:
                await self._write(crawl, changed)
            await progress.add(len(pages))

    async def _read(
        self, processor: PageProcessor, plan: CrawlPlan, pages: Sequence[StoredPage]
    ) -> list[ReplayedPage]:
        parsed: list[tuple[StoredPage, CrawlTask, Page, ParsedPage | None]] = []
        rows = iter(pages)
        async for page in read_answers(self.blobs, pages):
            row = next(rows)
            if page is None:
                continue
            task = _task(row)
            try:
                found = await self._parse(task, page, plan)
            except Unavailable:
                raise
            except Problem:  # it takes too long, or too much memory
                continue
            parsed.append((row, task, page, found))

        def process() -> list[ReplayedPage]:
            made = []
            for row, task, page, found in parsed:
                visited = processor.process(task, plan, page, _NO_RULES, 0.0, found)
                if visited.row is not None:
                    made.append(ReplayedPage(row, whole_pages.storable_page(row, visited.row)))
            return made

        return await asyncio.to_thread(process)

    async def _parse(self, task: CrawlTask, page: Page, plan: CrawlPlan) -> ParsedPage | None:
        if is_quick_here(task, page):
            return None
        return await PageParser(self.parsers, self.agent).parse(task, page, plan.spec.max_urls_per_page)

    async def _write(self, crawl: OwnedCrawl, changed: Sequence[ReplayedPage]) -> None:
        spoiled = [page.after for page in changed if _is_spoiled(page)]
        names = await asyncio.to_thread(index_names, crawl.tenant_id, [_removed(page) for page in spoiled])
        async with self.database.write() as connection:
            moments = {name: one.page.crawled_at for name, one in names.items()}
            await _drop_words(connection, crawl.tenant_id, moments)
            await whole_pages.replace_read(connection, changed)

    async def _crawls(self, which: PurgeFilter) -> list[OwnedCrawl]:
        found: list[OwnedCrawl] = []
        while True:
            async with self.database.read() as connection:
                after = found[-1].id if found else ""
                more = await purge.list_crawls(connection, which, after, CRAWLS_AT_ONCE)
            found += more
            if len(more) < CRAWLS_AT_ONCE:
                return found

    async def _next(
        self, crawl: OwnedCrawl, which: PurgeFilter, after: Position, *, with_body: bool
    ) -> list[StoredPage]:
        conditions = which.conditions(crawl.id)
        if with_body:
            conditions.append(crawled_pages.c.blob.is_not(None))
        async with self.database.read() as connection:
            return await whole_pages.next_pages(connection, conditions, after, PAGES_AT_ONCE)

    async def _total(self, which: PurgeFilter) -> int:
        """For the progress only."""
        try:
            async with self.database.scan() as connection:
                return (await purge.count(connection, which)).pages
        except Busy:
            return 0


def _task(row: StoredPage) -> CrawlTask:
    """As if it were the last attempt, so that nothing is tried again."""
    return CrawlTask(
        crawl_id=row.crawl_id,
        url_hash=row.url_hash,
        url=row.url,
        host=row.host,
        depth=row.depth,
        priority=LOW,
        attempt=MAX_ATTEMPTS,
    )


def _is_spoiled(page: ReplayedPage) -> bool:
    """Whether it turns out not to be the page that was asked for."""
    return page.before.outcome == USUAL_OUTCOME != page.after.outcome


def _removed(page: StoredPage) -> RemovedPage:
    return RemovedPage(page.url_hash, page.final_url, page.host, page.crawled_at, page.blob)


async def _drop_words(connection: AsyncConnection, tenant: str, moments: dict[str, int]) -> None:
    """Take these pages out of the index, unless they were read again since."""
    if moments:
        found = search_pages.c
        own = and_(found.name.in_(moments), tuple_(found.name, found.seen_at).in_(list(moments.items())))
        await search_rows.drop(connection, tenant, own)
