"""Auditor: audits one page, or all pages of a site.

A single page is fetched here. For a site, the audit has a crawl of its own, at the pace that robots.txt and
the settings ask for. The crawl belongs to the audit from the start, so a worker that takes over an audit
goes on with its crawl. An audit may also look at a crawl that is there, and then fetches nothing.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.audit.probe import SiteProbe, SiteSurvey
from gossamer.flows.audit.stored_pages import StoredPages, known_files, known_survey, not_over
from gossamer.flows.crawl.content import unpack
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.parsers.parser_process import AuditedPage
from gossamer.problems import Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawled_pages, crawls
from gossamer.state.crawl.crawled_pages import PageFilter, Position, StoredPage
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import audits
from gossamer.state.jobs.job import Job
from gossamer.web.audit.page.subject import Subject
from gossamer.web.audit.report import AuditOptions, AuditReport
from gossamer.web.audit.site.site import SitePage, host_of
from gossamer.web.audit.site.site_page import Normalise, closed_pages, normalise, resolve_redirects
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.robots import robots
from gossamer.web.url.url import Url

if TYPE_CHECKING:
    from gossamer.web.audit.audit import PageFindings

MAX_DEPTH: Final = 100  # clicks
MAX_CRAWL_SECONDS: Final = 6 * 3600.0  # then the pages so far are audited
POLL_SECONDS: Final = 0.5  # how often the progress of the crawl is read
ROWS_AT_ONCE: Final = 200
MAX_CACHED_URLS: Final = 200_000  # addresses whose normal form is cached
CRAWLED, READ = 60, 95  # percent of the work done at these points
PROGRESS_STEPS: Final = 30

Step = Callable[[str, int], Awaitable[None]]  # reports what is being done, and the progress in percent


class AuditPayload(Struct, frozen=True):
    """What a job carries."""

    audit_id: str
    url: str
    options: AuditOptions


class AuditWork(Protocol):
    """What an audit needs from its job."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> AuditPayload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]: ...

    def finishing(self, result: Any = None) -> AbstractAsyncContextManager[AsyncConnection]: ...


