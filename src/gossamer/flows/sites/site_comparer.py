"""Compares pages of a site as its server sends them with the same pages after their scripts have run.

A job takes a few pages of each template: those that robots ask for most, then what the cache and the sitemaps
know. Each page is fetched once and visited with a browser once, one after the other.
"""

from typing import Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.pages.browse import Browsing
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.render.render import MARK
from gossamer.flows.render.serve import LimitReached
from gossamer.flows.render.warm import WarmResult
from gossamer.flows.sites.site_finder import SiteFinder
from gossamer.flows.sites.site_keeper import on_site
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.page.visit import Step, Visit
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pages.page_key import PagePrefix
from gossamer.state.schedules.schedules import read_clock
from gossamer.state.sites import bot_rows, comparisons, site_cached, sites
from gossamer.state.sites.bot_rows import HOUR_MS
from gossamer.state.sites.comparisons import StoredComparison
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.sites.bot_visits import sum_up
from gossamer.web.sites.page_facts import SeenVerdict
from gossamer.web.sites.site_comparison import (
    AskedCounts,
    ComparedPage,
    ComparedTemplate,
    ComparisonRequest,
    SiteComparison,
    SiteTemplate,
    group,
    worst,
)
from gossamer.web.sites.site_words import VisitOutcome
from gossamer.web.url.url import Url, digest

KIND: Final = "comparison"
FEW: Final = 20  # known pages: with fewer, those that the home page links to are taken too
MAX_KNOWN: Final = 5_000  # pages to choose from
PAGE_SECONDS: Final = 30.0  # for one page, in each way
COUNTED_HOURS: Final = 30 * 24
NO_BUDGET: Final = "render_limit"


class ComparisonPayload(Struct, frozen=True, kw_only=True):
    """What the job carries."""

    site_id: str
    pages: int
    templates: int
    key_id: str = ""
    tier: str = "free"


class ComparisonResult(msgspec.Struct, frozen=True, rename="camel"):
    """What the job leaves."""

    comparison_id: str
    templates: dict[SeenVerdict, int]
    limited: int = 0


