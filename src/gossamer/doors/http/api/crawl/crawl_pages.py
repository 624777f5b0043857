"""The stored pages of a crawl over HTTP: as a list, a stream of lines or a table, and their content."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS
from gossamer.doors.http.api.crawl.crawl_page_lines import (
    EXAMPLE_LINE,
    EXAMPLE_PAGE,
    cursor_of,
    json_line,
    to_api,
    to_line,
)
from gossamer.doors.http.api.crawl.crawl_shapes import CrawlId
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.api.crawl.host_names import HostName, host_names
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.negotiation import choose_media_type
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.crawl.content import PICTURE_TYPE
from gossamer.flows.crawl.reading.results import CrawlResults, PageWithContent, Shape, WantedContent
from gossamer.flows.pages.encoding import MAX_ANSWER_BYTES, bounded
from gossamer.problems import Problem, validation_error
from gossamer.state.crawl.crawled_pages import PageFilter, Position, StoredPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.page_table import READ_FORMATS, csv_head, csv_lines
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.html.links import Link
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.reading_options import ReadingOptions

MAX_LISTED: Final = 1_000
READING_SECONDS: Final = 20.0  # after which an answer ends with the pages that were read by then
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
_FORMAT_TYPES: Final = {"json": JSON, "ndjson": NDJSON, "csv": CSV}
_SHAPES: Final[dict[str, Shape]] = {"text/markdown": "markdown", "text/plain": "text", "text/html": "html"}
_VARY: Final = {"Vary": "Accept"}
# Content of other sites is served from our address: it must not run, load anything, or pass for ours.
CONFINED: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    **_VARY,
}
_LASTING: Final = "private, max-age=3600"  # a picture never changes
_ROOM: Final = 10_000  # bytes of an answer around its pages
_FORMATS: Final = (
    f"With `Accept: {CSV}`, all pages from `cursor` on are a table; with `Accept: {NDJSON}` one JSON object "
    "a line, each with the `cursor` to go on from."
)


class PageList(msgspec.Struct, rename="camel"):
    """Pages of a crawl, in the order in which they were stored; or crawl by crawl, the newest first."""

    pages: list[ShownPage]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class PageQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which pages."""

    host: Annotated[
        HostName | None, Meta(description="Only pages of this host: `name:port`, or a name alone.")
    ] = None
    status_code: Annotated[
        Annotated[int, Meta(ge=100, le=999)] | None, Meta(description="Only pages with this status.")
    ] = None
    outcome: Annotated[Outcome | None, Meta(description="Only pages with this outcome.")] = None
    contains: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="Only pages with this text in their URL or their title."),
    ] = None
    changed_since: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="Only pages that were stored since: new ones, and those that have changed."),
    ] = None
    format: Annotated[
        Literal["json", "ndjson", "csv"] | None,
        Meta(description="By default the one that `Accept` prefers."),
    ] = None
    content: Annotated[
        Literal["markdown", "text", "html"] | None,
        Meta(description="Include the content of each page, in this format."),
    ] = None
    formats: Annotated[
        str,
        Meta(
            max_length=100,
            pattern=f"^(({'|'.join(READ_FORMATS)})(,|$))*$",
            description="Include these of each page, each under its own name: any of "
            f"{', '.join(READ_FORMATS)}, separated by commas.",
        ),
    ] = ""
    main_content: Annotated[
        bool, Meta(description="Take `formats` from the main content; otherwise from the full page.")
    ] = True
    follow: Annotated[
        bool, Meta(description="As lines of JSON: wait for more pages while the crawl runs.")
    ] = True
    cursor: Annotated[
        Annotated[str, Meta(max_length=120)] | None,
        Meta(description="The `nextCursor` of the answer before."),
    ] = None
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_LISTED,
            description="Pages in an answer; fewer if their content is large, or slow to read.",
        ),
    ] = 100

    @property
    def format_names(self) -> frozenset[str]:
        return frozenset(self.formats.split(",")) - {""}

    @property
    def wanted(self) -> WantedContent:
        names = self.format_names
        if not names:
            return WantedContent(self.content)
        asked = names | {self.content}
        options = ReadingOptions(
            main_content=self.main_content,
            markdown="markdown" in asked,
            html="html" in asked,
            raw_html="rawHtml" in names,
            links="links" in names,
            resources="images" in names,
        )
        return WantedContent(self.content, options)


class AnyPageQuery(PageQuery, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which pages of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="Only pages of this crawl.")] = None


