"""Fetch: a URL in, clean content out."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.routing import Route
from gossamer.flows.caching import Caching, Part
from gossamer.flows.read import Read, Reader, Reply, Wish
from gossamer.problems import validation_error
from gossamer.state.tenants import Role
from gossamer.web.kind import Kind
from gossamer.web.metadata import Metadata
from gossamer.web.outcome import Outcome
from gossamer.web.page import Hop
from gossamer.web.reading import How
from gossamer.web.url import Url

SHORTEST_TTL: Final = 60
LONGEST_TTL: Final = 86_400
LONGEST_TIMEOUT: Final = 60_000
HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "authorization",
        "cookie",
        "dnt",
        "referer",
        "x-api-key",
        "x-requested-with",
    }
)

Format = Literal["markdown", "html", "rawHtml", "text", "links", "metadata"]
Selectors = Annotated[list[Annotated[str, Meta(max_length=500)]], Meta(max_length=50)]


class Cacheable(Protocol):
    """What a request says about the cache."""

    cache: bool | None
    cache_ttl: int
    max_age: int | None


class FetchRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What to fetch, and what is wanted of it."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
    timeout: Annotated[
        int, Meta(ge=1, le=LONGEST_TIMEOUT, description="Milliseconds for everything, retries included.")
    ] = 10_000
    cache: Annotated[
        bool | None, Meta(description="Answer from the cache if it can, and keep the answer. Off by default.")
    ] = None
    cache_ttl: Annotated[
        int, Meta(description="Seconds for which it is kept; moved into 60 to 86,400 if outside.")
    ] = 3600
    max_age: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Take nothing older than this many seconds from the cache."),
    ] = None
    formats: Annotated[list[Format], Meta(min_length=1, max_length=6, description="What to answer with.")] = (
        msgspec.field(default_factory=lambda: ["markdown", "metadata"])
    )
    main_content: Annotated[
        bool, Meta(description="Only the main content, without navigation and the like; else the full page.")
    ] = True
    include: Annotated[Selectors, Meta(description="CSS selectors: only what matches.")] = []
    exclude: Annotated[Selectors, Meta(description="CSS selectors: not what matches.")] = []
    headers: Annotated[
        dict[str, Annotated[str, Meta(max_length=8000)]],
        Meta(
            max_length=20,
            description=f"Sent to the page's own origin only. Of these: {', '.join(sorted(HEADERS))}.",
        ),
    ] = {}


class FetchQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The one option that may stand in the address too."""

    cache: Annotated[bool | None, Meta(description="The same as in the body, which wins.")] = None


class PageMetadata(msgspec.Struct, rename="camel"):
    """What the page says about itself."""

    description: str | None
    author: str | None
    published_at: Annotated[str | None, Meta(description="ISO 8601.")]
    modified_at: str | UnsetType = UNSET
    language: str | UnsetType = UNSET
    canonical: str | UnsetType = UNSET
    site_name: str | UnsetType = UNSET
    image: str | UnsetType = UNSET
    favicon: str | UnsetType = UNSET
    keywords: list[str] | UnsetType = UNSET
    open_graph: dict[str, str] | UnsetType = UNSET
    twitter: dict[str, str] | UnsetType = UNSET
    json_ld: list[dict[str, Any]] | UnsetType = UNSET


class PageLink(msgspec.Struct):
    """Where the page points to."""

    url: str
    text: str
    rel: list[str] | UnsetType = UNSET


class Redirect(msgspec.Struct):
    """A step on the way."""

    url: str
    status: int


class CacheMetadata(msgspec.Struct, rename="camel"):
    """How the cache took part."""

    hit: bool
    key: str
    age: Annotated[int | UnsetType, Meta(description="Seconds since it was kept.")] = UNSET
    expires_at: Annotated[str | UnsetType, Meta(description="Absent where nothing was kept.")] = UNSET


class FetchAnswer(msgspec.Struct, rename="camel"):
    """The page, read."""

    url: str
    final_url: str
    status_code: Annotated[int, Meta(description="The target's own status.")]
    outcome: Annotated[Outcome, Meta(description="`ok` only if this is the page that was asked for.")]
    title: str
    content: Annotated[str | UnsetType, Meta(description="Markdown (`markdown` among the formats).")]
    metadata: PageMetadata
    tier: Literal["basic", "pro"]
    kind: Kind
    content_type: str
    words: int
    fetched_at: str
    fetch_time: Annotated[int, Meta(description="Milliseconds.")]
    request_id: str
    outcome_reason: Annotated[str | UnsetType, Meta(description="Which rule, where it is not `ok`.")] = UNSET
    text: str | UnsetType = UNSET
    html: Annotated[str | UnsetType, Meta(description="The content, cleaned.")] = UNSET
    raw_html: Annotated[str | UnsetType, Meta(description="The body as it came, decoded.")] = UNSET
    links: list[PageLink] | UnsetType = UNSET
    redirects: list[Redirect] | UnsetType = UNSET
    page_count: int | UnsetType = UNSET
    fallback: Annotated[
        bool | UnsetType, Meta(description="Too little looked like main content: this is the full page.")
    ] = UNSET
    truncated: Annotated[
        bool | UnsetType, Meta(description="The page went over a bound; something is missing.")
    ] = UNSET
    cache: CacheMetadata | UnsetType = UNSET


