"""Forget: pages that are not to be served or found any more, and renders of them that have not begun."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from gossamer.flows.render import BOTS, Look, Payload, page_part
from gossamer.problems import Problem
from gossamer.state import renders
from gossamer.state.jobs import Job, Jobs, State
from gossamer.state.page_cache import Dropped, PageCache, PageKey, PagePrefix
from gossamer.state.render_failures import RenderFailures
from gossamer.state.search_index import SearchIndex
from gossamer.web.url import Url, cache_form

LOOKS: Final = tuple(Look(bot=bot, keep_scripts=keep) for bot in BOTS for keep in (False, True))
MOST_CANCELED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Forgotten:
    dropped: Dropped
    canceled: int  # renders


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A render that is running is not stopped: what it brings is newer than what was forgotten. That one
    has failed is forgotten too: who clears a page has often just mended it."""

    cache: PageCache
    jobs: Jobs
    index: SearchIndex
    failures: RenderFailures
    clock: Callable[[], float] = time.time

    async def url(self, tenant: str, url: Url) -> Forgotten:
        """In every variant."""
        form = cache_form(url)
        keys = [PageKey(tenant, form, look.variant) for look in LOOKS]
        async with self.jobs.database.read() as connection:
            known = await renders.of_pages(connection, tenant, [page_part(key) for key in keys])
        canceled = await self._cancel(known)
        await self.failures.clear(*keys)
        await self.index.drop(tenant, form)
        return Forgotten(await self.cache.drop_url(tenant, form), canceled)

    async def prefix(self, tenant: str, prefix: PagePrefix) -> Forgotten:
        canceled = await self._cancel_where(tenant, lambda url: prefix.matches(cache_form(url)))
        await self.failures.clear_tenant(tenant, self.clock())
        await self.index.drop_prefix(tenant, prefix)
        return Forgotten(await self.cache.drop_prefix(tenant, prefix), canceled)

    async def everything(self, tenant: str) -> Forgotten:
        canceled = await self._cancel_where(tenant, lambda _: True)
        await self.failures.clear_tenant(tenant, self.clock())
        await self.index.drop_all(tenant)
        return Forgotten(await self.cache.drop_tenant(tenant), canceled)

    async def _cancel_where(self, tenant: str, matches: Callable[[Url], bool]) -> int:
        async with self.jobs.database.read() as connection:
            queued = await renders.queued(connection, tenant, limit=MOST_CANCELED)
        return await self._cancel(job for job in queued if (url := _url(job)) and matches(url))

    async def _cancel(self, jobs: Iterable[Job]) -> int:
        canceled = 0
        for job in jobs:
            if job.status is State.QUEUED:
                over = await self.jobs.cancel(job.job_id)
                canceled += over is not None and over.status is State.CANCELED
        return canceled


def _url(job: Job) -> Url | None:
    try:
        return Url.parse(msgspec.json.decode(job.payload_json, type=Payload).url)
    except (msgspec.MsgspecError, Problem):
        return None
