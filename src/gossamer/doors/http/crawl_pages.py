"""What a crawl has stored, over HTTP: as a list, a stream of lines or a table, and what each page says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.crawl_page_lines import (
    EXAMPLE_LINE,
    EXAMPLE_PAGE,
    ShownPage,
    csv_head,
    csv_lines,
    cursor_of,
    json_line,
    shown_page,
)
from gossamer.doors.http.crawl_shapes import CrawlId
from gossamer.doors.http.crawls import asked_crawl, crawl_of
from gossamer.doors.http.exchange import LARGEST_ANSWER, Exchange, answer, bounded
from gossamer.doors.http.host_names import HostName, host_names
from gossamer.doors.http.jobs import LONGEST_STREAM
from gossamer.doors.http.negotiation import preferred
from gossamer.doors.http.routing import Route
from gossamer.doors.http.streaming import Streaming
from gossamer.flows.crawl.results import CrawlResults, Shape, Stored
from gossamer.problems import Problem, validation_error
from gossamer.state.crawled_pages import PageFilter, PageRow, Position
from gossamer.state.crawls import Crawl, Crawls
from gossamer.state.tenants import Role
from gossamer.web.outcome import Outcome

MOST_LISTED: Final = 1_000
READING_SECONDS: Final = 20.0  # after which an answer has the pages that were read by then
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
_SHAPES: Final[dict[str, Shape]] = {"text/markdown": "markdown", "text/plain": "text", "text/html": "html"}
_VARY: Final = {"Vary": "Accept"}
# What others have written is served from our address: it must not run, load, or be taken for ours.
_CONFINED: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    **_VARY,
}
_ROOM: Final = 10_000  # bytes of an answer around its pages


class PageList(msgspec.Struct, rename="camel"):
    """Pages, in the order in which they were stored."""

    pages: list[ShownPage]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class PageQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which pages."""

    host: Annotated[HostName | None, Meta(description="Only of this host: `name:port`, or a name alone.")] = (
        None
    )
    status_code: Annotated[
        Annotated[int, Meta(ge=100, le=999)] | None, Meta(description="Only with this status.")
    ] = None
    outcome: Annotated[Outcome | None, Meta(description="Only with this outcome.")] = None
    content: Annotated[
        Literal["markdown", "text", "html"] | None, Meta(description="With what each page says, like this.")
    ] = None
    cursor: Annotated[
        Annotated[str, Meta(max_length=100)] | None, Meta(description="Where the page before ended.")
    ] = None
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_LISTED,
            description="Pages in an answer; fewer where their content is large, or takes long to be read.",
        ),
    ] = 100


