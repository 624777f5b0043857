"""Site audit: the pages of a site, had by a crawl, checked one by one and then all together.

A crawl of the audit's own fetches them, at the pace that robots.txt and the settings ask for. It belongs to
the audit from the moment it is made, so whoever takes an audit over goes on with its crawl.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Protocol

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer import problems
from gossamer.flows.audit import Auditor, Options, Payload, Step
from gossamer.flows.crawl.content import unpacked
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.site_beside import Surroundings, links_outside, surroundings
from gossamer.flows.workbench import Audited
from gossamer.problems import Problem
from gossamer.reach.fetch import Ask
from gossamer.state import audits, crawled_pages, crawls
from gossamer.state.audits import Audit
from gossamer.state.blobs import Blobs
from gossamer.state.crawled_pages import PageFilter, PageRow, Position
from gossamer.state.crawls import Crawl, Crawls, Spec
from gossamer.state.database import Database
from gossamer.state.job import Job
from gossamer.web import robots
from gossamer.web.audit import Subject
from gossamer.web.kind import Kind
from gossamer.web.page import Page
from gossamer.web.reading import How
from gossamer.web.site_audit import Gathering, SiteReport, site_audit
from gossamer.web.site_checks.redirects import resolved
from gossamer.web.site_checks.sight import Form, closed, form_of
from gossamer.web.site_checks.site import Site, SitePage, host_of
from gossamer.web.site_comparison import Comparison, compare
from gossamer.web.url import Url

KIND: Final = "site_audit"
MOST_PAGES: Final = 5_000
DEEPEST: Final = 100  # clicks
LONGEST_SECONDS: Final = 6 * 3600.0  # for the crawl; what is there then is audited
LOOK_SECONDS: Final = 0.5  # how often it is asked how far the crawl is
ROWS_AT_ONCE: Final = 200
FORMS: Final = 200_000  # addresses whose form is remembered
CRAWLED, READ = 60, 95  # percent of the work that are done then
TOLD_STEPS: Final = 30  # of the progress


class Work(Protocol):
    """What an audit needs of the job that it is."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> Payload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]: ...