class ContentQuery(msgspec.Struct, forbid_unknown_fields=True):
    """In which format."""

    format: Annotated[
        Shape | None,
        Meta(description="By default the one that `Accept` prefers. `raw` is the body as it was fetched."),
    ] = None


class CrawlPagesEndpoints(Struct, frozen=True):
    crawls: Crawls
    results: CrawlResults

    async def list_crawl_pages(self, exchange: Exchange, id: str, query: PageQuery) -> Response:
        crawl = await crawl_of(self.crawls, exchange, id)
        return await self._list(exchange, _narrow(PageFilter(crawl_id=crawl.id), query), query)

    async def list_pages(self, exchange: Exchange, query: AnyPageQuery) -> Response:
        return await self._list(exchange, await self._which(exchange, query), query)

    async def find_pages(self, exchange: Exchange, query: AnyPageQuery) -> PageList:
        """The same as JSON, for callers that show them in another way."""
        return await self._page_list(await self._which(exchange, query), query)

    async def find_history(self, exchange: Exchange, id: str, page: str, limit: int) -> list[ShownPage]:
        """The same URL in other crawls of the tenant, newest first."""
        crawl = await crawl_of(self.crawls, exchange, id)
        found = await self.results.history(crawl.tenant_id, page, limit + 1)
        return [to_api(stored) for stored in found if stored.page.crawl_id != crawl.id][:limit]

    async def find_links(self, exchange: Exchange, id: str, page: str) -> Sequence[Link]:
        """What the page links to, read from its stored content."""
        return await self.results.links(await self.find_page(exchange, id, page))

    async def get_page(self, exchange: Exchange, id: str, page: str) -> ShownPage:
        return to_api(PageWithContent(await self.find_page(exchange, id, page)))

    async def get_content(self, exchange: Exchange, id: str, page: str, query: ContentQuery) -> Response:
        row = await self.find_page(exchange, id, page)
        liked = _SHAPES[choose_media_type(exchange.header(b"accept"), list(_SHAPES))]
        content = await self.results.content(row, query.format or liked)
        return Response(bounded(content.body), headers={**CONFINED, "Content-Type": content.media_type})

    async def get_screenshot(self, exchange: Exchange, id: str, page: str) -> Response:
        picture = await self.results.picture(await self.find_page(exchange, id, page))
        headers = {**CONFINED, "Content-Type": picture.media_type, "Cache-Control": _LASTING}
        return Response(picture.body, headers=headers)

    async def find_page(self, exchange: Exchange, crawl_id: str, page_id: str) -> StoredPage:
        """A page that the caller may see."""
        crawl = await crawl_of(self.crawls, exchange, crawl_id)
        row = await self.results.get(crawl.id, page_id)
        if row is None:
            raise Problem(problems.NOT_FOUND, "The crawl has stored no page with this id.")
        return row

    async def _which(self, exchange: Exchange, query: AnyPageQuery) -> PageFilter:
        if query.crawl is None:
            return _narrow(PageFilter(tenant=exchange.caller.tenant_id), query)
        return _narrow(PageFilter(crawl_id=(await crawl_of(self.crawls, exchange, query.crawl)).id), query)

    async def _list(self, exchange: Exchange, which: PageFilter, query: PageQuery) -> Response:
        after = position_of(query.cursor)
        liked = _FORMAT_TYPES.get(query.format or "") or choose_media_type(
            exchange.header(b"accept"), (JSON, NDJSON, CSV)
        )
        if liked == NDJSON:
            return Streaming(self._lines(which, after, query), headers=_VARY, media_type=NDJSON)
        if liked == CSV:
            headers = {**_VARY, "Content-Disposition": 'attachment; filename="pages.csv"'}
            return Streaming(self._table(which, after), headers=headers, media_type=CSV)
        return answer(await self._page_list(which, query), headers=_VARY)

    async def _page_list(self, which: PageFilter, query: PageQuery) -> PageList:
        """As many pages as can be read in time and fit into an answer, and at least one."""
        found = await self.results.listing(which, position_of(query.cursor), query.limit + 1)
        loop = asyncio.get_running_loop()
        until = loop.time() + READING_SECONDS
        fitting, formats = PagesThatFit(), query.format_names
        async with aclosing(self.results.read(found[: query.limit], query.wanted)) as reading:
            async for stored in reading:
                if not fitting.add(to_api(stored, formats)) or loop.time() > until:
                    break
        pages = fitting.pages
        return PageList(pages, cursor_of(found[len(pages) - 1].position) if len(pages) < len(found) else None)

    async def _lines(
        self, which: PageFilter, after: Position | None, query: PageQuery
    ) -> AsyncIterator[bytes]:
        """Until the crawl ends, or the stream has lasted long enough for the client to reconnect; without
        `follow`, the pages that are stored now."""
        loop, formats = asyncio.get_running_loop(), query.format_names
        until = loop.time() + MAX_STREAM_SECONDS
        async with aclosing(self.results.follow(which, after, query.wanted)) as arriving:
            async for arrived in arriving:
                yield b"".join(json_line(to_line(stored, formats)) for stored in arrived)
                if loop.time() > until or not (arrived or query.follow):
                    return

    async def _table(self, which: PageFilter, after: Position | None) -> AsyncIterator[str]:
        """All pages that are stored now."""
        yield csv_head()
        while found := await self.results.listing_when_free(which, after, MAX_LISTED):
            yield csv_lines(map(to_api, found))
            after = found[-1].position

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Crawls"}
        many: dict[str, Any] = {
            **common,
            "description": f"{_FORMATS} While the crawl runs, the stream waits for further pages.",
            "answers": PageList,
            "also": {NDJSON: EXAMPLE_LINE, CSV: csv_head()},
            "deadline": MAX_STREAM_SECONDS + 30,
            "problems": (problems.NOT_FOUND, problems.CONTENT_TOO_LARGE),
            "example": PageList([EXAMPLE_PAGE], None),
        }
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The crawl's id.", "page": "The page's id."},
            "opened_by_order": True,
        }
        return [
            Route(
                method="GET",
                path="/api/crawls/{id}/pages",
                handler=self.list_crawl_pages,
                summary="List the pages that a crawl has stored",
                parameters={"id": "The crawl's id."},
                opened_by_order=True,
                **many,
            ),
            Route(
                method="GET",
                path="/api/pages",
                handler=self.list_pages,
                summary="List the pages that your crawls have stored, the newest crawl first",
                **{
                    **many,
                    "description": f"{_FORMATS} Only with `crawl` the stream waits for further pages.",
                },
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}",
                handler=self.get_page,
                summary="Show a stored page",
                problems=(problems.NOT_FOUND,),
                example=EXAMPLE_PAGE,
                **one,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/content",
                handler=self.get_content,
                summary="Get the content of a page, as it was crawled",
                description="Main content as markdown, text or cleaned HTML, or the body as it was fetched.",
                media_type="text/markdown",
                also=dict.fromkeys(("text/plain", "text/html", "*/*")),
                problems=(problems.NOT_FOUND, problems.CONTENT_UNREADABLE, problems.CONTENT_TOO_LARGE),
                **one,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/screenshot",
                handler=self.get_screenshot,
                summary="Get the picture of a page, as it was crawled",
                description="Only crawls with `screenshots` keep pictures.",
                media_type=PICTURE_TYPE,
                problems=(problems.NOT_FOUND,),
                **one,
            ),
        ]


