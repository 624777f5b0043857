"""The graph of a crawl as a picture, with tables beside it."""

import asyncio
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.crawl.crawl_graph import (
    GRAPH_SECONDS,
    CrawlGraphEndpoints,
    GraphQuery,
    to_clusters,
)
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links, to_query
from gossamer.doors.http.dashboard.work.crawl import ONE
from gossamer.doors.http.dashboard.work.crawl_list import CRAWLS
from gossamer.web.crawl.graph.clusters import parents
from gossamer.web.crawl.graph.drawing import draw
from gossamer.web.crawl.graph.graph_answer import ShownCluster

LISTED: Final = 50
TOP: Final = 15  # pages beside the drawing
SECTIONS: Final = {
    "clusters": "Drawing",
    "pages": "Pages",
    "orphans": "Orphans",
    "broken": "Broken",
    "redirects": "Redirects",
}
SORTS: Final = {
    "pageRank": "PageRank",
    "inlinks": "Inlinks",
    "outlinks": "Outlinks",
    "depth": "Depth",
    "hub": "Hub",
    "authority": "Authority",
}


class GraphShown(msgspec.Struct):
    """Which part of a graph is shown."""

    section: str = "clusters"
    sort: str = ""
    within: str = ""
    cursor: str = ""


class GraphPages(Struct, frozen=True):
    dashboard: Dashboard
    crawls: CrawlsEndpoints
    graphs: CrawlGraphEndpoints

    async def show(self, exchange: Exchange, id: str, query: GraphShown) -> Response:
        crawl = await self.crawls.get_crawl(exchange, id)
        chosen = filters(query)
        is_drawn = query.section == "clusters"
        asked = GraphQuery(limit=TOP) if is_drawn else to_query(GraphQuery, chosen, limit=LISTED)
        found = await self.graphs.get_graph(exchange, id, asked)
        shown = await self._drawn(exchange, id, query.within) if is_drawn else {}
        here = f"{CRAWLS}/{id}/graph"
        return self.dashboard.render(
            exchange,
            "work/crawl_graph.html",
            here="crawls",
            crawl=crawl,
            crawl_title=crawl.name or (crawl.seeds[0] if crawl.seeds else crawl.crawl_id),
            graph=found,
            query=query,
            sections=SECTIONS,
            sorts=SORTS,
            address=here,
            **shown,
            **list_links(here, chosen, None if is_drawn else found.next_cursor),
        )

    async def _drawn(self, exchange: Exchange, id: str, within: str) -> dict[str, Any]:
        ranked, found = await self.graphs.find_clusters(exchange, id, within)
        drawing = await asyncio.to_thread(draw, found)
        shown = to_clusters(ranked.graph, found)
        most = max((one.page_rank for one in shown), default=1.0) or 1.0
        return {
            "drawing": drawing,
            "clusters": shown,
            "hrefs": [_href(id, within, one) for one in shown],
            "shades": [f"{0.25 + 0.75 * (one.page_rank / most) ** 0.5:.2f}" for one in shown],
            "labels": [circle.label for circle in drawing.circles],
            "above": list(parents(within)),
            "within": within,
            "seen": found.pages,
        }

    def routes(self) -> list[Route]:
        return [
            self.dashboard.page(f"{ONE}/graph", self.show, "The graph of a crawl", deadline=GRAPH_SECONDS)
        ]


def _href(crawl_id: str, within: str, one: ShownCluster) -> str:
    """Into the cluster, or to its only page; empty if there is nothing more to see."""
    if one.pages == 1:
        return f"{CRAWLS}/{crawl_id}/pages/{one.example.page_id}"
    if one.is_rest or one.prefix == within:
        return ""
    return f"{CRAWLS}/{crawl_id}/graph?{urlencode({'within': one.prefix})}"
