"""The hosts that crawls ask: their pace, their robots.txt and their pages."""

from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_pages import AnyPageQuery, CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.domains import DomainQuery, DomainsEndpoints, RobotsQuery, ShownRobots
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, given, list_links, to_query
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.work.words import WAITS
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

DOMAINS: Final = "/app/domains"
ONE: Final = f"{DOMAINS}/{{domain}}"
LISTED: Final = 50
PAGES_SHOWN: Final = 20


class DomainsShown(msgspec.Struct):
    """Which hosts are listed."""

    crawl: str = ""
    cursor: str = ""


class DomainPages(Struct, frozen=True):
    dashboard: Dashboard
    domains: DomainsEndpoints
    pages: CrawlPagesEndpoints

    async def show(self, exchange: Exchange, query: DomainsShown) -> Response:
        chosen = filters(query)
        found = await self.domains.list_domains(exchange, to_query(DomainQuery, chosen, limit=LISTED))
        return self.dashboard.render(
            exchange,
            "work/domains.html",
            here="domains",
            hosts=found.domains,
            query=query,
            is_filtered=bool(given(chosen)),
            waits=WAITS,
            **list_links(DOMAINS, chosen, found.next_cursor),
        )

    async def show_one(self, exchange: Exchange, domain: str, form: Form = NO_FORM) -> Response:
        host = await self.domains.get_domain(exchange, domain)
        stored = await self.pages.find_pages(exchange, AnyPageQuery(host=host.host, limit=PAGES_SHOWN))
        return self.dashboard.render(
            exchange,
            "work/domain.html",
            here="domains",
            form=form,
            host=host,
            robots=await self._robots(exchange, host.host),
            pages=stored.pages,
            has_more=stored.next_cursor is not None,
            may_reset=exchange.caller.role is Role.ADMIN,
            waits=WAITS,
        )

    async def reset(self, exchange: Exchange, form: Form, domain: str) -> Response:
        host = await self.domains.reset_domain(exchange, domain)
        return self.dashboard.see(f"{DOMAINS}/{quote(host.host, safe='')}", notice="domain-reset")

    async def _robots(self, exchange: Exchange, host: str) -> ShownRobots | None:
        """None if the host has not been asked for it."""
        try:
            return await self.domains.get_robots(exchange, host, RobotsQuery())
        except Problem as problem:
            if problem.kind is not problems.NOT_FOUND:
                raise
            return None

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        return [
            page(DOMAINS, self.show, "Domains"),
            page(ONE, self.show_one, "A domain"),
            form(f"{ONE}/reset", self.reset, "Try a host again", show=self.show_one, needs=Role.ADMIN),
        ]
