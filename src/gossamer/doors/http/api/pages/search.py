"""Search: a question in, pages out."""

from functools import partial
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.pages.caching import CacheQuery, through_cache
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.pages import search as find
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.search import Account, Finder, SearchResults
from gossamer.problems import validation_error
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CacheOptions, CachePart, cache_metadata
from gossamer.web.pages.timestamps import iso
from gossamer.web.search.fusion import FoundPassage, Ranked, SearchHit
from gossamer.web.search.question import Question, Recency
from gossamer.web.search.search_answer import ProviderAccount, SearchAnswer, SearchPassage, SearchResult

MAX_QUERY_CHARS: Final = 400  # characters
MAX_RESULTS: Final = 50
LANGUAGE: Final = r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$"


class SearchRequest(CacheOptions, frozen=True):
    """What to search for, and where."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_QUERY_CHARS,
            description='A question in plain words, or words, "phrases", beginnings*, -not, this OR that, '
            "site:example.com. Other forms of a word count too, and typing errors are corrected.",
            examples=['"silk rope" -hemp'],
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS, description="The most results.")] = 10
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


class SearchEndpoints(Struct, frozen=True):
    finder: Finder

    async def search_web(self, exchange: Exchange, body: SearchRequest, query: CacheQuery) -> Response:
        question = _question(body)
        found, part, status = await through_cache(
            exchange,
            body,
            query,
            partial(self.finder.find, question, exchange.caller.tenant_id),
            partial(self.finder.find_cached, question),
        )
        exchange.outcome = Outcome.OK if found.results else Outcome.EMPTY
        shown = _answer(body.query, found, part, exchange.request_id, self.finder.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    async def _has(self, exchange: Exchange, body: SearchRequest, query: CacheQuery) -> bool:
        if not body.uses_cache(query.cache):
            return False
        return await self.finder.has(_question(body), Caching.of(body, exchange.caller))

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
                "Where nothing was found and one of them did not answer, that is 503, never an empty list. A "
                "search that takes too long is ended, and its answer says `partial`, as it does if pages "
                "that were just read are missing. Pages need not have all words: what they lack is "
                "`missing`. Pages that were read here show their best `passages`.",
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


def _answer(query: str, found: SearchResults, part: CachePart, request_id: str, now: float) -> SearchAnswer:
    return SearchAnswer(
        query=query,
        results=[_to_result(ranked) for ranked in found.results],
        providers={name: _to_account(account) for name, account in found.providers.items()},
        request_id=request_id,
        corrected=found.corrected or UNSET,
        cache=cache_metadata(part, now),
    )


def _to_result(ranked: Ranked) -> SearchResult:
    hit = ranked.hit
    return SearchResult(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        score=round(ranked.score, 4),
        source=ranked.source,
        published_at=UNSET if hit.published_at is None else iso(hit.published_at),
        seen_at=UNSET if hit.seen_at is None else iso(hit.seen_at),
        passages=[_to_passage(one) for one in hit.passages] or UNSET,
        missing=list(hit.missing) or UNSET,
    )


def _to_passage(found: FoundPassage) -> SearchPassage:
    return SearchPassage(list(found.headings), found.snippet, found.url)


def _to_account(account: Account) -> ProviderAccount:
    return ProviderAccount(account.status, account.count, account.latency_ms, account.reason or UNSET)


_EXAMPLE: Final = _answer(
    '"silk rope"',
    SearchResults(
        (
            Ranked(
                SearchHit(
                    url="https://example.com/rope",
                    title="Silk rope",
                    snippet="A **silk rope**, spun by hand, one strand after the other…",
                    seen_at=1_767_268_800.0,
                    passages=(
                        FoundPassage(
                            ("Silk rope", "How it is made"),
                            "A **silk rope**, spun by hand, one strand after the other…",
                            "https://example.com/rope#made",
                        ),
                    ),
                ),
                1.0,
                "index",
            ),
        ),
        {"index": Account("ok", 1, 3)},
        1_767_268_800.0,
    ),
    CachePart(),
    "wl_m5x7k2qa_a3b9c1",
    1_767_268_800.0,
)
