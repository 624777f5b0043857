"""Extract: a URL and a schema in, data with its sources out."""

from functools import partial
from typing import Final

from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.pages.caching import CacheQuery, through_cache
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.extract import Extractor
from gossamer.reach.services import llm
from gossamer.state.tenants.tenants import Role
from gossamer.web.extract.found_value import Provenance
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.pages.extract_request import ExtractAnswer, ExtractRequest, ExtractResult
from gossamer.web.pages.page_request import MAX_TIMEOUT


class ExtractEndpoints:
    def __init__(self, extractor: Extractor, upgrade_url: str | None) -> None:
        self._extractor = extractor
        self._upgrade_url = upgrade_url or None

    async def extract_data(self, exchange: Exchange, body: ExtractRequest, query: CacheQuery) -> Response:
        body.check()
        caller = exchange.caller
        work = through_cache(
            exchange,
            body,
            query,
            partial(self._extractor.extract, body, caller),
            partial(self._extractor.extract_cached, body, caller),
        )
        extracted, part, status = await within_limits(exchange, self._upgrade_url, work)
        exchange.outcome = extracted.outcome if extracted.data else Outcome.EMPTY
        shown = extracted.to_answer(part, exchange.request_id, self._extractor.clock())
        return answer(shown, headers={"X-Cache-Status": status})

    async def _has(self, exchange: Exchange, body: ExtractRequest, query: CacheQuery) -> bool:
        if not body.uses_cache(query.cache):
            return False
        body.check()
        return await self._extractor.has(body, Caching.of(body, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/extract",
                handler=self.extract_data,
                price="extract",
                peek=self._has,
                needs=Role.USER,
                tag="Extract",
                summary="Get data out of a page",
                description="Data that fits your JSON Schema, and where each value came from: structured "
                "data, meta elements, tables, labels, your own selectors and, if the server has one, a "
                "language model. Values that the page does not have are in `missing`, never invented.",
                answers=ExtractAnswer,
                deadline=MAX_TIMEOUT / 1000 + llm.SECONDS + 30,
                problems=(
                    problems.INVALID_URL,
                    problems.INVALID_TTL,
                    problems.INVALID_SELECTOR,
                    problems.UNPROCESSABLE_ENTITY,
                    problems.FETCH_FAILED,
                    problems.FETCH_TIMEOUT,
                    problems.RENDER_FAILED,
                    problems.ACTION_FAILED,
                    problems.CONTENT_TOO_LARGE,
                    problems.CONTENT_UNREADABLE,
                ),
                field_problems={"cacheTtl": problems.INVALID_TTL},
                example_body=ExtractRequest(
                    "https://example.com/rope",
                    schema={
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "price": {"type": "number"},
                            "colours": {
                                "type": "array",
                                "items": {"type": "string"},
                                "x-selector": ".colour",
                            },
                        },
                        "required": ["name"],
                    },
                ),
                example=_EXAMPLE,
            )
        ]


_EXAMPLE: Final = ExtractResult(
    url="https://example.com/rope",
    final_url="https://example.com/rope",
    status=200,
    media_type="text/html",
    via="fetch",
    outcome=Outcome.OK,
    title="Silk rope",
    data={"name": "Silk rope", "price": 1299.0},
    sources={
        "/name": Provenance("json-ld", "script[1].name"),
        "/price": Provenance("json-ld", "script[1].offers.price", "1299.00"),
    },
    missing=("/colours",),
    valid=True,
    fetched_at=1_767_268_800.0,
    elapsed_ms=120,
).to_answer(CachePart(), "wl_m5x7k2qa_a3b9c1", 1_767_268_800.0)
