"""Map: a site in, the addresses of its pages out."""

from functools import partial
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.pages.caching import CacheQuery, through_cache
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.mapping.mapper import SiteMapper
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CachePart, cache_metadata
from gossamer.web.pages.map_request import MapAnswer, MapLink, MapRequest, MapResult, MapSource
from gossamer.web.pages.page_request import MAX_TIMEOUT


class MapEndpoints(Struct, frozen=True):
    mapper: SiteMapper

    async def map_site(self, exchange: Exchange, body: MapRequest, query: CacheQuery) -> Response:
        self.mapper.check(body)
        result, part, status = await through_cache(
            exchange,
            body,
            query,
            partial(self.mapper.map, body, exchange.caller),
            partial(self.mapper.map_cached, body, exchange.caller),
        )
        exchange.outcome = Outcome.OK if result.links else Outcome.EMPTY
        shown = _answer(body, result, part, exchange.request_id, self.mapper.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    async def _has(self, exchange: Exchange, body: MapRequest, query: CacheQuery) -> bool:
        if not body.uses_cache(query.cache):
            return False
        self.mapper.check(body)
        return await self.mapper.has(body, Caching.of(body, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/map",
                handler=self.map_site,
                price="map",
                peek=self._has,
                needs=Role.USER,
                tag="Map",
                summary="Find the addresses of a site's pages",
                description="Reads the sitemaps that robots.txt names, the links of the page and, where "
                "these are few, of some more pages, and adds what you have read or crawled of the site "
                "before. It fetches only what robots.txt allows, one request at a time. When the time is "
                "over, the answer has what was found, and `complete` is false. A site of which nothing "
                "could be read is an error.",
                answers=MapAnswer,
                deadline=MAX_TIMEOUT / 1000 + 15,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_TTL,
                    problems.FETCH_FAILED,
                    problems.FETCH_TIMEOUT,
                ),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=MapRequest(url="https://example.com/", limit=100),
                example=_EXAMPLE,
            )
        ]


def _answer(body: MapRequest, result: MapResult, part: CachePart, request_id: str, now: float) -> MapAnswer:
    return MapAnswer(
        url=body.address.href,
        links=list(result.links),
        found=result.found,
        complete=result.end == "done",
        end=result.end,
        sources=list(result.sources),
        request_id=request_id,
        cache=cache_metadata(part, now),
    )


_EXAMPLE: Final = _answer(
    MapRequest(url="https://example.com/"),
    MapResult(
        (
            MapLink("https://example.com/", "Example Domain"),
            MapLink("https://example.com/about", "About us"),
        ),
        found=2,
        end="done",
        sources=(
            MapSource("known"),
            MapSource("robots", "https://example.com/robots.txt"),
            MapSource("page", "https://example.com/", links=1),
            MapSource("sitemap", "https://example.com/sitemap.xml", links=2),
        ),
        at=1_767_268_800.0,
    ),
    CachePart(),
    "wl_m5x7k2qa_a3b9c1",
    1_767_268_800.0,
)