class SiteComparer(Struct, frozen=True):
    jobs: Jobs
    fetcher: Fetcher
    browsing: Browsing
    parsers: ParserPool
    finder: SiteFinder
    quotas: Quotas

    async def queue(self, caller: Caller, site: RegisteredSite, wanted: ComparisonRequest, by: Actor) -> Job:
        """The job that compares: the one that is under way for the same request, or a new one."""
        await self.finder.warmer.render_service.capacity.demand()
        await self.quotas.check(caller, Quota.JOBS)
        payload = ComparisonPayload(
            site_id=site.id,
            pages=wanted.pages,
            templates=wanted.templates,
            key_id=caller.key_id,
            tier=caller.tier.value,
        )
        new = NewJob(
            kind=KIND,
            tenant_id=site.tenant_id,
            payload=payload,
            idempotency_key=digest(f"{KIND}\n{site.id}\n{wanted.pages}\n{wanted.templates}"),
            request_id=by.request_id,
        )
        async with self.jobs.database.write() as connection:
            job = await job_table.put(connection, new)
            if job.job_id == new.job_id:
                entry = ActivityEntry(site.tenant_id, Action.SITE_COMPARED, site.id, by, site.origin)
                await activity.record(connection, entry)
        self.jobs.wake(KIND)
        return job

    async def list_kept(self, site: RegisteredSite) -> list[StoredComparison]:
        async with self.jobs.database.read() as connection:
            return await comparisons.list_kept(connection, site.id)

    async def compare(self, payload: ComparisonPayload, step: Step) -> SiteComparison:
        """The work of the job."""
        async with self.jobs.database.read() as connection:
            site = await sites.get(connection, payload.site_id)
        if site is None or not site.is_proven:
            raise Problem(problems.NOT_FOUND, "The site is not registered, or not proven any more.")
        await step("finding the pages", 5)
        templates, robots = await self._find(site, payload)
        caller = Caller(Role.USER, payload.key_id, site.tenant_id, Tier(payload.tier))
        compared, done = list[ComparedTemplate](), 0
        most = sum(len(template.urls[: payload.pages]) for template in templates)
        for template in templates:
            pages = []
            for url in template.urls[: payload.pages]:
                await step("comparing pages", 10 + 85 * done // most)
                pages.append(await self._compare(caller, site, Url.parse(url)))
                done += 1
            compared.append(_to_compared(template, pages))
        limited = sum(page.reason == NO_BUDGET for template in compared for page in template.pages)
        return SiteComparison(templates=compared, robots=robots, limited=limited)

    async def _find(
        self, site: RegisteredSite, payload: ComparisonPayload
    ) -> tuple[list[SiteTemplate], dict[VisitOutcome, int]]:
        prefix = PagePrefix.parse(f"{site.origin}/*")
        async with self.jobs.database.scan() as connection:
            cached = await site_cached.list_cached(connection, site.tenant_id, prefix)
            asked = await bot_rows.list_asked(connection, site.id)
            hour = await read_clock(connection) // HOUR_MS
            counted = await bot_rows.list_hours(connection, site.id, hour - COUNTED_HOURS, hour)
        counts = {row.url: AskedCounts(row.visits, row.misses) for row in asked}
        try:
            listed = await self.finder.list_pages(
                await self.finder.find_sitemaps(site), MAX_KNOWN, WarmResult()
            )
        except Unavailable:
            raise
        except Problem:  # a site without a sitemap
            listed = []
        known = [f"{site.origin}/", *counts, *(page.url for page in cached.values()), *listed]
        if len(known) < FEW:
            known += await self._find_links(site)
        urls = [url for url in dict.fromkeys(known) if _belongs(site, url)]
        return group(urls[:MAX_KNOWN], counts, payload.templates), sum_up(counted).by_outcome

    async def _find_links(self, site: RegisteredSite) -> list[str]:
        """Where the home page leads."""
        try:
            home = await self.fetcher.fetch(
                FetchSpec(
                    url=Url.parse(f"{site.origin}/"),
                    headers=MARK,
                    timeout=PAGE_SECONDS,
                    attempts=1,
                    tenant=site.tenant_id,
                )
            )
            return [link.url.partition("#")[0] for link in await self.parsers.find_links(home)]
        except Unavailable:
            raise
        except Problem:  # it is compared all the same, and says so
            return []

    async def _compare(self, caller: Caller, site: RegisteredSite, url: Url) -> ComparedPage:
        try:
            raw = await self.fetcher.fetch(
                FetchSpec(url=url, headers=MARK, timeout=PAGE_SECONDS, attempts=1, tenant=site.tenant_id)
            )
            visit = Visit(
                url=url,
                caller=site.tenant_id,
                timeout=PAGE_SECONDS,
                wait_for=site.settings.wait_for_selector,
                headers=MARK,
            )
            rendered = await self.browsing.visit(visit, caller)
            sight = await self.parsers.compare(raw, rendered.page)
        except LimitReached:
            return _unknown(url, NO_BUDGET)
        except Unavailable:
            raise
        except Problem as problem:
            return _unknown(url, problem.reason or problem.kind.code.lower())
        return ComparedPage(url=url.href, verdict=sight.verdict, sight=sight)


def _belongs(site: RegisteredSite, text: str) -> bool:
    try:
        return not site.settings.excludes(on_site(site.origin, text).path)
    except Problem:
        return False


def _unknown(url: Url, reason: str) -> ComparedPage:
    return ComparedPage(url=url.href, verdict=SeenVerdict.UNKNOWN, reason=reason)


def _to_compared(template: SiteTemplate, pages: list[ComparedPage]) -> ComparedTemplate:
    return ComparedTemplate(
        pattern=template.pattern,
        known=len(template.urls),
        visits=template.visits,
        misses=template.misses,
        verdict=worst(pages),
        pages=pages,
    )
