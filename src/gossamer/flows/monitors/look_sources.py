"""LookSources: a page, a list, a crawl or a search as looks that can be compared."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final

from msgspec import Struct, field

from gossamer import problems
from gossamer.flows.crawl.reading.results import CrawlResults, PageWithContent, WantedContent
from gossamer.flows.monitors.page_looker import PageLook, PageLooker
from gossamer.flows.pages.search import Finder
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.state.crawl.crawled_pages import PageFilter, Position
from gossamer.web.monitors.monitor_spec import MonitoredCrawl, MonitoredSearch, MonitorSpec
from gossamer.web.monitors.page_snapshot import PageSnapshot, whole_text
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.search.passages import OutlinedText

PAGES_AT_ONCE: Final = 4  # of one monitor
ROWS_AT_ONCE: Final = 100
_STORED: Final = WantedContent(options=ReadingOptions(markdown=False, html=False, links=False))


class LookSources(Struct, frozen=True):
    looker: PageLooker
    results: CrawlResults
    finder: Finder
    clock: Callable[[], float] = field(default=time.time)

    async def check(self, spec: MonitorSpec, caller: Caller) -> None:
        """Raises `Problem` for what this caller cannot watch."""
        spec.check()
        await self.looker.check(spec)
        if isinstance(spec.watch, MonitoredCrawl):
            await self._demand_crawl(spec.watch, caller.tenant_id)

    async def look(
        self, spec: MonitorSpec, caller: Caller, known: Mapping[str, str]
    ) -> AsyncGenerator[PageLook]:
        """A look at everything that is watched, one at a time. `known` are the fingerprints of stored pages
        by URL: those that are the same are not read again. A caller that stops early must close it."""
        watch = spec.watch
        if isinstance(watch, MonitoredSearch):
            yield PageLook(await self._search(watch, caller.tenant_id))
            return
        pages = (
            self._crawled(watch, caller.tenant_id, known)
            if isinstance(watch, MonitoredCrawl)
            else self._pages(spec, watch.urls, caller)
        )
        async with aclosing(pages) as looking:
            async for look in looking:
                yield look

    async def _pages(
        self, spec: MonitorSpec, urls: tuple[str, ...], caller: Caller
    ) -> AsyncGenerator[PageLook]:
        places = asyncio.Semaphore(PAGES_AT_ONCE)

        async def one(url: str) -> PageLook:
            async with places:
                return await self.looker.look(spec, url, caller)

        tasks = [asyncio.create_task(one(url)) for url in dict.fromkeys(urls)]
        try:
            for task in tasks:
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _search(self, watch: MonitoredSearch, tenant: str) -> PageSnapshot:
        found = await self.finder.find(watch.question, tenant)
        lines = [f"{result.hit.title} ({result.hit.url})" for result in found.results]
        return PageSnapshot(
            url=f"search:{watch.query}",
            taken_at=self.clock(),
            status=200,
            outcome=Outcome.OK if found.complete else None,
            problem="" if found.complete else problems.SERVICE_UNAVAILABLE.code,
            text="\n".join(" ".join(line.split()) for line in lines),
        )

    async def _crawled(
        self, watch: MonitoredCrawl, tenant: str, known: Mapping[str, str]
    ) -> AsyncGenerator[PageLook]:
        await self._demand_crawl(watch, tenant)
        after: Position | None = None
        left = watch.max_pages
        while left > 0:
            which = PageFilter(crawl_id=watch.crawl_id, outcome=Outcome.OK.value)
            rows = await self.results.listing(which, after, min(left, ROWS_AT_ONCE))
            for row in rows:
                yield PageLook(await self._stored(row, known))
            if len(rows) < ROWS_AT_ONCE:
                return
            after, left = rows[-1].position, left - len(rows)

    async def _stored(self, row: PageWithContent, known: Mapping[str, str]) -> PageSnapshot:
        page = row.page
        bare = PageSnapshot(
            url=page.url,
            taken_at=page.crawled_at / 1000,
            title=page.title,
            status=page.status_code or 0,
            outcome=Outcome.OK,
            fingerprint=page.content_hash or "",
        )
        if bare.fingerprint and known.get(page.url) == bare.fingerprint:
            return bare
        async with aclosing(self.results.read([row], _STORED)) as reading:
            read = await anext(reading)
        if read.reading is None:
            return PageSnapshot(
                url=page.url, taken_at=bare.taken_at, problem=read.unread or "NOT_STORED", is_read=False
            )
        watched = whole_text(OutlinedText(read.reading.text, read.reading.headings))
        return PageSnapshot(
            url=page.url,
            taken_at=bare.taken_at,
            title=read.reading.title,
            status=bare.status,
            outcome=Outcome.OK,
            language=read.reading.metadata.language or "",
            text=watched.text,
            headings=watched.headings,
            fingerprint=bare.fingerprint,
        )

    async def _demand_crawl(self, watch: MonitoredCrawl, tenant: str) -> None:
        crawl = await self.results.crawls.get(watch.crawl_id)
        if crawl is None or crawl.tenant_id != tenant:
            raise Problem(problems.NOT_FOUND, "There is no crawl with this id.")