@dataclass(frozen=True, slots=True)
class SiteAuditor:
    auditor: Auditor
    database: Database
    crawls: Crawls
    blobs: Blobs
    agent: str  # what robots.txt is asked for
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self, work: Work) -> SiteReport:
        """As a job. Its crawl goes on when a worker stops, and ends when nobody wants the audit any more."""
        crawl_id = await self._crawl_of(work)
        try:
            return await self.audit(crawl_id, work.payload.options, work.step, lambda: work.canceled)
        finally:
            if work.canceled:
                await asyncio.shield(self.crawls.cancel(crawl_id))

    async def audit(
        self, crawl_id: str, options: Options, step: Step, is_canceled: Callable[[], bool] = lambda: False
    ) -> SiteReport:
        """`step` raises when `is_canceled`."""
        crawl = await self._wait(crawl_id, step, is_canceled)
        form = lru_cache(FORMS)(form_of)
        start = await self._start(Url.parse(crawl.spec.seeds[0]), options)
        await step("looking at what stands beside the pages", CRAWLED)
        beside = await surroundings(self.auditor, start, form)
        gathering = Gathering()
        pages = [one async for one in self._pages(crawl, beside, gathering, form, step)]
        await step("following links to other sites", READ)
        outside = await links_outside(self.auditor, pages, start.final_url, options.max_links)
        await step("checking the site", READ + 2)
        rules = robots.from_answer(beside.files["robots"].status, beside.files["robots"].text, self.agent)
        site = Site(
            start=form(start.final_url),
            pages=_together(pages, beside, rules, form(start.final_url)),
            is_complete=_is_complete(crawl),
            listed=beside.listed,
            named=beside.named,
            missing_status=beside.missing_status,
            missing_url=beside.missing_url,
            outside={one.url: str(one.status or one.problem) if one.broken else "" for one in outside},
        )
        return await asyncio.to_thread(site_audit, site, gathering, now=self.clock(), crawl_id=crawl_id)

    async def begin(
        self, connection: AsyncConnection, tenant: str, seed: Url, options: Options, *, request_id: str = ""
    ) -> str:
        """The crawl of an audit, in the transaction of who remembers its id."""
        spec = Spec(seeds=(seed.href,), scope="host", max_pages=options.max_pages, max_depth=DEEPEST)
        crawl = await crawls.add(
            connection,
            tenant,
            spec,
            name=f"Audit of {seed.host}",
            request_id=request_id,
            urls=seeds_of(spec),
        )
        return crawl.id

    async def seed(self, url: Url, options: Options) -> Url:
        """Where the site really begins: `example.com` is often `www.example.com`, which is another host."""
        return Url.parse((await self._start(url, options)).final_url)

    async def _crawl_of(self, work: Work) -> str:
        """Made by the first attempt, and known to all."""
        wanted = work.payload
        async with self.database.read() as connection:
            known = await audits.get(connection, wanted.audit_id)
        if known is None:
            raise Problem(problems.NOT_FOUND, "There is no audit for this job.")
        if known.crawl_id is not None:
            return known.crawl_id
        await work.step("fetching the start page", 1)
        seed = await self.seed(Url.parse(wanted.url), wanted.options)
        job = work.job
        async with work.holding() as connection:
            crawl_id = await self.begin(
                connection, job.tenant_id, seed, wanted.options, request_id=job.request_id
            )
            await audits.begin_crawl(connection, wanted.audit_id, crawl_id)
        return crawl_id

    async def _start(self, url: Url, options: Options) -> Page:
        return await self.auditor.fetcher.fetch(Ask(url=url, timeout=options.timeout, attempts=1))

    async def _wait(self, crawl_id: str, step: Step, is_canceled: Callable[[], bool]) -> Crawl:
        """Until the crawl is over; told as it goes on."""
        until = asyncio.get_running_loop().time() + LONGEST_SECONDS
        told = -1
        while True:
            crawl = await self.crawls.get(crawl_id)
            if crawl is None:
                raise Problem(problems.NOT_FOUND, "The crawl of this audit is gone.")
            if crawl.is_over:
                return crawl
            if (percent := _percent(crawl)) * TOLD_STEPS // 100 > told or is_canceled():
                told = percent * TOLD_STEPS // 100
                await step(f"crawling: {crawl.counts.pages:,} pages", percent * CRAWLED // 100)
            if asyncio.get_running_loop().time() >= until or await self._is_kept_out(crawl):
                await self.crawls.cancel(crawl_id)
            await self.sleep(LOOK_SECONDS)

    async def _is_kept_out(self, crawl: Crawl) -> bool:
        """Is there nothing left but hosts that do not hand out their robots.txt? That takes an hour."""
        waiting = await self.crawls.waiting(crawl)
        return waiting is not None and waiting.reason == "robots_unreachable"

    async def _pages(
        self, crawl: Crawl, beside: Surroundings, gathering: Gathering, form: Form, step: Step
    ) -> AsyncGenerator[SitePage]:
        """What is known of each address; pages are checked by themselves on the way."""
        done, total, told = 0, max(1, crawl.counts.pages), -1
        async with aclosing(self._rows(crawl.id)) as arriving:
            async for row, page in arriving:
                if (part := min(done, total) * TOLD_STEPS // total) > told:
                    told = part
                    percent = CRAWLED + (READ - CRAWLED) * part // TOLD_STEPS
                    await step(f"reading: {done:,} of {total:,} pages", percent)
                done += 1
                audited = await self._audited(page, beside, form)
                if audited is None:
                    yield _unread(row, form)
                    continue
                if audited.report.page.kind is Kind.HTML:
                    gathering.add(audited.report)
                yield replace(audited.sight, url=form(row.url), final_url=form(row.final_url))

    async def _audited(self, page: Page | None, beside: Surroundings, form: Form) -> Audited | None:
        """None for what is no page, or cannot be read."""
        if page is None or not 200 <= page.status < 300:
            return None
        workshop = self.auditor.workshop
        try:
            reading = await workshop.read(page, How())
            subject = Subject(page=page, reading=reading, now=self.clock(), **beside.files)
            return await workshop.audit(subject, form)
        except Problem:
            return None

    async def _rows(self, crawl_id: str) -> AsyncGenerator[tuple[PageRow, Page | None]]:
        """Those that were stored together are in one object, one after the other."""
        after: Position | None = None
        while True:
            async with self.database.read() as connection:
                rows = await crawled_pages.listing(
                    connection, PageFilter(crawl_id=crawl_id), after=after, limit=ROWS_AT_ONCE
                )
            if not rows:
                return
            for blob, group in groupby(rows, key=lambda row: row.blob):
                whole = await self.blobs.get(blob) if blob is not None else None
                for row in group:
                    yield row, _taken_out(whole, row)
            after = Position(rows[-1].crawled_at, rows[-1].url_hash)


def _taken_out(whole: bytes | None, row: PageRow) -> Page | None:
    if whole is None:
        return None
    return unpacked(whole[row.blob_offset : row.blob_offset + row.blob_size])


def _unread(row: PageRow, form: Form) -> SitePage:
    return SitePage(
        url=form(row.url),
        final_url=form(row.final_url),
        status=row.status_code,
        problem=row.error,
        media_type=row.content_type.partition(";")[0].strip().lower(),
        title=row.title,
    )


def _together(
    pages: Sequence[SitePage], beside: Surroundings, rules: robots.Robots, start: str
) -> tuple[SitePage, ...]:
    """With where redirects end, and with the addresses that nobody was allowed to ask for."""
    known = {page.url for page in pages}
    named = [start, *(beside.listed or ()), *(beside.named or ())]
    linked: Iterable[str] = (link.url for page in pages for link in page.links)
    unknown = (url for url in (*named, *linked) if url not in known and host_of(url) == host_of(start))
    return (*resolved(pages), *closed(unknown, rules))


def _is_complete(crawl: Crawl) -> bool:
    """Nothing was left when it ended, and not because it had enough."""
    counts = crawl.counts
    return crawl.state == "done" and counts.pending == 0 and counts.pages < crawl.spec.max_pages


def _percent(crawl: Crawl) -> int:
    """How far the crawl is; what it will still find, nobody knows."""
    counts = crawl.counts
    of_enough = counts.pages / max(1, crawl.spec.max_pages)
    of_known = (counts.urls - counts.pending - counts.in_progress) / max(1, counts.urls)
    return min(99, int(100 * max(of_enough, of_known / 2)))


# Two audits of one site.


@dataclass(frozen=True, slots=True)
class Compared:
    audit_id: str  # of the earlier one
    comparison: Comparison


def is_site(known: Audit) -> bool:
    return msgspec.json.decode(known.options_json, type=Options).max_pages > 1


def compared(known: Audit, other: Audit) -> Compared | None:
    """None while there is no report. A Problem says that the two cannot be compared."""
    if not (is_site(known) and is_site(other)) or other.report_json is None:
        raise Problem(problems.UNPROCESSABLE_ENTITY, "Only finished audits of whole sites can be compared.")
    if known.report_json is None:
        return None
    before, after = _report(other), _report(known)
    return Compared(other.id, compare(before, after))


def _report(known: Audit) -> SiteReport:
    return msgspec.json.decode(known.report_json or "", type=SiteReport)
