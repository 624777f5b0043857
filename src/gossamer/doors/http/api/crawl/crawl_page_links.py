"""How a stored page is linked in its crawl: how the crawl found it, and which pages link to it."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_page_lines import EXAMPLE_PAGE, cursor_of
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints, position_of
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.reading.links_in import MAX_FOUND, SECONDS, LinkIn, LinksInFinder
from gossamer.state.crawl.reading.trail import MAX_STEPS, TrailStep
from gossamer.state.tenants.tenants import Role


class ShownTrailStep(msgspec.Struct, rename="camel"):
    """A URL that led to the next one, by a link, a redirect or an entry of a sitemap."""

    page_id: str
    url: str
    is_sitemap: Annotated[bool, Meta(description="A sitemap is not a page of the crawl.")]


class ShownTrail(msgspec.Struct, rename="camel"):
    """How a crawl found a page."""

    steps: Annotated[
        list[ShownTrailStep],
        Meta(description=f"At most {MAX_STEPS}. The first is the earliest; the last led to the page itself."),
    ]
    is_whole: Annotated[bool, Meta(description="Whether it begins with a seed.")]


class ShownLinkIn(msgspec.Struct, rename="camel"):
    """A page that links to the one that you ask about."""

    page_id: str
    url: str
    title: str | None
    text: Annotated[str, Meta(description="The text of its first link there.")]
    rel: Annotated[list[str], Meta(description="What it says about the link, such as `nofollow`.")]


class ShownLinksIn(msgspec.Struct, rename="camel"):
    """Pages that link to a page, as far as they were looked for."""

    links: Annotated[list[ShownLinkIn], Meta(description="In the order in which they were stored.")]
    looked_at: Annotated[int, Meta(description="Pages of the crawl that this answer has looked at.")]
    pages: Annotated[int, Meta(description="Pages that the crawl has stored.")]
    unread: Annotated[int, Meta(description="Pages whose body is gone, damaged or too much work to read.")]
    complete: Annotated[
        bool, Meta(description="Whether every stored page from `cursor` on was looked at and could be read.")
    ]
    next_cursor: Annotated[
        str | None,
        Meta(
            description="Give it as `cursor` to look further; `null` if no page is left, or none was reached."
        ),
    ]


class LinksInQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Where to begin."""

    cursor: Annotated[
        Annotated[str, Meta(max_length=120)] | None,
        Meta(description="The `nextCursor` of the answer before."),
    ] = None


class PageLinksEndpoints(Struct, frozen=True):
    pages: CrawlPagesEndpoints
    finder: LinksInFinder

    async def get_trail(self, exchange: Exchange, id: str, page: str) -> ShownTrail:
        row = await self.pages.find_page(exchange, id, page)
        trail = await self.pages.results.trail(row)
        return ShownTrail([_to_step(step) for step in trail.steps], trail.is_whole)

    async def get_links_in(self, exchange: Exchange, id: str, page: str, query: LinksInQuery) -> ShownLinksIn:
        crawl = await crawl_of(self.pages.crawls, exchange, id)
        row = await self.pages.find_page(exchange, id, page)
        seen = await self.finder.look(row, crawl.spec, position_of(query.cursor))
        last = None if seen.is_over else seen.last
        return ShownLinksIn(
            links=[_to_link(one) for one in seen.found],
            looked_at=seen.looked_at,
            pages=crawl.counts.pages,
            unread=seen.unread,
            complete=seen.is_complete,
            next_cursor=None if last is None else cursor_of(last),
        )

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "method": "GET",
            "needs": Role.USER,
            "tag": "Crawls",
            "parameters": {"id": "The crawl's id.", "page": "The page's id."},
            "problems": (problems.NOT_FOUND,),
            "opened_by_order": True,
        }
        return [
            Route(
                path="/api/crawls/{id}/pages/{page}/trail",
                handler=self.get_trail,
                summary="Show how a crawl found a page",
                example=ShownTrail([_EXAMPLE_STEP], is_whole=True),
                **common,
            ),
            Route(
                path="/api/crawls/{id}/pages/{page}/links-in",
                handler=self.get_links_in,
                summary="Find the pages of the crawl that link to a page",
                description="The links that were kept with the crawl's pages are looked through, or the "
                f"bodies of pages without, for {SECONDS:g} seconds or until {MAX_FOUND} pages are found. The "
                "answer says how far it got; `cursor` goes on from there.",
                example=ShownLinksIn([_EXAMPLE_LINK], 204, 204, 0, complete=True, next_cursor=None),
                **common,
            ),
        ]


def _to_step(step: TrailStep) -> ShownTrailStep:
    return ShownTrailStep(step.url_hash, step.url, step.is_sitemap)


def _to_link(one: LinkIn) -> ShownLinkIn:
    page, link = one.page, one.link
    return ShownLinkIn(page.url_hash, page.url, page.title or None, link.text, list(link.rel))


_EXAMPLE_STEP: Final = ShownTrailStep(EXAMPLE_PAGE.page_id, EXAMPLE_PAGE.url, is_sitemap=False)
_EXAMPLE_LINK: Final = ShownLinkIn(
    EXAMPLE_PAGE.page_id, EXAMPLE_PAGE.url, EXAMPLE_PAGE.title, "Read more", []
)