class Fetch:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def fetch_basic(self, exchange: Exchange, body: FetchRequest, query: FetchQuery) -> Response:
        wish = _wish(body)
        if not caches(body, query):
            reply, status = Reply(await self._reader.read(wish)), "BYPASS"
        else:
            reply = await self._reader.read_through(wish, caching(body, exchange.caller.tenant_id))
            status = "HIT" if reply.hit else "MISS"
            exchange.cache_hit = reply.hit
        shown = _answer(reply, exchange.request_id, self._reader.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path=path,
                handler=self.fetch_basic,
                needs=Role.USER,
                tag="Fetch",
                summary=summary,
                description="Without a browser: what the server of the page sends is what is read. Whatever "
                "the target answered is a 200 here; `outcome` and `statusCode` say what it was.",
                answers=FetchAnswer,
                deadline=LONGEST_TIMEOUT / 1000 + 15,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_TTL,
                    problems.INVALID_SELECTOR,
                    problems.FETCH_FAILED,
                    problems.FETCH_TIMEOUT,
                    problems.CONTENT_TOO_LARGE,
                    problems.CONTENT_UNREADABLE,
                ),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=FetchRequest("https://example.com/", cache=True),
                example=_EXAMPLE,
            )
            for path, summary in (
                ("/fetch", "Fetch a page as clean content"),
                ("/fetch/basic", "The same as /fetch"),
            )
        ]


def sendable(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Headers that a caller may have sent along; raises `Problem` for others."""
    refused = [name for name in headers if name.lower() not in HEADERS]
    if refused:
        raise validation_error(
            f"The header {refused[0][:100]!r} cannot be sent along.",
            hint=f"These can: {', '.join(sorted(HEADERS))}.",
        )
    return tuple(headers.items())


def _wish(body: FetchRequest) -> Wish:
    return Wish(
        url=Url.parse(body.url),
        how=How(body.main_content, tuple(body.include), tuple(body.exclude)),
        formats=tuple(body.formats),
        headers=sendable(body.headers),
        timeout=body.timeout / 1000,
    )


def caches(body: Cacheable, query: FetchQuery) -> bool:
    asked = body.cache if body.cache is not None else query.cache
    return bool(asked) if asked is not None else body.max_age is not None


def caching(body: Cacheable, tenant: str) -> Caching:
    return Caching(tenant, min(max(body.cache_ttl, SHORTEST_TTL), LONGEST_TTL), body.max_age)


def _answer(reply: Reply, request_id: str, now: float) -> FetchAnswer:
    read = reply.read
    return FetchAnswer(
        url=read.url,
        final_url=read.final_url,
        status_code=read.status,
        outcome=read.outcome,
        outcome_reason=read.reason or UNSET,
        title=read.title,
        content=_or_unset(read.markdown),
        metadata=_metadata(read.metadata),
        tier="basic",
        kind=read.kind,
        content_type=read.media_type,
        words=read.words,
        fetched_at=moments.iso(read.fetched_at),
        fetch_time=read.elapsed_ms,
        request_id=request_id,
        text=_or_unset(read.text),
        html=_or_unset(read.html),
        raw_html=_or_unset(read.raw_html),
        links=UNSET
        if read.links is None
        else [PageLink(x.url, x.text, list(x.rel) or UNSET) for x in read.links],
        redirects=[Redirect(hop.url, hop.status) for hop in read.redirects] or UNSET,
        page_count=UNSET if read.page_count is None else read.page_count,
        fallback=read.fallback or UNSET,
        truncated=read.cut or UNSET,
        cache=cache_metadata(reply, now),
    )


def _or_unset(text: str | None) -> str | UnsetType:
    return UNSET if text is None else text


def _metadata(metadata: Metadata) -> PageMetadata:
    return PageMetadata(
        description=metadata.description,
        author=metadata.author,
        published_at=metadata.published_at,
        modified_at=metadata.modified_at or UNSET,
        language=metadata.language or UNSET,
        canonical=metadata.canonical or UNSET,
        site_name=metadata.site_name or UNSET,
        image=metadata.image or UNSET,
        favicon=metadata.favicon or UNSET,
        keywords=list(metadata.keywords) or UNSET,
        open_graph=metadata.open_graph or UNSET,
        twitter=metadata.twitter or UNSET,
        json_ld=metadata.json_ld or UNSET,
    )


def cache_metadata(reply: Reply | Part, now: float) -> CacheMetadata | UnsetType:
    if not reply.key:
        return UNSET
    return CacheMetadata(
        hit=reply.hit,
        key=reply.key,
        age=max(0, int(now - reply.since)) if reply.hit and reply.since is not None else UNSET,
        expires_at=moments.iso(reply.until) if reply.until is not None else UNSET,
    )


_EXAMPLE: Final = _answer(
    Reply(
        Read(
            url="https://example.com/",
            final_url="https://example.com/",
            status=200,
            media_type="text/html",
            kind=Kind.HTML,
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
        hit=False,
        since=1_767_268_800.0,
        until=1_767_272_400.0,
        key="weblens:fetch:a1b2c3d4e5f6",
    ),
    "wl_m5x7k2qa_a3b9c1",
    1_767_268_800.0,
)
