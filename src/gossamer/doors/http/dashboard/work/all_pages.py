"""The pages of all crawls, with filters."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.crawl.crawl_pages import AnyPageQuery, CrawlPagesEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, given, list_links, to_query
from gossamer.web.outcome.outcome import Outcome

PAGES: Final = "/app/pages"
LISTED: Final = 50


class AllPagesShown(msgspec.Struct):
    """Which pages are listed."""

    crawl: str = ""
    outcome: str = ""
    status_code: str = ""
    host: str = ""
    contains: str = ""
    cursor: str = ""


class AllPagesPages(Struct, frozen=True):
    dashboard: Dashboard
    pages: CrawlPagesEndpoints

    async def show(self, exchange: Exchange, query: AllPagesShown) -> Response:
        chosen = filters(query)
        found = await self.pages.find_pages(exchange, to_query(AnyPageQuery, chosen, limit=LISTED))
        return self.dashboard.render(
            exchange,
            "work/pages.html",
            here="pages",
            pages=found.pages,
            query=query,
            is_filtered=bool(given(chosen)),
            outcomes=[outcome.value for outcome in Outcome],
            **list_links(PAGES, chosen, found.next_cursor),
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(PAGES, self.show, "Pages of all crawls")]
