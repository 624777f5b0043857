"""Removes pages from the cache and the search index, and cancels their queued renders."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from msgspec import Struct

from gossamer.flows.render.render import page_part, visited
from gossamer.state.jobs.job import Job, JobState
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pages.cached_page import Dropped
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_drops import AlsoInTransaction
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.render import renders
from gossamer.state.render.render_failures import RenderFailures
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.web.render.request import VARIANTS
from gossamer.web.url.url import Url, cache_form

MAX_CANCELED: Final = 10_000
SUBJECT: Final = "cache"  # in the log of activity: what was cleared has no id


class ClearResult(Struct, frozen=True):
    dropped: Dropped
    canceled: int  # renders


class CacheClearer(Struct, frozen=True):
    """A running render is not stopped: its page is newer than the one that was cleared. Failures are
    forgotten too: a caller who clears a page has often just fixed it."""

    cache: PageCache
    jobs: Jobs
    index: SearchIndex
    failures: RenderFailures
    clock: Callable[[], float] = time.time

    async def clear_url(self, tenant: str, url: Url, by: Actor) -> ClearResult:
        """In every variant and spelling: a page is cleared with and without its last slash."""
        form = cache_form(url)
        parts = [page_part(tenant, form, variant) for variant in VARIANTS]
        async with self.jobs.database.read() as connection:
            known = await renders.of_pages(connection, tenant, parts)
        canceled = await self._cancel(known)
        await self.failures.clear_form(tenant, form, self.clock())
        await self.index.drop(tenant, form)
        return ClearResult(await self.cache.drop_url(tenant, form, _record(tenant, by, form)), canceled)

    async def clear_prefix(self, tenant: str, prefix: PagePrefix, by: Actor) -> ClearResult:
        canceled = await self._cancel_where(tenant, lambda url: prefix.matches(cache_form(url)))
        await self.failures.clear_tenant(tenant, self.clock())
        await self.index.drop_prefix(tenant, prefix)
        also = _record(tenant, by, str(prefix))
        return ClearResult(await self.cache.drop_prefix(tenant, prefix, also), canceled)

    async def clear_all(self, tenant: str, by: Actor) -> ClearResult:
        canceled = await self._cancel_where(tenant, lambda _: True)
        await self.failures.clear_tenant(tenant, self.clock())
        await self.index.drop_all(tenant)
        return ClearResult(await self.cache.drop_tenant(tenant, _record(tenant, by, "all")), canceled)

    async def _cancel_where(self, tenant: str, matches: Callable[[Url], bool]) -> int:
        async with self.jobs.database.read() as connection:
            queued = await renders.list_queued(connection, tenant, limit=MAX_CANCELED)
        return await self._cancel(job for job in queued if (url := visited(job)) and matches(url))

    async def _cancel(self, jobs: Iterable[Job]) -> int:
        canceled = 0
        for job in jobs:
            if job.status is JobState.QUEUED:
                over = await self.jobs.cancel(job.job_id)
                canceled += over is not None and over.status is JobState.CANCELED
        return canceled


def _record(tenant: str, by: Actor, what: str) -> AlsoInTransaction:
    """Joins the transaction that deletes the first pages."""
    return partial(activity.record, entry=ActivityEntry(tenant, Action.CACHE_CLEARED, SUBJECT, by, what))
