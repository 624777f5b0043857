"""The refresher: what callers ask of a crawl that is kept fresh."""

import asyncio
from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.crawl.reading.results import CrawlResults, Shape, StoredContent
from gossamer.flows.crawl.refreshing import fresh_schedule
from gossamer.flows.crawl.refreshing.recrawl_starter import clear_surplus, put_due
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem
from gossamer.state.crawl import crawl_counts, crawls
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.refresh import due_pages, page_versions
from gossamer.state.crawl.refresh.due_pages import FreshnessCounts
from gossamer.state.crawl.refresh.page_versions import PageVersion
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.crawl.refresh.refresh_change import RefreshChange
from gossamer.web.monitors.diff.text_diff import TextDiff, diff_texts
from gossamer.web.monitors.noise.noise_kind import NoiseOptions
from gossamer.web.monitors.noise.noise_lines import SeenText

# Versions are shown as they are, whatever of their difference means nothing.
EVERYTHING: Final = NoiseOptions(
    ages=False, counters=False, dates=False, ids=False, advertisements=False, elsewhere=False, order=False
)


class CrawlRefresher(Struct, frozen=True):
    frontier: Frontier
    quotas: Quotas
    results: CrawlResults

    async def count(self, crawl: Crawl) -> FreshnessCounts | None:
        """None if the crawl is not kept fresh."""
        if not crawl.spec.keeps_fresh:
            return None
        async with self.results.database.read() as connection:
            return await due_pages.count(connection, crawl.id)

    async def change(self, crawl: Crawl, change: RefreshChange, caller: Caller, by: Actor) -> None:
        """Whoever lets a crawl be kept fresh gives it their rights. Raises `Problem` for what cannot be."""
        if crawl.state == "canceled":
            raise Problem(problems.UNPROCESSABLE_ENTITY, "The crawl was stopped for good.")
        options = change.options
        spec = msgspec.structs.replace(crawl.spec, **change.fields)
        fresh_schedule.check_refresh(caller, spec, is_private=crawl.is_private)
        async with self.results.database.write() as connection:
            await crawl_counts.lock_all(connection, [crawl.id])
            await crawls.set_refresh(connection, crawl.id, options)
            if spec.keeps_fresh:
                await fresh_schedule.add(connection, self.quotas, caller, crawl.id)
            else:
                await fresh_schedule.remove(connection, crawl.id)
            told = ", ".join(f"{name}={value}" for name, value in options.items())
            entry = ActivityEntry(crawl.tenant_id, Action.CRAWL_CHANGED, crawl.id, by, told)
            await activity.record(connection, entry)

    async def refresh(self, crawl: Crawl, caller: Caller, by: Actor) -> int:
        """Visit pages now, due or not, within the budget; returns how many were queued."""
        if not crawl.spec.keeps_fresh or crawl.state != "done":
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "Only a crawl that is done and kept fresh can be refreshed.",
                hint='Wait until it is `done`, or turn this on: PATCH with {"refresh": "auto"}.',
            )
        await self.quotas.check(caller, Quota.PAGES, Quota.BYTES)
        await clear_surplus(self.frontier, crawl)
        async with self.results.database.write() as connection:
            queued = await put_due(connection, crawl.id, early=True)
            entry = ActivityEntry(crawl.tenant_id, Action.CRAWL_REFRESHED, crawl.id, by, f"{queued:,} pages")
            await activity.record(connection, entry)
        return queued

    async def versions(self, page: StoredPage) -> list[PageVersion]:
        async with self.results.database.read() as connection:
            return await page_versions.listing(connection, page.crawl_id, page.url_hash)

    async def version(self, page: StoredPage, number: int) -> PageVersion:
        async with self.results.database.read() as connection:
            found = await page_versions.get(connection, page.crawl_id, page.url_hash, number)
        if found is None:
            raise Problem(problems.NOT_FOUND, "The page has no such version, or it is not kept any more.")
        return found

    async def content(self, page: StoredPage, number: int, shape: Shape) -> StoredContent:
        return await self.results.content(as_page(page, await self.version(page, number)), shape)

    async def diff(self, page: StoredPage, before: int, after: int) -> TextDiff:
        """What changed from one version to another, in their Markdown."""
        old, new = [await self._seen(page, number) for number in (before, after)]
        return await asyncio.to_thread(diff_texts, old, new, EVERYTHING)

    async def _seen(self, page: StoredPage, number: int) -> SeenText:
        version = await self.version(page, number)
        if version.blob is None:  # it is gone, or a redirect
            return SeenText("", version.crawled_at / 1_000)
        content = await self.results.content(as_page(page, version), "markdown")
        return SeenText(content.body.decode("utf-8", "replace"), version.crawled_at / 1_000)


def as_page(page: StoredPage, version: PageVersion) -> StoredPage:
    """The page as it was."""
    return msgspec.structs.replace(
        page,
        final_url=version.final_url,
        status_code=version.status_code,
        content_type=version.content_type,
        content_length=version.content_length,
        content_hash=version.content_hash,
        title=version.title,
        crawled_at=version.crawled_at,
        blob=version.blob,
        blob_offset=version.blob_offset,
        blob_size=version.blob_size,
    )
