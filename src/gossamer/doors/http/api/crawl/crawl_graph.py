"""The graph of a crawl over HTTP: its numbers, its sections, and files for other programs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS
from gossamer.doors.http.api.crawl.crawl_page_lines import EXAMPLE_PAGE
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_ID
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.flows.crawl.reading.crawl_graphs import CrawlGraphs, RankedGraph
from gossamer.problems import validation_error
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.graph.clusters import Clusters, cluster
from gossamer.web.crawl.graph.crawl_graph import CrawlGraph, RedirectChain
from gossamer.web.crawl.graph.graph_answer import (
    GraphAnswer,
    GraphFormat,
    GraphHost,
    GraphNode,
    GraphPart,
    GraphSection,
    GraphSort,
    GraphSummary,
    LinkingPage,
    ShownCluster,
    ShownRedirect,
)
from gossamer.web.crawl.graph.graph_files import (
    MEDIA_TYPES,
    GraphCsvFile,
    GraphFile,
    GraphMlFile,
)
from gossamer.web.crawl.graph.graph_parquet import ParquetFile, check_parquet

GRAPH_SECONDS: Final = 120.0
MAX_LISTED: Final = 1_000
MAX_LINKING: Final = 10  # pages that are named for each broken one
MAX_HOSTS: Final = 20
_CHARS: Final = 2_048


class GraphQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which section of the graph."""

    section: Annotated[GraphSection, Meta(description="What to list beside the summary.")] = "pages"
    sort: Annotated[GraphSort, Meta(description="Of `pages`: the largest first.")] = "pageRank"
    within: Annotated[
        str, Meta(max_length=_CHARS, description="Of `clusters`: only what is below this prefix.")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Entries in an answer.")] = 50
    cursor: Annotated[
        Annotated[str, Meta(max_length=20)] | None,
        Meta(description="The `nextCursor` of the answer before."),
    ] = None


class GraphFileQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which file."""

    format: Annotated[GraphFormat, Meta(description="`parquet` needs an extra on the server.")] = "csv"
    part: Annotated[GraphPart, Meta(description="Of CSV and Parquet: one table. GraphML has both.")] = "links"


class CrawlGraphEndpoints(Struct, frozen=True):
    crawls: Crawls
    graphs: CrawlGraphs

    async def get_graph(self, exchange: Exchange, id: str, query: GraphQuery) -> GraphAnswer:
        crawl = await crawl_of(self.crawls, exchange, id)
        first = _first(query.cursor)
        ranked = await self.graphs.get(crawl)
        answer = GraphAnswer(
            crawl.id, summarise(ranked.graph), query.section, timestamps.from_ms(round(ranked.made_at * 1000))
        )
        count = await self._fill(answer, crawl, ranked, query, first)
        if first + query.limit < count:
            answer.next_cursor = str(first + query.limit)
        return answer

    async def find_clusters(self, exchange: Exchange, id: str, within: str) -> tuple[RankedGraph, Clusters]:
        """The clusters as they are drawn."""
        crawl = await crawl_of(self.crawls, exchange, id)
        ranked = await self.graphs.get(crawl)
        return ranked, await asyncio.to_thread(cluster, ranked.graph, ranked.ranks, within)

    async def export_graph(self, exchange: Exchange, id: str, query: GraphFileQuery) -> Response:
        crawl = await crawl_of(self.crawls, exchange, id)
        if query.format == "parquet":
            check_parquet()
        ranked = await self.graphs.get(crawl)
        part = "graph" if query.format == "graphml" else query.part
        name = f"crawl-{crawl.id.lower()}-{part}.{query.format}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        lines = self._write(crawl, ranked, query)
        return Streaming(lines, headers=headers, media_type=MEDIA_TYPES[query.format])

    async def _fill(
        self, answer: GraphAnswer, crawl: Crawl, ranked: RankedGraph, query: GraphQuery, first: int
    ) -> int:
        """Add the section; returns how many entries it has in all."""
        graph, some = ranked.graph, slice(first, first + query.limit)
        match query.section:
            case "pages":
                answer.pages = [ranked.node(number) for number in ranked.order(query.sort)[some]]
                return len(graph.pages)
            case "orphans":
                answer.pages = await self._orphans(crawl, ranked, graph.orphans[some])
                return len(graph.orphans)
            case "broken":
                answer.pages = await asyncio.to_thread(_broken, ranked, graph.broken[some])
                return len(graph.broken)
            case "redirects":
                answer.redirects = [_to_redirect(graph, chain) for chain in graph.chains[some]]
                return len(graph.chains)
            case "clusters":
                found = await asyncio.to_thread(cluster, graph, ranked.ranks, query.within)
                answer.clusters = to_clusters(graph, found)[some]
                return len(found.clusters)

    async def _orphans(self, crawl: Crawl, ranked: RankedGraph, numbers: list[int]) -> list[GraphNode]:
        nodes = [ranked.node(number) for number in numbers]
        known = await self.graphs.known_from(crawl, [node.page_id for node in nodes])
        for node in nodes:
            node.known_from = known.get(node.page_id)
        return nodes

    async def _write(self, crawl: Crawl, ranked: RankedGraph, query: GraphFileQuery) -> AsyncIterator[bytes]:
        file = _file(query)
        yield file.begin()
        if query.format == "graphml" or query.part == "pages":
            async with aclosing(self.graphs.nodes(ranked)) as nodes:
                async for some in nodes:
                    yield await asyncio.to_thread(file.add_pages, some)
        if query.format == "graphml" or query.part == "links":
            async with aclosing(self.graphs.all_links(crawl, ranked)) as links:
                async for found in links:
                    yield await asyncio.to_thread(file.add_links, found)
        yield await asyncio.to_thread(file.end)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {
            "method": "GET",
            "needs": Role.USER,
            "tag": "Crawls",
            "parameters": {"id": "The crawl's id."},
            "opened_by_order": True,
        }
        return [
            Route(
                path="/api/crawls/{id}/graph",
                handler=self.get_graph,
                summary="Show how the pages of a crawl are linked",
                description="A summary, and one section: `pages` with inlinks, outlinks, depth, PageRank, "
                "hub and authority scores; `orphans` that no page links to; `broken` targets with the pages "
                "that link there; `redirects` with their chains and loops; `clusters` by host and folder. "
                "It is computed from the links that were kept while the crawl ran, and kept for a while.",
                problems=(problems.NOT_FOUND,),
                deadline=GRAPH_SECONDS,
                example=_EXAMPLE,
                **common,
            ),
            Route(
                path="/api/crawls/{id}/graph/export",
                handler=self.export_graph,
                summary="Download the graph of a crawl",
                description="Every link (`from`, `to`, `text`, `rel`, `place`) or every page with its "
                "numbers, as CSV or Parquet; both as GraphML, which Gephi and other programs read. It is "
                "streamed.",
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                deadline=MAX_STREAM_SECONDS + 30,
                media_type=MEDIA_TYPES["csv"],
                also=dict.fromkeys((MEDIA_TYPES["graphml"], MEDIA_TYPES["parquet"])),
                example=GraphCsvFile("links").begin().decode(),
                **common,
            ),
        ]


def summarise(graph: CrawlGraph) -> GraphSummary:
    chains, depths = graph.chains, graph.depths
    counts = [0] * (max(depths, default=-1) + 1)
    for depth in depths:
        if depth >= 0:
            counts[depth] += 1
    return GraphSummary(
        pages=len(graph.pages),
        links=len(graph.targets) - len(graph.redirects),
        outside_links=sum(graph.outside),
        uncrawled_links=graph.uncrawled,
        outside_hosts=[GraphHost(*found) for found in graph.outside_hosts.most_common(MAX_HOSTS)],
        redirects=sum(page.is_redirect for page in graph.pages),
        redirect_chains=sum(len(chain.pages) > 1 and not chain.is_loop for chain in chains),
        redirect_loops=sum(chain.is_loop for chain in chains),
        broken=len(graph.broken),
        orphans=len(graph.orphans),
        unreachable=sum(depth < 0 for depth in depths),
        depths=counts,
        pages_without_links=graph.unread,
        is_whole=graph.is_whole and not graph.unread,
    )


def to_clusters(graph: CrawlGraph, found: Clusters) -> list[ShownCluster]:
    links: list[dict[str, int]] = [{} for _ in found.clusters]
    for tie in found.ties:
        target = found.clusters[tie.target].prefix
        links[tie.source][target] = links[tie.source].get(target, 0) + tie.links
    return [
        ShownCluster(
            one.prefix,
            one.is_rest,
            one.pages,
            round(one.rank, 9),
            one.broken,
            one.redirects,
            _to_linking(graph, one.example),
            tied,
        )
        for one, tied in zip(found.clusters, links, strict=True)
    ]


def _broken(ranked: RankedGraph, numbers: list[int]) -> list[GraphNode]:
    linking = ranked.graph.linking_to(numbers, MAX_LINKING)
    nodes = []
    for number in numbers:
        node = ranked.node(number)
        node.linked_from = [_to_linking(ranked.graph, source) for source in linking[number]]
        nodes.append(node)
    return nodes


def _to_redirect(graph: CrawlGraph, chain: RedirectChain) -> ShownRedirect:
    steps = [_to_linking(graph, number) for number in chain.pages]
    return ShownRedirect(steps, chain.leads_to, chain.is_loop, graph.in_counts[chain.pages[0]])


def _to_linking(graph: CrawlGraph, number: int) -> LinkingPage:
    page = graph.pages[number]
    return LinkingPage(page.url_hash, page.url)


def _file(query: GraphFileQuery) -> GraphFile:
    if query.format == "graphml":
        return GraphMlFile()
    return ParquetFile(query.part) if query.format == "parquet" else GraphCsvFile(query.part)


def _first(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or not cursor.isascii():
        raise validation_error("`cursor` is not one of ours.", hint="Give `nextCursor` of the answer before.")
    return int(cursor)


_EXAMPLE: Final = GraphAnswer(
    EXAMPLE_ID,
    GraphSummary(
        pages=204,
        links=9_120,
        outside_links=311,
        uncrawled_links=42,
        outside_hosts=[GraphHost("www.iana.org:443", 204)],
        redirects=6,
        redirect_chains=1,
        redirect_loops=0,
        broken=3,
        orphans=5,
        unreachable=4,
        depths=[1, 38, 120, 41],
        pages_without_links=0,
        is_whole=True,
    ),
    "pages",
    "2026-01-01T12:00:00.000Z",
    pages=[
        GraphNode(
            EXAMPLE_PAGE.page_id,
            EXAMPLE_PAGE.url,
            "Example Domain",
            200,
            "ok",
            0,
            203,
            38,
            1,
            0.131,
            0.42,
            1.0,
        )
    ],
    next_cursor="50",
)
