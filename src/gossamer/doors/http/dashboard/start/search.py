"""Search: find words in the pages that were read here."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer.doors.http.api.pages.caching import CacheQuery
from gossamer.doors.http.api.pages.search import MAX_QUERY_CHARS, SearchEndpoints, SearchRequest
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.form import Form
from gossamer.problems import Problem

PATH: Final = "/app/search"
RESULTS: Final = 20


class SearchPageQuery(msgspec.Struct):
    """What somebody searches for."""

    query: Annotated[str, Meta(max_length=MAX_QUERY_CHARS)] = ""
    site: Annotated[str, Meta(max_length=253)] = ""


class SearchPages(Struct, frozen=True):
    dashboard: Dashboard
    searching: SearchEndpoints  # of the index alone: looking at a page asks nobody else

    async def show(self, exchange: Exchange, query: SearchPageQuery) -> Response:
        typed = Form({"query": query.query.strip(), "site": query.site.strip()}, action=PATH)
        if not typed["query"]:
            return self._page(exchange, typed)
        await exchange.body()  # a search ends when its client goes, which is known once the body is read
        request = SearchRequest(typed["query"], limit=RESULTS, site=typed["site"] or None)
        try:
            response = await self.searching.search_web(exchange, request, CacheQuery(cache=False))
        except Problem as problem:
            exchange.error = problem.kind.code
            return self._page(exchange, typed.refused(problem))
        return self._page(exchange, typed, msgspec.json.decode(response.body))

    def _page(self, exchange: Exchange, form: Form, answer: Any = None) -> Response:
        return self.dashboard.render(
            exchange, "start/search.html", here="search", form=form, answer=answer, most=RESULTS
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(PATH, self.show, "Search")]
