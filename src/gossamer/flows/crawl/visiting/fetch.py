"""Fetches a page for a crawl: one request without redirects, or a visit with a browser."""

from functools import lru_cache
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.plan import CrawlPlan
from gossamer.flows.crawl.visiting.revisiting import conditions_of
from gossamer.flows.pages.browse import Browsing
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.reach.browser.launcher import NoBrowser
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.page.visit import NO_PAGE, Screenshot, Visit, VisitResult
from gossamer.state.crawl.refresh.fresh_pages import KnownPage
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

TIMEOUT: Final = 30.0
PICTURE: Final = Screenshot(height=800, full_page=True, max_height=3_000, format="webp", quality=70)
LEARNED: Final = 3  # empty shells in a row, after which a host is visited with a browser right away


class CrawlFetcher(Struct, frozen=True):
    fetcher: Fetcher
    browsing: Browsing | None

    async def fetch(
        self,
        url: Url,
        spec: CrawlSpec,
        tenant: str,
        timeout: float = TIMEOUT,
        known: KnownPage | None = None,
    ) -> Page:
        """`known`: the page is stored, and need not be sent if it is the same."""
        ask = FetchSpec(
            url=url,
            headers=(*headers_for(url, spec), *conditions_of(known)),
            timeout=timeout,
            attempts=1,
            max_redirects=0,
            tenant=tenant,
        )
        return await self.fetcher.fetch(ask)

    async def render(self, url: Url, plan: CrawlPlan) -> VisitResult | None:
        """None if a browser shows nothing, or if there is none and the plain page will do. Redirects and
        scripts that lead elsewhere are not followed: they are the page's `redirects`. Raises `LimitReached`
        if the tenant may not render more now."""
        if self.browsing is None:
            return None
        caller = Caller(Role.USER, tenant_id=plan.crawl.tenant_id, tier=Tier(plan.crawl.tier))
        visit = Visit(
            url=url,
            caller=caller.tenant_id,
            timeout=TIMEOUT,
            headers=headers_for(url, plan.spec),
            follow=False,
            capture=PICTURE if plan.spec.screenshots else None,
            needs_capture=False,
        )
        try:
            return await self.browsing.visit(visit, caller)
        except NoBrowser:
            if plan.rendering_of(url) == "auto":
                return None
            raise
        except Problem as problem:
            if problem.cause == NO_PAGE:
                return None
            raise


def headers_for(url: Url, spec: CrawlSpec) -> tuple[tuple[str, str], ...]:
    """Headers may be secret, so they go to the seeds' own origins only, and those of rules to theirs. The
    crawl's own come first."""
    own = spec.headers if spec.headers and url.origin in _origins(spec.seeds) else {}
    if not spec.rules:
        return tuple(own.items())
    named = {name.lower() for name in own}
    ruled = spec.rule_set.at(url).headers
    return (*own.items(), *(pair for pair in ruled.items() if pair[0] not in named))


@lru_cache(maxsize=64)
def _origins(seeds: tuple[str, ...]) -> frozenset[str]:
    return frozenset(Url.parse(seed).origin for seed in seeds)