class Auditor(Struct, frozen=True):
    probe: SiteProbe
    database: Database
    crawls: Crawls
    blobs: Blobs
    agent: str  # the name that robots.txt is asked about
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self, work: AuditWork) -> None:
        """Audit as a job, and store the report in the transaction that finishes it."""
        wanted = work.payload
        if wanted.options.scope == "page":
            report = await self.audit_page(Url.parse(wanted.url), wanted.options, work.step)
        else:
            report = await self._run_site(work)
        encoded = (await asyncio.to_thread(msgspec.json.encode, report)).decode()
        async with work.finishing(_job_result(wanted.audit_id, report)) as connection:
            await audits.complete(connection, wanted.audit_id, report, encoded)

    async def audit_page(self, url: Url, options: AuditOptions, step: Step) -> AuditReport:
        probe = await self._probe_for(options)
        await step("fetching the page", 5)
        page = await probe.fetch_page(url, options.timeout / 1000)
        await step("reading it", 25)
        reading = await probe.parsers.read(page, ReadingOptions(resources=True))
        await step("looking at what stands beside it", 40)
        files = await probe.fetch_files(page)
        if options.crawl_id is not None:
            files = known_files(files)
        await step("following its links, and what it loads", 60)
        links = await probe.try_page(reading, page, options.max_links) if options.max_links else None
        await step("checking", 90)
        subject = Subject(page=page, reading=reading, now=self.clock(), links=links, **files)
        return (await self.probe.parsers.audit(subject)).report

    async def audit_crawl(
        self,
        crawl_id: str,
        options: AuditOptions,
        step: Step,
        is_canceled: Callable[[], bool],
    ) -> AuditReport:
        """Wait for a crawl and audit its pages. `step` raises if `is_canceled`."""
        crawl = await self._wait(crawl_id, step, is_canceled)
        begin = Url.parse(crawl.spec.seeds[0])
        return await self._audit_stored(crawl, begin, self.probe, options, step)

    async def audit_known(self, begin: Url, options: AuditOptions, step: Step) -> AuditReport:
        """Audit the pages that a crawl has of the host of this page, without the network."""
        crawl = await self._find_crawl(options)
        return await self._audit_stored(crawl, begin, await self._probe_for(options), options, step)

    async def _audit_stored(
        self, crawl: Crawl, begin: Url, probe: SiteProbe, options: AuditOptions, step: Step
    ) -> AuditReport:
        from gossamer.web.audit.audit import PageFindings, audit_site  # all checks: most processes need none

        normal = lru_cache(MAX_CACHED_URLS)(normalise)
        start = await probe.fetch_page(begin, options.timeout / 1000)
        await step("looking at what stands beside the pages", CRAWLED)
        survey, host = await probe.survey(start, normal), ""
        if options.crawl_id is not None:
            survey, host = known_survey(survey), host_of(survey.site.start)
        findings = PageFindings()
        rows = self._read_rows(crawl.id, host, options.max_pages)
        pages = [one async for one in self._audit_pages(crawl, rows, survey, findings, normal, step)]
        await step("following links to other sites", READ)
        outside = await probe.try_outside_links(pages, start.final_url, options.max_links)
        await step("trying images, scripts and styles", READ + 1)
        loaded = await probe.try_site_resources(pages, start.final_url) if options.max_links else {}
        await step("checking the site", READ + 2)
        site = replace(
            survey.site,
            pages=self._merge(pages, survey),
            is_complete=_is_complete(crawl) and len(pages) < options.max_pages,
            tried_links=outside,
            tried_resources=loaded,
        )
        return await asyncio.to_thread(audit_site, site, findings, now=self.clock(), crawl_id=crawl.id)

    async def _probe_for(self, options: AuditOptions) -> SiteProbe:
        """What asks the web, or a crawl in its place."""
        if options.crawl_id is None:
            return self.probe
        stored = StoredPages(self.database, self.blobs, await self._find_crawl(options))
        return SiteProbe(stored, self.probe.parsers)

    async def _find_crawl(self, options: AuditOptions) -> Crawl:
        crawl = await self.crawls.get(options.crawl_id or "")
        if crawl is None:
            raise Problem(problems.NOT_FOUND, "The crawl of this audit is gone.")
        if not crawl.is_over:
            raise not_over()
        return crawl

    # The crawl of a site.

    async def find_start(self, url: Url, options: AuditOptions) -> Url:
        """Where the site really begins: `example.com` often redirects to `www.example.com`, another host."""
        return Url.parse((await self.probe.fetch_page(url, options.timeout / 1000)).final_url)

    async def add_crawl(
        self,
        connection: AsyncConnection,
        audit_id: str,
        start: Url,
        options: AuditOptions,
        *,
        tenant_id: str,
        request_id: str = "",
    ) -> str:
        """Begin the crawl of an audit, in the caller's transaction."""
        spec = CrawlSpec(seeds=(start.href,), scope="host", max_pages=options.max_pages, max_depth=MAX_DEPTH)
        crawl = await crawls.add(
            connection,
            tenant_id,
            spec,
            name=f"Audit of {start.host}",
            request_id=request_id,
            urls=seeds_of(spec),
        )
        await audits.set_crawl(connection, audit_id, crawl.id)
        return crawl.id

    async def _run_site(self, work: AuditWork) -> AuditReport:
        """The crawl goes on if the worker stops, and is canceled with the audit."""
        wanted = work.payload
        if wanted.options.crawl_id is not None:
            return await self.audit_known(Url.parse(wanted.url), wanted.options, work.step)
        crawl_id = await self._ensure_crawl(work)
        try:
            return await self.audit_crawl(crawl_id, work.payload.options, work.step, lambda: work.canceled)
        finally:
            if work.canceled:
                await asyncio.shield(self.crawls.cancel(crawl_id))

    async def _ensure_crawl(self, work: AuditWork) -> str:
        """The first attempt begins the crawl, and later ones go on with it."""
        wanted, job = work.payload, work.job
        async with self.database.read() as connection:
            known = await audits.get(connection, wanted.audit_id)
        if known is None:
            raise Problem(problems.NOT_FOUND, "There is no audit for this job.")
        if known.crawl_id is not None:
            return known.crawl_id
        await work.step("fetching the start page", 1)
        start = await self.find_start(Url.parse(wanted.url), wanted.options)
        async with work.holding() as connection:
            return await self.add_crawl(
                connection,
                wanted.audit_id,
                start,
                wanted.options,
                tenant_id=job.tenant_id,
                request_id=job.request_id,
            )

    async def _wait(self, crawl_id: str, step: Step, is_canceled: Callable[[], bool]) -> Crawl:
        """Wait until the crawl is over, and report its progress."""
        until = asyncio.get_running_loop().time() + MAX_CRAWL_SECONDS
        reported = -1
        while True:
            crawl = await self.crawls.get(crawl_id)
            if crawl is None:
                raise Problem(problems.NOT_FOUND, "The crawl of this audit is gone.")
            if crawl.is_over:
                return crawl
            if (percent := _percent(crawl)) * PROGRESS_STEPS // 100 > reported or is_canceled():
                reported = percent * PROGRESS_STEPS // 100
                await step(f"crawling: {crawl.counts.pages:,} pages", percent * CRAWLED // 100)
            if asyncio.get_running_loop().time() >= until or await self._is_kept_out(crawl):
                await self.crawls.cancel(crawl_id)
            await self.sleep(POLL_SECONDS)

    async def _is_kept_out(self, crawl: Crawl) -> bool:
        """Whether only hosts without a reachable robots.txt are left: the crawl would wait for an hour."""
        waiting = await self.crawls.waiting(crawl)
        return waiting is not None and waiting.reason == "robots_unreachable"

    # The pages of a crawl.

    async def _audit_pages(
        self,
        crawl: Crawl,
        rows: AsyncGenerator[tuple[StoredPage, Page | None]],
        survey: SiteSurvey,
        findings: "PageFindings",
        normal: Normalise,
        step: Step,
    ) -> AsyncGenerator[SitePage]:
        """The facts about each address; readable pages are audited on the way."""
        done, total, reported = 0, max(1, crawl.counts.pages), -1
        async with aclosing(rows) as arriving:
            async for row, page in arriving:
                if (part := min(done, total) * PROGRESS_STEPS // total) > reported:
                    reported = part
                    percent = CRAWLED + (READ - CRAWLED) * part // PROGRESS_STEPS
                    await step(f"reading: {done:,} of {total:,} pages", percent)
                done += 1
                audited = await self._audit_one(page, survey, normal)
                if audited is None:
                    yield _unread(row, normal)
                    continue
                if audited.is_html:
                    findings.add(normal(row.final_url), audited.report)
                yield replace(audited.summary, url=normal(row.url), final_url=normal(row.final_url))

    async def _audit_one(
        self, page: Page | None, survey: SiteSurvey, normal: Normalise
    ) -> AuditedPage | None:
        """None for an error page, or one that cannot be read."""
        if page is None or not 200 <= page.status < 300:
            return None
        parsers = self.probe.parsers
        try:
            reading = await parsers.read(page, ReadingOptions())
            subject = Subject(page=page, reading=reading, now=self.clock(), **survey.files)
            return await parsers.audit(subject, normal)
        except Problem:
            return None

    async def _read_rows(
        self, crawl_id: str, host: str, most: int
    ) -> AsyncGenerator[tuple[StoredPage, Page | None]]:
        """Pages of this host, or of all. Those that were stored together are in one blob, one after the
        other."""
        after: Position | None = None
        while True:
            async with self.database.read() as connection:
                rows = await crawled_pages.listing(
                    connection, PageFilter(crawl_id=crawl_id), after=after, limit=ROWS_AT_ONCE
                )
            if not rows:
                return
            wanted = [row for row in rows if not host or host_of(row.url) == host][:most]
            for blob, group in groupby(wanted, key=lambda row: row.blob):
                whole = await self.blobs.get(blob) if blob is not None else None
                for row in group:
                    yield row, _unpack(whole, row)
            most -= len(wanted)
            if most <= 0:
                return
            after = Position(rows[-1].crawled_at, rows[-1].url_hash)

    def _merge(self, pages: Sequence[SitePage], survey: SiteSurvey) -> tuple[SitePage, ...]:
        """Resolve redirects, and add the addresses that robots.txt closes."""
        site, known = survey.site, {page.url for page in pages}
        named = [site.start, *(site.listed or ()), *(site.llms_urls or ())]
        linked: Iterable[str] = (link.url for page in pages for link in page.links)
        unknown = (url for url in (*named, *linked) if url not in known and site.is_inside(url))
        file = survey.files["robots"]
        if file is None:
            return tuple(resolve_redirects(pages))
        rules = robots.from_answer(file.status, file.text, self.agent)
        return (*resolve_redirects(pages), *closed_pages(unknown, rules))


def _job_result(audit_id: str, report: AuditReport) -> dict[str, Any]:
    pages = {} if report.site is None else {"pages": report.site.pages}
    return {"auditId": audit_id, "score": report.score, **pages, "reportUrl": f"/audits/{audit_id}"}


def _unpack(whole: bytes | None, row: StoredPage) -> Page | None:
    try:
        return unpack(whole[row.blob_offset : row.blob_offset + row.blob_size]) if whole else None
    except Problem:  # a damaged page is treated like one that was not kept
        return None


def _unread(row: StoredPage, normal: Normalise) -> SitePage:
    return SitePage(
        url=normal(row.url),
        final_url=normal(row.final_url),
        status=row.status_code,
        problem=row.error,
        media_type=row.content_type.partition(";")[0].strip().lower(),
        title=row.title,
    )


def _is_complete(crawl: Crawl) -> bool:
    """Whether nothing was left when it ended, for another reason than its limit of pages."""
    counts = crawl.counts
    followed = counts.urls > 0  # an import follows nothing
    return crawl.state == "done" and followed and counts.pending == 0 and counts.pages < crawl.spec.max_pages


def _percent(crawl: Crawl) -> int:
    """The progress of the crawl, as far as its known addresses allow an estimate."""
    counts = crawl.counts
    of_enough = counts.pages / max(1, crawl.spec.max_pages)
    of_known = (counts.urls - counts.pending - counts.in_progress) / max(1, counts.urls)
    return min(99, int(100 * max(of_enough, of_known / 2)))
