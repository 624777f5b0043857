"""Getting a page for a crawl: one request without its redirects, or a visit with a browser."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gossamer.flows.admit import Caller
from gossamer.flows.browse import Browsing
from gossamer.flows.crawl.plan import Plan
from gossamer.problems import Problem
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.reach.visit import NO_PAGE, Visit
from gossamer.state.crawls import Spec
from gossamer.state.tenants import Role, Tier
from gossamer.web.page import Page
from gossamer.web.url import Url

TIMEOUT: Final = 30.0
LEARNED: Final = 3  # empty shells in a row, and a host is visited with a browser from the first


@dataclass(frozen=True, slots=True)
class Fetching:
    fetcher: Fetcher
    browsing: Browsing | None

    async def plain(self, url: Url, plan: Plan) -> Page:
        ask = Ask(url=url, headers=_headers(url, plan.spec), timeout=TIMEOUT, attempts=1, max_redirects=0)
        return await self.fetcher.fetch(ask)

    async def rendered(self, url: Url, plan: Plan) -> Page | None:
        """None: there is nothing that a browser shows. It follows neither redirects nor scripts that lead
        elsewhere: those are the page's `redirects`. LimitReached: the tenant may not render more now."""
        if self.browsing is None:
            return None
        caller = Caller(Role.USER, tenant_id=plan.crawl.tenant_id, tier=Tier(plan.spec.tier))
        visit = Visit(
            url=url,
            caller=caller.tenant_id,
            timeout=TIMEOUT,
            headers=_headers(url, plan.spec),
            follow=False,
        )
        try:
            return (await self.browsing.visit(visit, caller)).page
        except Problem as problem:
            if (problem.members.get("details") or {}).get("cause") == NO_PAGE:
                return None
            raise


def _headers(url: Url, spec: Spec) -> tuple[tuple[str, str], ...]:
    """They may be secret, so they are for the seeds' own origins, wherever the links lead."""
    return spec.headers if spec.headers and url.origin in _origins(spec.seeds) else ()


@lru_cache(maxsize=64)
def _origins(seeds: tuple[str, ...]) -> frozenset[str]:
    return frozenset(Url.parse(seed).origin for seed in seeds)
