"""Renders pages of a site before robots ask for them: by its schedule, or because somebody asks for it.

Both are one kind of job. It finds the pages, leaves out what the site excludes and what is fresh, and queues
the renders one after the other at the pace of the site. A warm-up by the schedule takes pages from the budget
of the day: those that no cache has, then the stale ones; among them what robots ask for most, and the oldest.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.render.render import page_key
from gossamer.flows.render.serve import LimitReached, RenderService
from gossamer.flows.render.warm import PRIORITY, WarmResult
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.flows.sites.site_finder import SiteFinder
from gossamer.flows.sites.site_keeper import on_site
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem, Unavailable, validation_error
from gossamer.reach.page.visit import Step
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.pages.page_key import PageKey, PagePrefix
from gossamer.state.schedules.schedules import read_clock
from gossamer.state.sites import bot_rows, site_cached, sites
from gossamer.state.sites.site_cached import SiteCachedPage
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.render.request import RenderRequest
from gossamer.web.sites.site_answer import SiteRecacheRequest
from gossamer.web.sites.site_settings import MAX_WARM_PAGES_A_DAY
from gossamer.web.url.url import digest

KIND: Final = "recache"
DAY_MS: Final = 86_400_000
DEFAULT_PER_MINUTE: Final = 60  # for a site that has no warm-up
DEFAULT_PER_DAY: Final = 1_000  # the same
STEP_EVERY: Final = 100


class SiteWarmPayload(Struct, frozen=True, kw_only=True):
    """What the job carries."""

    site_id: str
    key_id: str = ""
    tier: str = "free"
    urls: tuple[str, ...] = ()
    prefix: str = ""
    sitemaps: tuple[str, ...] = ()
    is_warm_up: bool = False  # by the schedule: only stale pages, within the budget
    is_budgeted: bool = False  # within the budget, too


class WarmedPage(Struct, frozen=True):
    """A page that may be rendered, and what is known of it."""

    request: RenderRequest
    key: PageKey
    cached: SiteCachedPage | None
    asked: int  # how often robots have asked for it


class SiteWarmer(Struct, frozen=True):
    database: Database
    finder: SiteFinder
    render_service: RenderService
    quotas: Quotas

    async def recache(
        self, caller: Caller, site: RegisteredSite, wanted: SiteRecacheRequest, by: Actor
    ) -> Job:
        """Queue the job that renders these pages again."""
        given = [bool(wanted.urls), wanted.prefix is not None, wanted.sitemap is not None]
        if sum(given) != 1:
            raise validation_error(
                "Name the pages in one way.", hint="Give `urls`, `prefix` or `sitemap`, and only one of them."
            )
        payload = SiteWarmPayload(
            site_id=site.id,
            key_id=caller.key_id,
            tier=caller.tier.value,
            urls=tuple(on_site(site.origin, url).href for url in wanted.urls),
            prefix=wanted.prefix or "",
            sitemaps=() if wanted.sitemap is None else (on_site(site.origin, wanted.sitemap).href,),
        )
        await self.admit(caller)
        async with self.database.write() as connection:
            job = await self.put(connection, site, payload, by)
        self.wake()
        return job

    def wake(self) -> None:
        """After a job was put."""
        self.render_service.jobs.wake(KIND)

    async def admit(self, caller: Caller) -> None:
        """Raises `Problem` if nothing can be rendered for the caller."""
        await self.render_service.capacity.demand()
        await self.quotas.check(caller, Quota.JOBS, Quota.BYTES)

    async def put(
        self, connection: AsyncConnection, site: RegisteredSite, payload: SiteWarmPayload, by: Actor
    ) -> Job:
        new = NewJob(
            kind=KIND,
            tenant_id=site.tenant_id,
            payload=payload,
            idempotency_key=digest(f"{KIND}\n{msgspec.json.encode(payload).decode()}"),
            request_id=by.request_id,
        )
        job = await job_table.put(connection, new)
        if job.job_id == new.job_id:
            told = payload.prefix or ", ".join(payload.sitemaps) or f"{len(payload.urls):,} URLs"
            entry = ActivityEntry(site.tenant_id, Action.SITE_RECACHED, site.id, by, told[:500])
            await activity.record(connection, entry)
        return job

    async def prepare(self, firing: Firing) -> Start:
        """Of the site's own schedule."""
        site = await self._get(firing.schedule.subject)
        warm_up = site.settings.warm_up
        if warm_up is None or not site.is_proven:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "The site is not proven, so it is not warmed.",
                details={"reason": "unproven"},
            )
        await self.admit(firing.caller)
        payload = SiteWarmPayload(
            site_id=site.id,
            key_id=firing.caller.key_id,
            tier=firing.caller.tier.value,
            sitemaps=warm_up.sitemaps,
            is_warm_up=True,
        )

        async def start(connection: AsyncConnection) -> str:
            return (await self.put(connection, site, payload, firing.by)).job_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        job = await job_table.get(connection, work_id)
        return job is not None and not job.status.is_over

    async def run(self, payload: SiteWarmPayload, request_id: str, step: Step) -> WarmResult:
        """The job. It may run twice: a page that is queued is not queued again."""
        site = await self._get(payload.site_id)
        warmed = WarmResult()
        await step("finding the pages", 5)
        pages = await self._find(site, payload, warmed)
        if payload.is_warm_up:
            pages.sort(key=_order)
        if payload.is_warm_up or payload.is_budgeted:
            pages = await self._within_budget(site, pages, warmed)
        caller = Caller(Role.USER, payload.key_id, site.tenant_id, Tier(payload.tier))
        for at, page in enumerate(pages):
            if at % STEP_EVERY == 0:
                await step("queueing renders", 10 + 85 * at // len(pages))
            await self._queue(caller, page, request_id, at * _pause(site), warmed)
        return warmed

    async def _get(self, site_id: str) -> RegisteredSite:
        async with self.database.read() as connection:
            site = await sites.get(connection, site_id)
        if site is None:
            raise Problem(problems.NOT_FOUND, "The site is not registered any more.")
        return site

    async def _find(
        self, site: RegisteredSite, payload: SiteWarmPayload, warmed: WarmResult
    ) -> list[WarmedPage]:
        """The pages that the job is about, without those that the site excludes or that are fresh."""
        prefix = PagePrefix.parse(f"{site.origin}{payload.prefix or '/'}*")
        async with self.database.scan() as connection:
            cached = await site_cached.list_cached(connection, site.tenant_id, prefix)
            asked = await bot_rows.most_asked(connection, site.id)
            now = await read_clock(connection)
        if payload.prefix:
            urls: Iterable[str] = (page.url for page in cached.values())
        else:
            urls = payload.urls or await self._list(site, payload, warmed)
        found: dict[str, WarmedPage] = {}
        for text in urls:
            for page in self._pages(site, text, cached, asked, warmed):
                found.setdefault(page.key.name, page)
        warmed.found = len(found)
        if not payload.is_warm_up:
            return list(found.values())
        due = [page for page in found.values() if not _is_fresh(site, page.cached, now)]
        warmed.cached = len(found) - len(due)
        return due

    async def _list(self, site: RegisteredSite, payload: SiteWarmPayload, warmed: WarmResult) -> list[str]:
        sitemaps = payload.sitemaps or await self.finder.find_sitemaps(site)
        return await self.finder.list_pages(sitemaps, MAX_WARM_PAGES_A_DAY, warmed)

    def _pages(
        self,
        site: RegisteredSite,
        text: str,
        cached: dict[str, SiteCachedPage],
        asked: dict[str, int],
        warmed: WarmResult,
    ) -> Iterable[WarmedPage]:
        """One for each device."""
        try:
            url = on_site(site.origin, text)
            site.settings.refuse_excluded(url)
        except Problem as problem:
            warmed.refuse(text, problem)
            return
        for device in site.settings.devices:
            request = RenderRequest(
                url=url.href, device=device, wait_for_selector=site.settings.wait_for_selector
            )
            key = page_key(site.tenant_id, url, request.variant)
            yield WarmedPage(request, key, cached.get(key.name), asked.get(key.url, 0))

    async def _within_budget(
        self, site: RegisteredSite, pages: Sequence[WarmedPage], warmed: WarmResult
    ) -> list[WarmedPage]:
        warm_up = site.settings.warm_up
        most = DEFAULT_PER_DAY if warm_up is None else warm_up.pages_per_day
        async with self.database.write() as connection:
            day = await read_clock(connection) // DAY_MS
            granted = await bot_rows.spend(connection, site.id, site.tenant_id, day, len(pages), most)
        warmed.limited += len(pages) - granted
        return list(pages[:granted])

    async def _queue(
        self, caller: Caller, page: WarmedPage, request_id: str, delay: float, warmed: WarmResult
    ) -> None:
        try:
            queued = await self.render_service.queue(
                caller, page.request, page.key, request_id, priority=PRIORITY, delay=delay
            )
        except LimitReached:
            warmed.limited += 1
        except Unavailable:
            raise  # the job is tried again
        except Problem as problem:
            warmed.refuse(page.request.url, problem)
        else:
            warmed.note_queued(queued.job.job_id)


def _order(page: WarmedPage) -> tuple[bool, int, int]:
    rendered_at = 0 if page.cached is None else page.cached.rendered_at
    return page.cached is not None, -page.asked, rendered_at


def _is_fresh(site: RegisteredSite, cached: SiteCachedPage | None, now: int) -> bool:
    max_age = site.settings.max_age
    return cached is not None and (max_age is None or now - cached.rendered_at <= max_age * 1000)


def _pause(site: RegisteredSite) -> float:
    """Seconds between the starts of two renders."""
    warm_up = site.settings.warm_up
    return 60 / (DEFAULT_PER_MINUTE if warm_up is None else warm_up.per_minute)
