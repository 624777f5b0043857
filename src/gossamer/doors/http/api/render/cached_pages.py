"""Endpoint that lists and searches the pages in the page cache."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer import problems
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.state.pages.cached_page import Location
from gossamer.state.pages.page_key import PagePrefix, site_of
from gossamer.state.pages.page_list import CachedPageFilter, ListedPage, PageListing
from gossamer.state.tenants.tenants import Role
from gossamer.web.url.url import Url, cache_form

MAX_LISTED: Final = 100


class ShownCachedPage(msgspec.Struct, rename="camel"):
    """A page in the cache."""

    url: Annotated[str, Meta(description="In the form that all its spellings share.")]
    variant: str
    status: Annotated[int, Meta(description="The page's own status.")]
    size: Annotated[int, Meta(description="Bytes of HTML.")]
    stored_size: Annotated[int, Meta(description="The same, compressed.")]
    rendered_at: str
    render_ms: int
    renders: Annotated[int, Meta(description="How often it was rendered.")]
    hits: Annotated[int, Meta(description="How often the cache answered with it.")]
    last_hit_at: str | None
    tiers: Annotated[list[Location], Meta(description="The tiers that have it.")]


class CachedPageList(msgspec.Struct, rename="camel"):
    """Cached pages, the last rendered first."""

    pages: list[ShownCachedPage]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class CachedPagesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which pages to list."""

    search: Annotated[
        Annotated[str, Meta(min_length=2, max_length=200)] | None,
        Meta(description="A part of the URL, of at least two characters, in upper or lower case."),
    ] = None
    prefix: Annotated[
        str | None,
        Meta(
            description="A page and everything below it; with `*` at the end, every URL that starts with it."
        ),
    ] = None
    site: Annotated[str | None, Meta(description="A host, such as `example.com`, or its address.")] = None
    cursor: Annotated[
        Annotated[str, Meta(max_length=80)] | None, Meta(description="The `nextCursor` of the page before.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Pages in an answer.")] = 50


class CachedPagesEndpoints(Struct, frozen=True):
    """Every caller sees only their own pages, admins too."""

    listing: PageListing

    async def list_cached_pages(self, exchange: Exchange, query: CachedPagesQuery) -> CachedPageList:
        wanted = CachedPageFilter(
            exchange.caller.tenant_id,
            query.search,
            None if query.prefix is None else PagePrefix.parse(query.prefix),
            None if query.site is None else _site(query.site),
        )
        found = await self.listing.list_page(wanted, cursor=query.cursor, limit=query.limit)
        return CachedPageList([_to_api(page) for page in found.pages], found.cursor)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/cache/pages",
                handler=self.list_cached_pages,
                needs=Role.USER,
                tag="Render",
                summary="List and search your cached pages, the last rendered first",
                description="A search that would have to go through too many pages is refused with "
                "`SERVER_BUSY`; name a `site` or a `prefix` then.",
                problems=(problems.INVALID_URL,),
                example=CachedPageList([_EXAMPLE], None),
            )
        ]


def _site(text: str) -> str:
    return site_of(cache_form(Url.parse(text if "://" in text else f"https://{text}")))


def _to_api(page: ListedPage) -> ShownCachedPage:
    return ShownCachedPage(
        url=page.url,
        variant=page.variant,
        status=page.status,
        size=page.size,
        stored_size=page.stored_size,
        rendered_at=timestamps.from_ms(page.rendered_at),
        render_ms=page.render_ms,
        renders=page.renders,
        hits=page.hits,
        last_hit_at=timestamps.from_ms(page.last_hit_at),
        tiers=list(page.tiers),
    )


_EXAMPLE: Final = ShownCachedPage(
    url="https://example.com/product/123",
    variant="default",
    status=200,
    size=245_678,
    stored_size=41_200,
    rendered_at="2026-01-01T12:00:00.000Z",
    render_ms=1_840,
    renders=3,
    hits=42,
    last_hit_at="2026-01-01T13:30:00.000Z",
    tiers=[Location.HOT, Location.COLD],
)
