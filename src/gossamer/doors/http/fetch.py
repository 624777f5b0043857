"""Fetch: a URL in, clean content out."""

from functools import partial
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.caching import (
    CacheMetadata,
    CacheQuery,
    cache_metadata,
    caches,
    caching,
    through_cache,
)
from gossamer.doors.http.exchange import Exchange, answer, bounded
from gossamer.doors.http.limiting import within_limits
from gossamer.doors.http.read_answer import FetchAnswer, read_answer, tier_of
from gossamer.doors.http.read_options import LONGEST_TIMEOUT, ReadOptions, Tier, wish_of
from gossamer.doors.http.routing import Handler, Peek, Price, Route
from gossamer.flows.read import Read, Reader
from gossamer.problems import Kind
from gossamer.state.tenants import Role
from gossamer.web.kind import Kind as PageKind
from gossamer.web.metadata import Metadata
from gossamer.web.outcome import Outcome
from gossamer.web.page import Hop

MARKDOWN: Final = "text/markdown"


class FetchRequest(ReadOptions):
    """What to fetch, and what is wanted of it."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]


class FetchQuery(CacheQuery):
    """The options that may stand in the address too."""

    format: Annotated[
        Literal["markdown", "llm"] | None,
        Meta(description="What `content` is to be, whichever of the two the body names."),
    ] = None


class Fetch:
    def __init__(self, reader: Reader, upgrade_url: str | None) -> None:
        self._reader = reader
        self._upgrade_url = upgrade_url or None

    async def fetch(self, exchange: Exchange, body: FetchRequest, query: FetchQuery) -> Response:
        return await self._answered(exchange, body, query, None)

    async def fetch_basic(self, exchange: Exchange, body: FetchRequest, query: FetchQuery) -> Response:
        return await self._answered(exchange, body, query, "basic")

    async def fetch_pro(self, exchange: Exchange, body: FetchRequest, query: FetchQuery) -> Response:
        return await self._answered(exchange, body, query, "pro")

    async def _answered(
        self, exchange: Exchange, body: FetchRequest, query: FetchQuery, tier: Tier | None
    ) -> Response:
        bare = _wants_markdown(exchange.header(b"accept") or "")
        settle_formats(body, query, bare=bare)
        wish = wish_of(body.url, body, tier)
        caller = exchange.caller
        work = through_cache(
            exchange,
            body,
            query,
            partial(self._reader.read, wish, caller),
            partial(self._reader.read_through, wish, caller),
        )
        read, part, status = await within_limits(exchange, self._upgrade_url, work)
        chosen = wish.how.include or wish.how.exclude
        exchange.outcome = Outcome.EMPTY if chosen and not read.words else read.outcome
        shown = read_answer(
            read,
            tier_of(wish, read),
            exchange.request_id,
            self._reader.boundary(),
            cache_metadata(part, self._reader.clock()),
        )
        headers = {"X-Cache-Status": status}
        return _bare(shown, headers) if bare else answer(shown, headers=headers)

    async def _is_cached(
        self, tier: Tier | None, exchange: Exchange, body: FetchRequest, query: FetchQuery
    ) -> bool:
        if not caches(body, query):
            return False
        settle_formats(body, query, bare=_wants_markdown(exchange.header(b"accept") or ""))
        return await self._reader.has(wish_of(body.url, body, tier), caching(body, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            _route(
                "/fetch",
                self.fetch,
                _price,
                partial(self._is_cached, None),
                "Fetch a page as clean content",
                "Without a browser, unless `render` says otherwise.",
                problems.RENDER_FAILED,
            ),
            _route(
                "/fetch/basic",
                self.fetch_basic,
                "fetch-basic",
                partial(self._is_cached, "basic"),
                "Fetch without a browser",
                "What the server of the page sends is what is read.",
            ),
            _route(
                "/fetch/pro",
                self.fetch_pro,
                "fetch-pro",
                partial(self._is_cached, "pro"),
                "Fetch with a browser",
                "The page as its scripts make it. What is no page for a browser (JSON, PDF, plain text) is "
                "fetched plainly, and `via` says so. Counts as one render, unless it comes from the cache.",
                problems.RENDER_FAILED,
            ),
        ]


def _price(body: FetchRequest | None) -> str:
    """Who asks for a browser pays for one, also where it turns out that none was needed."""
    return "fetch-basic" if body is None or body.render in (UNSET, "never") else "fetch-pro"


def _route(
    path: str, handler: Handler, price: Price, peek: Peek, summary: str, about: str, *more: Kind
) -> Route:
    return Route(
        method="POST",
        path=path,
        handler=handler,
        price=price,
        peek=peek,
        needs=Role.USER,
        tag="Fetch",
        summary=summary,
        description=f"{about} Whatever the target answered is a 200 here; `outcome` and `statusCode` say "
        "what it was. `Accept: text/markdown` gets the bare `content`.",
        answers=FetchAnswer,
        media_type=MARKDOWN,
        deadline=LONGEST_TIMEOUT / 1000 + 15,
        problems=(
            problems.INVALID_URL,
            problems.INVALID_TTL,
            problems.INVALID_SELECTOR,
            problems.FETCH_FAILED,
            problems.FETCH_TIMEOUT,
            problems.CONTENT_TOO_LARGE,
            problems.CONTENT_UNREADABLE,
            *more,
        ),
        field_problems={"cacheTtl": problems.INVALID_TTL},
        example_body=FetchRequest("https://example.com/", cache=True),
        example=_EXAMPLE,
    )


def _wants_markdown(accept: str) -> bool:
    ranges = [item.partition(";")[0].strip() for item in accept.lower().split(",")]
    return MARKDOWN in ranges and "application/json" not in ranges


def settle_formats(body: ReadOptions, query: FetchQuery, *, bare: bool = False) -> None:
    """What the address asks for takes the place of what the body does; a bare answer must be something."""
    if query.format is not None:
        others = [name for name in body.formats if name not in ("markdown", "llm")]
        body.formats = [query.format, *others]
    elif bare and not {"markdown", "llm"} & set(body.formats):
        body.formats = ["markdown", *body.formats]


def _bare(shown: FetchAnswer, headers: dict[str, str]) -> Response:
    told = {**headers, "X-Outcome": shown.outcome.value, "X-Page-Status": str(shown.status_code)}
    return Response(bounded((shown.content or "").encode()), headers=told, media_type=MARKDOWN)


_EXAMPLE: Final = read_answer(
    Read(
        url="https://example.com/",
        final_url="https://example.com/",
        status=200,
        media_type="text/html",
        via="fetch",
        kind=PageKind.HTML,
        outcome=Outcome.OK,
        reason="",
        title="Example Domain",
        metadata=Metadata(title="Example Domain", language="en"),
        fetched_at=1_767_268_800.0,
        elapsed_ms=120,
        redirects=(Hop("http://example.com/", 301),),
        words=19,
        fallback=False,
        cut=False,
        markdown="# Example Domain\n\nThis domain is for use in illustrative examples in documents.",
    ),
    "basic",
    "wl_m5x7k2qa_a3b9c1",
    "",
    CacheMetadata(hit=False, key="weblens:fetch:a1b2c3d4e5f6", expires_at="2026-01-01T13:00:00.000Z"),
)