class PagesThatFit:
    """Pages that fit into one answer."""

    def __init__(self) -> None:
        self.pages: list[ShownPage] = []
        self._room = MAX_ANSWER_BYTES - _ROOM

    def add(self, page: ShownPage) -> bool:
        """Add a page if there is room. The first fits: content too large for any answer is left out."""
        size = _size(page)
        if size > self._room and not self.pages:
            page.content, page.content_error = UNSET, "answer_too_large"
            page.markdown = page.text = page.html = page.raw_html = UNSET
            page.links = page.images = page.metadata = UNSET
            size = _size(page)
        if size > self._room:
            return False
        self._room -= size
        self.pages.append(page)
        return True


def _narrow(which: PageFilter, query: PageQuery) -> PageFilter:
    return msgspec.structs.replace(
        which,
        hosts=None if query.host is None else tuple(host_names(query.host)),
        status_code=query.status_code,
        outcome=query.outcome,
        contains=query.contains or "",
        since=0 if query.changed_since is None else round(query.changed_since.timestamp() * 1000),
    )


def _size(page: ShownPage) -> int:
    return len(msgspec.json.encode(page)) + 1


def position_of(cursor: str | None) -> Position | None:
    if cursor is None:
        return None
    at, *rest = cursor.split("-")
    if not at.isdecimal() or len(at) > 18 or len(rest) != 2 or not all(rest):
        raise validation_error("`cursor` is not one of ours.", hint="Give `nextCursor` of the page before.")
    return Position(int(at), *rest)
