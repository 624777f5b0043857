"""Fetch: a URL in, clean content out."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, structs
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.pages.caching import CacheQuery, through_cache
from gossamer.doors.http.api.pages.get_fetch_query import GetFetchQuery
from gossamer.doors.http.core.exchange import Exchange, answer_by_pieces
from gossamer.doors.http.core.negotiation import is_known
from gossamer.doors.http.core.repeating import RepeatableAnswer, private_for
from gossamer.doors.http.core.routing import Handler, Other, Peek, Price, Route
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.encoding import bounded
from gossamer.flows.pages.read import Reader
from gossamer.problems import ProblemKind
from gossamer.reach.services import llm
from gossamer.state.tenants.tenants import Role
from gossamer.web.documents.kind import ContentKind
from gossamer.web.html.metadata import Metadata
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.pages.page import Hop
from gossamer.web.pages.page_request import MAX_TIMEOUT, FetchTier, PageRequest, invalid_field
from gossamer.web.pages.read_result import FetchAnswer, ReadReply, ReadResult
from gossamer.web.url.url import digest

MARKDOWN: Final = "text/markdown"


class FetchQuery(CacheQuery):
    """The options that may be given in the address too."""

    format: Annotated[
        Literal["markdown", "llm"] | None,
        Meta(description="The format of `content`, whichever of the two the body names."),
    ] = None


class FetchEndpoints:
    def __init__(self, reader: Reader, upgrade_url: str | None) -> None:
        self._reader = reader
        self._upgrade_url = upgrade_url or None

    async def fetch(self, exchange: Exchange, body: PageRequest, query: FetchQuery) -> Response:
        return await self._fetch(exchange, body, query, None)

    async def fetch_basic(self, exchange: Exchange, body: PageRequest, query: FetchQuery) -> Response:
        return await self._fetch(exchange, body, query, "basic")

    async def fetch_pro(self, exchange: Exchange, body: PageRequest, query: FetchQuery) -> Response:
        return await self._fetch(exchange, body, query, "pro")

    async def fetch_page(self, exchange: Exchange, query: GetFetchQuery) -> Response:
        await exchange.body()  # empty, but only after it a client that hangs up is noticed
        return await self._fetch(exchange, query.to_request(), FetchQuery(), None)

    async def _fetch(
        self, exchange: Exchange, body: PageRequest, query: FetchQuery, tier: FetchTier | None
    ) -> Response:
        bare = _wants_markdown(exchange)
        request = _settle(body, query, tier, bare=bare)
        caller = exchange.caller
        work = through_cache(
            exchange,
            request,
            query,
            partial(self._reader.read, request, caller),
            partial(self._reader.read_cached, request, caller),
        )
        read, part, status = await within_limits(exchange, self._upgrade_url, work)
        exchange.outcome = Outcome.EMPTY if _lacks_something(request, read) else read.outcome
        boundary = self._reader.boundary()
        shown = ReadReply(read, part).to_answer(request, exchange.request_id, boundary, self._reader.clock())
        if isinstance(exchange.repeatable, RepeatableAnswer):
            exchange.repeatable = structs.replace(
                exchange.repeatable,
                boundary=boundary,
                new_boundary=self._reader.boundary,
                shows_lifetime=exchange.method != "POST",
            )
        headers = {"X-Cache-Status": status}
        if exchange.method != "POST":
            headers |= _kept(part, self._reader.clock(), bare=bare)
            if is_known(exchange.header(b"if-none-match"), headers.get("ETag", "")):
                return Response(status_code=304, headers=headers)
        return _bare(shown, headers) if bare else await answer_by_pieces(shown, headers)

    async def _is_cached(
        self, tier: FetchTier | None, exchange: Exchange, body: PageRequest, query: FetchQuery
    ) -> bool:
        if not body.uses_cache(query.cache):
            return False
        request = _settle(body, query, tier, bare=_wants_markdown(exchange))
        return await self._reader.has(request, Caching.of(request, exchange.caller), exchange.caller)

    async def _is_page_cached(self, exchange: Exchange, query: GetFetchQuery) -> bool:
        return await self._is_cached(None, exchange, query.to_request(), FetchQuery())

    def routes(self) -> list[Route]:
        return [
            self._get_route(),
            _route(
                "/fetch",
                self.fetch,
                _price,
                partial(self._is_cached, None),
                "Fetch a page as clean content",
                "Without a browser, unless `render` says otherwise.",
                problems.RENDER_FAILED,
                problems.ACTION_FAILED,
            ),
            _route(
                "/fetch/basic",
                self.fetch_basic,
                partial(_price_of, "fetch-basic"),
                partial(self._is_cached, "basic"),
                "Fetch without a browser",
                "Reads what the page's server sends.",
            ),
            _route(
                "/fetch/pro",
                self.fetch_pro,
                partial(_price_of, "fetch-pro"),
                partial(self._is_cached, "pro"),
                "Fetch with a browser",
                "Reads the page as its scripts make it. A browser has no page for JSON, PDF and plain text: "
                "these are fetched plainly, and `via` says so. Counts as one render, unless it comes from "
                "the cache.",
                problems.RENDER_FAILED,
                problems.ACTION_FAILED,
            ),
        ]

    def _get_route(self) -> Route:
        return replace(
            _route(
                "/fetch",
                self.fetch_page,
                _price,
                self._is_page_cached,
                "Fetch a page by its address alone",
                "The same as `POST /fetch`, with the options in the query. It needs no `Idempotency-Key`. An "
                "answer that the cache keeps has an `ETag`, and its `Cache-Control` says how long.",
                problems.RENDER_FAILED,
            ),
            method="GET",
            example_body=GetFetchQuery.example(),
            headers={
                "Cache-Control": "`private, max-age=…` while the cache keeps the answer, else `no-store`.",
                "ETag": "Of a kept answer. Send it as `If-None-Match` to get a 304 while it is the same.",
                "Vary": "`Accept, Authorization`.",
            },
            others=(Other(status=304, about="The answer is the one that you have."),),
        )


def _settle(body: PageRequest, query: FetchQuery, tier: FetchTier | None, *, bare: bool) -> PageRequest:
    """Raises `Problem` for a request that cannot be served, before anything is done for it."""
    request = body.with_format(query.format, bare=bare).settled(tier)
    request.check()
    if bare and request.summary:
        raise invalid_field("summary", "A bare answer has no place for it", "Ask for `application/json`.")
    return request


def _lacks_something(request: PageRequest, read: ReadResult) -> bool:
    """Whether a part that was asked for could not be had; the answer is then not charged."""
    chosen = request.include or request.exclude
    return bool(chosen and not read.words) or bool(read.model and read.model.status == "failed")


def _price(body: PageRequest | GetFetchQuery | None) -> str:
    """A caller who asks for a browser pays for one, even if it turns out that none was needed."""
    rendered = body is not None and body.render not in (UNSET, "never")
    return _price_of("fetch-pro" if rendered else "fetch-basic", body)


def _price_of(tier: str, body: PageRequest | GetFetchQuery | None) -> str:
    """A summary is sold as an extraction is, which asks the same model about as much text."""
    return "extract" if body is not None and body.summary else tier


def _route(
    path: str, handler: Handler, price: Price, peek: Peek, summary: str, about: str, *more: ProblemKind
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
        description=f"{about} Any answer of the target is a 200 here; `outcome` and `statusCode` say what it "
        "was. `Accept: text/markdown` gets the bare `content`.",
        answers=FetchAnswer,
        media_type=MARKDOWN,
        deadline=MAX_TIMEOUT / 1000 + llm.SECONDS + 15,
        problems=(
            problems.INVALID_URL,
            problems.INVALID_TTL,
            problems.INVALID_SELECTOR,
            problems.FETCH_FAILED,
            problems.FETCH_TIMEOUT,
            problems.CONTENT_TOO_LARGE,
            problems.CONTENT_UNREADABLE,
            problems.UNPROCESSABLE_ENTITY,
            *more,
        ),
        field_problems={"cacheTtl": problems.INVALID_TTL},
        example_body=PageRequest("https://example.com/", cache=True),
        example=_example("pro" if path == "/fetch/pro" else "basic"),
    )


def _wants_markdown(exchange: Exchange) -> bool:
    accept = exchange.header(b"accept") or ""
    ranges = [item.partition(";")[0].strip() for item in accept.lower().split(",")]
    return MARKDOWN in ranges and "application/json" not in ranges


def _kept(part: CachePart, now: float, *, bare: bool) -> dict[str, str]:
    varies = {"Vary": "Accept, Authorization"}
    if part.since is None or part.until is None:
        return varies
    tag = digest(f"{part.key} {part.since} {bare}")[:16]
    return varies | {"Cache-Control": private_for(part.until - now), "ETag": f'W/"{tag}"'}


def _bare(shown: FetchAnswer, headers: dict[str, str]) -> Response:
    about = {
        **headers,
        "X-Outcome": shown.outcome.value,
        "X-Page-Status": str(shown.status),
        "X-Page-Kind": shown.kind.value,
    }
    return Response(bounded((shown.content or "").encode()), headers=about, media_type=MARKDOWN)


def _example(tier: FetchTier) -> FetchAnswer:
    read = ReadResult(
        url="https://example.com/",
        final_url="https://example.com/",
        status=200,
        media_type="text/html",
        via="render" if tier == "pro" else "fetch",
        kind=ContentKind.HTML,
        outcome=Outcome.OK,
        title="Example Domain",
        metadata=Metadata(title="Example Domain", language="en"),
        fetched_at=1_767_268_800.0,
        elapsed_ms=120,
        redirects=(Hop("http://example.com/", 301),),
        words=19,
        markdown="# Example Domain\n\nThis domain is for use in illustrative examples in documents.",
    )
    kept = CachePart(since=1_767_268_800.0, until=1_767_272_400.0, key="weblens:fetch:a1b2c3d4e5f6")
    return ReadReply(read, kept).to_answer(
        PageRequest("https://example.com/"), "wl_m5x7k2qa_a3b9c1", "", 1_767_268_800.0
    )
