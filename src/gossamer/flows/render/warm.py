"""Queues renders for the pages of a list or a sitemap before they are asked for."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.render.render import page_key
from gossamer.flows.render.serve import LimitReached, OnQueued, RenderService
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem, Unavailable, validation_error
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.page.visit import Step
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.render.request import RenderRequest, WarmRequest
from gossamer.web.robots import sitemap
from gossamer.web.url.url import Url, digest, shared_url

KIND: Final = "warm"
MAX_SITEMAPS: Final = 50  # of one index; an index in an index is not followed
MAX_PROBLEMS: Final = 100  # in the result, of the pages that could not be queued
MAX_JOB_IDS: Final = 1_000  # in the result, of those that could
PRIORITY: Final = 10  # behind renders that a request waits for
CONCURRENCY: Final = 8
SITEMAP_SECONDS: Final = 30.0
STEP_EVERY: Final = 100  # pages


class WarmPayload(Struct, frozen=True, kw_only=True):
    """What a warm job carries."""

    request: WarmRequest
    key_id: str = ""  # the API key that asked
    tier: str = "free"  # of that key


class WarmResult(msgspec.Struct, kw_only=True, rename="camel"):
    """The result of a warm job. Pages beyond the tenant's limit are not queued."""

    found: int = 0
    queued: int = 0
    cached: int = 0  # fresh already
    limited: int = 0
    refused: int = 0
    job_ids: list[str] = []  # the first of them
    problems: list[dict[str, str]] = []  # the first of them

    def note_queued(self, job_id: str) -> None:
        self.queued += 1
        if len(self.job_ids) < MAX_JOB_IDS:
            self.job_ids.append(job_id)

    def refuse(self, url: str, problem: Problem) -> None:
        self.refused += 1
        if len(self.problems) < MAX_PROBLEMS:
            reason = problem.reason or problem.kind.code
            self.problems.append({"url": url[:2_048], "reason": reason, "message": problem.detail})


class Warmer(Struct, frozen=True):
    fetcher: Fetcher
    dialer: Dialer
    cache: PageCache
    render_service: RenderService
    parsers: ParserPool
    quotas: Quotas

    async def queue(self, caller: Caller, request: WarmRequest, by: Actor, on_queued: OnQueued) -> Job:
        """The job that queues the renders: the active one for the same request, or a new one."""
        if request.sitemap:
            url = Url.parse(request.sitemap)
            self.dialer.admit(url.host, url.port)
        await self.render_service.capacity.demand()
        await self.quotas.check(caller, Quota.JOBS, Quota.BYTES)
        payload = WarmPayload(request=request, key_id=caller.key_id, tier=caller.tier)
        new = NewJob(
            kind=KIND,
            tenant_id=caller.tenant_id,
            payload=payload,
            idempotency_key=digest(f"{KIND}\n{msgspec.json.encode(payload).decode()}"),
            request_id=by.request_id,
        )
        jobs = self.render_service.jobs
        async with jobs.database.write() as connection:
            job = await job_table.put(connection, new)
            if job.job_id == new.job_id:
                wanted = request.sitemap or f"{len(request.urls):,} URLs"
                warmed = ActivityEntry(caller.tenant_id, Action.CACHE_WARMED, job.job_id, by, wanted)
                await activity.record(connection, warmed)
            await on_queued(connection, job)
        jobs.wake(job.kind)
        return job

    async def warm(self, payload: WarmPayload, tenant: str, request_id: str, step: Step) -> WarmResult:
        """Queue the renders. It may run twice: a page that is queued or cached is not queued again."""
        await step("finding the pages", 5)
        request, warmed = payload.request, WarmResult()
        urls = request.urls or await self.list_sitemap(request.sitemap, request.limit, warmed)
        chosen = list({page_url(url): url for url in reversed(urls)}.values())[::-1][: request.limit]
        warmed.found = len(chosen)
        caller = Caller(Role.USER, payload.key_id, tenant, Tier(payload.tier))
        for at in range(0, len(chosen), STEP_EVERY):
            await step("queueing renders", 10 + 85 * at // len(chosen))
            await self._queue_all(chosen[at : at + STEP_EVERY], caller, request, request_id, warmed)
        return warmed

    async def _queue_all(
        self, urls: Sequence[str], caller: Caller, request: WarmRequest, request_id: str, warmed: WarmResult
    ) -> None:
        places = asyncio.Semaphore(CONCURRENCY)
        troubles: list[Problem] = []

        async def queue(text: str) -> None:
            async with places:
                try:
                    await self._queue_page(text, caller, request, request_id, warmed)
                except LimitReached:
                    warmed.limited += 1
                except Unavailable as away:
                    troubles.append(away)
                except Problem as problem:
                    warmed.refuse(text, problem)

        async with asyncio.TaskGroup() as group:
            for text in urls:
                group.create_task(queue(text))
        if troubles:
            raise troubles[0]  # the job is tried again

    async def _queue_page(
        self, text: str, caller: Caller, request: WarmRequest, request_id: str, warmed: WarmResult
    ) -> None:
        url = Url.parse(text)
        self.dialer.admit(url.host, url.port)
        page = RenderRequest(
            url=text,
            bot=request.bot,
            keep_scripts=request.keep_scripts,
            device=request.device,
            timeout=request.timeout,
            max_age=request.max_age,
        )
        key = page_key(caller.tenant_id, url, page.variant)
        known = await self.cache.status(key)
        if known is not None and page.is_fresh(self.render_service.age(known.rendered_at)):
            warmed.cached += 1
            return
        queued = await self.render_service.queue(caller, page, key, request_id, priority=PRIORITY)
        warmed.note_queued(queued.job.job_id)

    async def list_sitemap(self, address: str, limit: int, warmed: WarmResult) -> Sequence[str]:
        entries = await self._fetch_sitemap(Url.parse(address))
        if entries.problem and not entries.urls:
            raise validation_error(f"The sitemap cannot be used: {entries.problem}.")
        if not entries.is_index:
            return entries.urls[:limit]
        urls: list[str] = []
        for inner in entries.urls[:MAX_SITEMAPS]:
            if len(urls) >= limit:
                break
            try:
                urls += (await self._fetch_sitemap(Url.parse(inner))).urls
            except Problem as problem:
                warmed.refuse(inner, problem)
        return urls[:limit]

    async def _fetch_sitemap(self, url: Url) -> sitemap.Entries:
        """Fetch a sitemap in one attempt, because the job itself is retried."""
        page = await self.fetcher.fetch(FetchSpec(url=url, timeout=SITEMAP_SECONDS, attempts=1))
        if page.status != 200:
            return sitemap.Entries((), problem=f"its server answered with {page.status}")
        return await self.parsers.read_sitemap(page)


def page_url(text: str) -> str:
    """The URL that is visited, which spellings of one page share; an invalid one is refused later."""
    try:
        return shared_url(Url.parse(text)).href
    except Problem:
        return text
