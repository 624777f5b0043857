"""Keeps the rules of sites, and tries rules on saved pages."""

from msgspec import Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.crawl.seeds import check_delays, new_url
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.sites.rule_finder import RuleFinder
from gossamer.flows.sites.site_keeper import SiteKeeper, on_site
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.state.sites import sites
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.pages.page import Page
from gossamer.web.sites.rule_trial import SiteRuleTrial, SiteRuleTrialRequest
from gossamer.web.sites.site_rule import SiteRule, check_rules, hide_headers, restore_headers
from gossamer.web.url.url import Url


class RuleKeeper(Struct, frozen=True):
    keeper: SiteKeeper
    finder: RuleFinder
    parsers: ParserPool
    results: CrawlResults
    min_delay: float  # seconds; only admins may ask for less

    async def replace_rules(
        self, caller: Caller, site_id: str, rules: tuple[SiteRule, ...], by: Actor
    ) -> tuple[SiteRule, ...]:
        """The rules as they are shown. A header whose value is hidden keeps the value that it has."""
        site = await self.keeper.get(caller, site_id, proven=True)
        check_rules(rules, site.origin)
        check_delays(caller, [rule.delay for rule in rules], self.min_delay)
        whole = restore_headers(rules, await self.finder.open_site(site))
        sealed = await self.finder.seal_rules(site.owner, whole)
        async with self.keeper.database.write() as connection:
            await sites.set_rules(connection, site_id, whole, sealed)
            told = f"{len(whole)} rules"
            await activity.record(
                connection, ActivityEntry(site.tenant_id, Action.SITE_CHANGED, site.id, by, told)
            )
        self.keeper.directory.forget(site.owner)
        return hide_headers(whole)

    async def try_out(self, caller: Caller, site_id: str, wanted: SiteRuleTrialRequest) -> SiteRuleTrial:
        """Nothing is fetched: the page is given, or was crawled before."""
        wanted.check()
        site = await self.keeper.get(caller, site_id)
        rules = site.rules if wanted.rules is None else wanted.rules
        check_rules(rules, site.origin)
        url = on_site(site.origin, wanted.url)
        page = await self._page(caller, url, wanted)
        return await self.parsers.try_rules(page, rules, site.origin)

    async def _page(self, caller: Caller, url: Url, wanted: SiteRuleTrialRequest) -> Page:
        if wanted.html is not None:
            return saved_page(url, wanted.html)
        crawl = await self.results.crawls.get(wanted.crawl_id or "")
        if crawl is None or (crawl.tenant_id != caller.tenant_id and caller.role is not Role.ADMIN):
            raise Problem(problems.NOT_FOUND, "There is no crawl with this id.")
        row = await self.results.get(crawl.id, new_url(url, crawl.spec).url_hash)
        if row is None:
            raise Problem(problems.NOT_FOUND, f"The crawl has no page {url.href[:200]}.")
        return replace(await self.results.load(row), url=url.href)


def saved_page(url: Url, html: str) -> Page:
    return Page(
        url=url.href,
        final_url=url.href,
        status=200,
        headers=(),
        body=html.encode("utf-8", "replace"),
        media_type="text/html",
        charset="utf-8",
    )