class AnyPageQuery(PageQuery, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which pages of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; without it your default one.")] = None


class ContentQuery(msgspec.Struct, forbid_unknown_fields=True):
    """In which shape."""

    format: Annotated[
        Shape | None,
        Meta(description="Without it the one that `Accept` likes best. `raw` is the body as it was fetched."),
    ] = None


class CrawlPages:
    def __init__(self, crawls: Crawls, results: CrawlResults) -> None:
        self._crawls = crawls
        self._results = results

    async def list_crawl_pages(self, exchange: Exchange, id: str, query: PageQuery) -> Response:
        return await self._list(exchange, await crawl_of(self._crawls, exchange, id), query)

    async def list_pages(self, exchange: Exchange, query: AnyPageQuery) -> Response:
        return await self._list(exchange, await asked_crawl(self._crawls, exchange, query.crawl), query)

    async def get_page(self, exchange: Exchange, id: str, page: str) -> ShownPage:
        return shown_page(Stored(await self._page(exchange, id, page)))

    async def get_content(self, exchange: Exchange, id: str, page: str, query: ContentQuery) -> Response:
        row = await self._page(exchange, id, page)
        liked = _SHAPES[preferred(exchange.header(b"accept"), list(_SHAPES))]
        content = await self._results.content(row, query.format or liked)
        return Response(bounded(content.body), headers={**_CONFINED, "Content-Type": content.media_type})

    async def _page(self, exchange: Exchange, crawl_id: str, page_id: str) -> PageRow:
        crawl = await crawl_of(self._crawls, exchange, crawl_id)
        row = await self._results.get(crawl.id, page_id)
        if row is None:
            raise Problem(problems.NOT_FOUND, "The crawl has stored no page with this id.")
        return row

    async def _list(self, exchange: Exchange, crawl: Crawl, query: PageQuery) -> Response:
        which = PageFilter(
            crawl_id=crawl.id,
            hosts=None if query.host is None else tuple(host_names(query.host)),
            status_code=query.status_code,
            outcome=query.outcome,
        )
        after = _position(query.cursor)
        liked = preferred(exchange.header(b"accept"), (JSON, NDJSON, CSV))
        if liked == NDJSON:
            return Streaming(self._lines(which, after, query.content), headers=_VARY, media_type=NDJSON)
        if liked == CSV:
            headers = {**_VARY, "Content-Disposition": 'attachment; filename="pages.csv"'}
            return Streaming(self._table(which, after), headers=headers, media_type=CSV)
        found = await self._results.listing(which, after, query.limit + 1)
        return answer(await self._page_list(found, query), headers=_VARY)

    async def _page_list(self, found: list[Stored], query: PageQuery) -> PageList:
        """As many as can be read in time and an answer has room for, and at least one."""
        loop = asyncio.get_running_loop()
        until = loop.time() + READING_SECONDS
        fitting = Fitting()
        async with aclosing(self._results.read(found[: query.limit], query.content)) as reading:
            async for stored in reading:
                if not fitting.add(shown_page(stored)) or loop.time() > until:
                    break
        pages = fitting.pages
        return PageList(pages, cursor_of(found[len(pages) - 1].position) if len(pages) < len(found) else None)

    async def _lines(
        self, which: PageFilter, after: Position | None, shape: Shape | None
    ) -> AsyncIterator[bytes]:
        """Until the crawl runs no more, or for so long that the client had better come back."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_STREAM
        async with aclosing(self._results.follow(which, after, shape)) as arriving:
            async for arrived in arriving:
                yield b"".join(json_line(stored) for stored in arrived)
                if loop.time() > until:
                    return

    async def _table(self, which: PageFilter, after: Position | None) -> AsyncIterator[str]:
        """All that is there now."""
        yield csv_head()
        while found := await self._results.listing(which, after, MOST_LISTED):
            yield csv_lines(found)
            after = found[-1].position

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Crawls"}
        many: dict[str, Any] = {
            **common,
            "description": f"With `Accept: {CSV}` all from `cursor` on as a table, and with `Accept: "
            f"{NDJSON}` one JSON object a line, each with the `cursor` to go on from; while the crawl runs, "
            "what is not stored yet is waited for.",
            "answers": PageList,
            "also": {NDJSON: EXAMPLE_LINE, CSV: csv_head()},
            "deadline": LONGEST_STREAM + 30,
            "problems": (problems.NOT_FOUND, problems.CONTENT_TOO_LARGE),
            "example": PageList([EXAMPLE_PAGE], None),
        }
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The crawl's id.", "page": "The page's id."},
        }
        return [
            Route(
                method="GET",
                path="/api/crawls/{id}/pages",
                handler=self.list_crawl_pages,
                summary="What a crawl has stored",
                parameters={"id": "The crawl's id."},
                **many,
            ),
            Route(
                method="GET",
                path="/api/pages",
                handler=self.list_pages,
                summary="What a crawl has stored, by default your default one",
                **many,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}",
                handler=self.get_page,
                summary="What is known of a page",
                problems=(problems.NOT_FOUND,),
                example=EXAMPLE_PAGE,
                **one,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/content",
                handler=self.get_content,
                summary="What a page says, as it was when it was crawled",
                description="As markdown, text or cleaned HTML of its main content, or as it was fetched.",
                media_type="text/markdown",
                also=dict.fromkeys(("text/plain", "text/html", "*/*")),
                problems=(problems.NOT_FOUND, problems.CONTENT_UNREADABLE, problems.CONTENT_TOO_LARGE),
                **one,
            ),
        ]


class Fitting:
    """Pages for which one answer has room."""

    def __init__(self) -> None:
        self.pages: list[ShownPage] = []
        self._room = LARGEST_ANSWER - _ROOM

    def add(self, page: ShownPage) -> bool:
        """Whether there was room for it. For the first there is: content that no answer has room for is left
        out of it."""
        size = _size(page)
        if size > self._room and not self.pages:
            page.content, page.content_error = UNSET, "answer_too_large"
            size = _size(page)
        if size > self._room:
            return False
        self._room -= size
        self.pages.append(page)
        return True


def _size(page: ShownPage) -> int:
    return len(msgspec.json.encode(page)) + 1


def _position(cursor: str | None) -> Position | None:
    if cursor is None:
        return None
    at, _, page_id = cursor.partition("-")
    if not at.isdecimal() or len(at) > 18 or not page_id:
        raise validation_error("`cursor` is none of ours.", hint="Give `nextCursor` of the page before.")
    return Position(int(at), page_id)
