"""Search: a question in, pages out."""

from functools import partial
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.caching import (
    CacheMetadata,
    CacheOptions,
    CacheQuery,
    cache_metadata,
    caches,
    caching,
    through_cache,
)
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.routing import Route
from gossamer.flows import find
from gossamer.flows.caching import Part
from gossamer.flows.find import Account, Finder, Found
from gossamer.problems import validation_error
from gossamer.state.tenants import Role
from gossamer.web.fusion import Hit, Ranked
from gossamer.web.outcome import Outcome
from gossamer.web.question import Question, Recency

LONGEST_QUERY: Final = 400  # characters
MOST_RESULTS: Final = 50
LANGUAGE: Final = r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$"


class SearchRequest(CacheOptions):
    """What to search for, and where."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_QUERY,
            description='Words (all of them), "phrases", -not, this OR that, site:example.com.',
            examples=['"silk rope" -hemp'],
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS, description="The most results.")] = 10
    site: Annotated[
        str | None,
        Meta(description="Only pages of this host and of those below it.", examples=["example.com"]),
    ] = None
    recency: Annotated[
        Recency | None,
        Meta(description="Only pages that were published in the last day, week, month or year."),
    ] = None
    language: Annotated[
        Annotated[str, Meta(max_length=35, pattern=LANGUAGE)] | None,
        Meta(description="Only pages in this language, such as `de`.", examples=["de"]),
    ] = None


class SearchResult(msgspec.Struct, rename="camel"):
    """A page. Strangers wrote its title and its snippet."""

    url: str
    title: str
    snippet: Annotated[str, Meta(description="Plain text; what was looked for is between double asterisks.")]
    score: Annotated[float, Meta(description="From 0 to 1; 1 is first with every provider.")]
    source: Annotated[str, Meta(description="The provider that has it highest.")]
    published_at: Annotated[str | UnsetType, Meta(description="ISO 8601, where it is known.")] = UNSET
    seen_at: Annotated[str | UnsetType, Meta(description="When it was read here.")] = UNSET


class ProviderAccount(msgspec.Struct):
    """How it went with one of those who were asked."""

    status: Annotated[
        Literal["ok", "failed", "skipped"],
        Meta(description="`skipped`: it failed several times in a row and is left alone for a while."),
    ]
    count: Annotated[int, Meta(description="Pages that it found.")]
    latency: Annotated[int, Meta(description="Milliseconds.")]
    reason: Annotated[str | UnsetType, Meta(description="Why it is not `ok`.")] = UNSET


class SearchAnswer(msgspec.Struct, rename="camel"):
    """What was found, the best first."""

    query: str
    results: list[SearchResult]
    providers: dict[str, ProviderAccount]
    request_id: str
    cache: CacheMetadata | UnsetType = UNSET


class Search:
    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    async def search_web(self, exchange: Exchange, body: SearchRequest, query: CacheQuery) -> Response:
        question = _question(body)
        found, part, status = await through_cache(
            exchange,
            body,
            query,
            partial(self._finder.find, question, exchange.caller.tenant_id),
            partial(self._finder.find_through, question),
        )
        exchange.outcome = Outcome.OK if found.results else Outcome.EMPTY
        shown = _answer(body.query, found, part, exchange.request_id, self._finder.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    async def _has(self, exchange: Exchange, body: SearchRequest, query: CacheQuery) -> bool:
        return caches(body, query) and await self._finder.has(_question(body), caching(body, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/search",
                handler=self.search_web,
                price="search",
                peek=self._has,
                needs=Role.USER,
                tag="Search",
                summary="Search for pages",
                description="In the pages that were read here, by you or publicly, and with the search "
                "engines that the server is set up with. All are asked at once and their rankings joined. "
                "Where nothing was found and one of them did not answer, that is 503, never an empty list.",
                answers=SearchAnswer,
                deadline=find.SECONDS + 15,
                problems=(problems.INVALID_TTL,),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=SearchRequest('"silk rope"', limit=5, site="example.com"),
                example=_EXAMPLE,
            )
        ]


def _question(body: SearchRequest) -> Question:
    if not body.query.strip():
        raise validation_error("`query` is blank.", hint="Say what to search for.")
    return Question.parse(
        body.query, site=body.site, recency=body.recency, language=body.language, limit=body.limit
    )


def _answer(query: str, found: Found, part: Part, request_id: str, now: float) -> SearchAnswer:
    return SearchAnswer(
        query=query,
        results=[_result(ranked) for ranked in found.results],
        providers={name: _account(account) for name, account in found.providers.items()},
        request_id=request_id,
        cache=cache_metadata(part, now),
    )


def _result(ranked: Ranked) -> SearchResult:
    hit = ranked.hit
    return SearchResult(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        score=round(ranked.score, 4),
        source=ranked.source,
        published_at=UNSET if hit.published_at is None else moments.iso(hit.published_at),
        seen_at=UNSET if hit.seen_at is None else moments.iso(hit.seen_at),
    )


def _account(account: Account) -> ProviderAccount:
    return ProviderAccount(account.status, account.count, account.latency_ms, account.reason or UNSET)


_EXAMPLE: Final = _answer(
    '"silk rope"',
    Found(
        (
            Ranked(
                Hit(
                    url="https://example.com/rope",
                    title="Silk rope",
                    snippet="A **silk rope**, spun by hand, one strand after the other…",
                    seen_at=1_767_268_800.0,
                ),
                1.0,
                "index",
            ),
        ),
        {"index": Account("ok", 1, 3)},
        1_767_268_800.0,
    ),
    Part(),
    "wl_m5x7k2qa_a3b9c1",
    1_767_268_800.0,
)
