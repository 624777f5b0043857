"""Finds the rules that a crawl or a page follows: its own, those of its owner's sites, and the operator's.

A crawl takes over the rules that hold when it begins, so that a URL means the same page to it until its end.
The values of headers are sealed: workers alone open them.
"""

import base64
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.sites.site_directory import SiteDirectory
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants.activity import Via
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.sites.rule_set import NO_RULE, PageRule, RuleSet
from gossamer.web.sites.site_rule import SiteRule, from_stored
from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import Url

MAX_TAKEN_OVER: Final = 1_000  # rules of one crawl
MAX_OPENED: Final = 200  # crawls whose rules are remembered
_SEALED: Final = "rules"


class RuleFinder(Struct, frozen=True):
    directory: SiteDirectory
    keys: WebhookKeys
    operators: tuple[SiteRule, ...] = ()  # from the file of the operator
    _ready: list[RuleSet] = field(default_factory=list)  # those of the operator, made once
    _opened: dict[str, tuple[SiteRule, ...]] = field(default_factory=dict)  # by what was sealed

    async def for_crawl(self, caller: Caller, spec: CrawlSpec) -> CrawlSpec:
        """The spec with all rules that it follows, in the order in which they count."""
        sites = await self.directory.list_proven(caller)
        found = list(spec.rules)
        for site in sites.values():
            if site.rules and _concerns(site.origin, spec):
                found += [_at_home(rule, site) for rule in await self.open_site(site)]
        found += [rule for rule in self.operators if _concerns(rule.host, spec)]
        if caller.via is Via.WALLET:
            found = [*spec.rules, *map(_for_stranger, found[len(spec.rules) :])]
        if len(found) == len(spec.rules):
            return spec
        return msgspec.structs.replace(spec, rules=tuple(found[:MAX_TAKEN_OVER]))

    async def for_page(self, caller: Caller, url: Url) -> PageRule:
        """What to keep and drop of a single page. Its headers are the caller's affair."""
        site = (await self.directory.find(caller, url)).site
        if not self._ready:
            self._ready.append(RuleSet.of(self.operators))
        rules = self._ready[0]
        if site is not None and site.rules:
            rules = RuleSet.of(site.rules, (site.origin,)).before(rules)
        return rules.at(url) if rules.rules else NO_RULE

    async def seal(self, tenant: str, spec: CrawlSpec) -> str:
        """Not in a transaction: the first seal makes the key. Empty: there is nothing to hide."""
        sealed = await self.seal_rules(tenant, spec.rules)
        return "" if sealed is None else base64.b64encode(sealed).decode()

    async def open(self, crawl: Crawl) -> Crawl:
        """The crawl with the headers of its rules."""
        if not crawl.rules_sealed:
            return crawl
        rules = self._opened.get(crawl.rules_sealed)
        if rules is None:
            rules = await self.open_rules(crawl.tenant_id, base64.b64decode(crawl.rules_sealed))
            if len(self._opened) >= MAX_OPENED:
                self._opened.clear()
            self._opened[crawl.rules_sealed] = rules
        return replace(crawl, spec=msgspec.structs.replace(crawl.spec, rules=rules))

    async def open_site(self, site: RegisteredSite) -> tuple[SiteRule, ...]:
        if site.rules_sealed is None:
            return site.rules
        return await self.open_rules(site.owner, site.rules_sealed)

    async def seal_rules(self, owner: str, rules: tuple[SiteRule, ...]) -> bytes | None:
        if not any(rule.headers for rule in rules):
            return None
        return await self.keys.seal(owner, {_SEALED: msgspec.json.encode(rules).decode()})

    async def open_rules(self, owner: str, sealed: bytes) -> tuple[SiteRule, ...]:
        return from_stored(msgspec.json.decode((await self.keys.open(owner, sealed))[_SEALED]))


def _at_home(rule: SiteRule, site: RegisteredSite) -> SiteRule:
    return rule if rule.host else msgspec.structs.replace(rule, host=site.origin)


def _for_stranger(rule: SiteRule) -> SiteRule:
    """Somebody who pays by the call gets no login of the operator's, and no browser that was not paid for."""
    return msgspec.structs.replace(rule, headers={}, render=None)


def _concerns(place: str, spec: CrawlSpec) -> bool:
    """Whether the crawl may come to this host or origin."""
    if spec.scope == "any" or not spec.seeds:
        return True
    host = place.partition("://")[2] or place.removeprefix("*.")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return any(
        domain_of(seed.host) == domain_of(name) or seed.host.endswith(f".{name}")
        for seed in map(Url.parse, spec.seeds)
    )
