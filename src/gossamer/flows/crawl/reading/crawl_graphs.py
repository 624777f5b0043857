"""Crawl graphs: computes the graph of a crawl when somebody asks for it, and keeps it for a while.

It is computed in a thread, in steps of milliseconds, one graph at a time in a process. What is kept is that
of a state of the crawl; the graph of a crawl that runs is computed again after a minute.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.concurrency.single_flight import SingleFlight
from gossamer.flows.crawl.reading.kept_links import KeptLinks
from gossamer.flows.crawl.seeds import new_url
from gossamer.problems import Problem
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.reading import graph_pages
from gossamer.web.crawl.graph.crawl_graph import CrawlGraph, GraphBuilder, GraphLink, links_of_section
from gossamer.web.crawl.graph.graph_answer import GraphNode, GraphSort, KnownFrom
from gossamer.web.crawl.graph.ranking import Floats, hubs_and_authorities, link_matrix, page_rank
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.url.url import Url

MAX_KEPT_LINKS: Final = 20_000_000  # of all graphs that a process keeps; the last one stays anyway
RUNNING_SECONDS: Final = 60.0
NODES_AT_ONCE: Final = 2_000
GIVE_WAY: Final = 0.001  # seconds for other threads between two rounds


@dataclass(eq=False)
class RankedGraph:
    """A graph, with what was computed from it."""

    graph: CrawlGraph
    ranks: Floats
    hubs: Floats
    authorities: Floats
    made_at: float  # seconds since 1970
    _orders: dict[str, list[int]] = field(default_factory=dict)

    def node(self, number: int) -> GraphNode:
        graph, page = self.graph, self.graph.pages[number]
        depth = graph.depths[number]
        return GraphNode(
            page.url_hash,
            page.url,
            page.title or None,
            page.status_code,
            page.outcome,
            depth if depth >= 0 else None,
            graph.in_counts[number],
            graph.out_count(number),
            graph.outside[number],
            round(self.ranks[number], 9),
            round(self.hubs[number], 6),
            round(self.authorities[number], 6),
        )

    def nodes(self, numbers: Iterable[int]) -> list[GraphNode]:
        return [self.node(number) for number in numbers]

    def order(self, sort: GraphSort) -> list[int]:
        """The numbers of all pages, in this order."""
        if sort not in self._orders:
            graph = self.graph
            values: dict[GraphSort, Sequence[float]] = {
                "pageRank": self.ranks,
                "inlinks": graph.in_counts,
                "outlinks": [graph.out_count(number) for number in range(len(graph.pages))],
                "depth": graph.depths,
                "hub": self.hubs,
                "authority": self.authorities,
            }
            key = values[sort]
            self._orders[sort] = sorted(range(len(graph.pages)), key=lambda number: -key[number])
        return self._orders[sort]


class _Kept(Struct, frozen=True):
    stamp: tuple[object, ...]
    ranked: RankedGraph
    until: float


class CrawlGraphs(Struct, frozen=True):
    links: KeptLinks
    _kept: OrderedDict[str, _Kept] = msgspec.field(default_factory=OrderedDict)
    _making: SingleFlight[tuple[object, ...], RankedGraph] = msgspec.field(default_factory=SingleFlight)
    _turn: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    async def get(self, crawl: Crawl) -> RankedGraph:
        now, stamp = asyncio.get_running_loop().time(), (crawl.id, crawl.revision, crawl.counts.pages)
        kept = self._kept.get(crawl.id)
        if kept is not None and (kept.stamp == stamp or now < kept.until):
            self._kept.move_to_end(crawl.id)
            return kept.ranked
        return await self._making.share(stamp, lambda: self._make(crawl, stamp))

    async def known_from(self, crawl: Crawl, url_hashes: Sequence[str]) -> dict[str, KnownFrom]:
        async with self.links.database.read() as connection:
            return await graph_pages.known_from(connection, crawl.id, url_hashes)

    async def nodes(self, ranked: RankedGraph) -> AsyncGenerator[list[GraphNode]]:
        count = len(ranked.graph.pages)
        for first in range(0, count, NODES_AT_ONCE):
            numbers = range(first, min(first + NODES_AT_ONCE, count))
            yield await asyncio.to_thread(ranked.nodes, numbers)

    async def all_links(self, crawl: Crawl, ranked: RankedGraph) -> AsyncGenerator[Iterable[GraphLink]]:
        """Every link as it was noted, those that leave the crawl too."""
        pages = {page.url_hash: page for page in ranked.graph.pages}
        left = {page.url_hash: page for page in ranked.graph.pages if page.blob is not None}
        async with aclosing(self.links.sections(crawl.id)) as sections:
            async for section in sections:
                yield links_of_section(section.links, pages, section.blob)
                for stored in section.links.pages:
                    name = stored.url_hash.hex()
                    if name in left and left[name].blob == section.blob:
                        del left[name]
        async with aclosing(self.links.from_bodies(list(left.values()))) as bodies:
            async for page, found in bodies:
                yield [GraphLink(page, link) for link in found]

    async def _make(self, crawl: Crawl, stamp: tuple[object, ...]) -> RankedGraph:
        async with self._turn:
            made_at = time.time()
            builder = GraphBuilder(lambda url: page_id_of(url, crawl.spec))
            async with aclosing(self.links.pages(crawl.id)) as pages:
                async for some in pages:
                    await asyncio.to_thread(builder.add_pages, some)
            async with aclosing(self.links.sections(crawl.id)) as sections:
                async for section in sections:
                    await asyncio.to_thread(builder.add_section, section.links, section.blob)
            async with aclosing(self.links.from_bodies(builder.unread())) as bodies:
                async for page, found in bodies:
                    builder.add_links(page.url_hash, [link.url for link in found])
            ranked = await asyncio.to_thread(_rank, builder, made_at)
        self._keep(crawl, stamp, ranked)
        return ranked

    def _keep(self, crawl: Crawl, stamp: tuple[object, ...], ranked: RankedGraph) -> None:
        now = asyncio.get_running_loop().time()
        until = now if crawl.is_over else now + RUNNING_SECONDS
        self._kept[crawl.id] = _Kept(stamp, ranked, until)
        self._kept.move_to_end(crawl.id)
        while len(self._kept) > 1 and self._kept_links() > MAX_KEPT_LINKS:
            self._kept.popitem(last=False)

    def _kept_links(self) -> int:
        graphs = [kept.ranked.graph for kept in self._kept.values()]
        return sum(len(graph.targets) + 20 * len(graph.pages) for graph in graphs)


def _rank(builder: GraphBuilder, made_at: float) -> RankedGraph:
    graph = builder.finish()
    links = link_matrix(graph.starts, graph.targets)
    give_way = partial(time.sleep, GIVE_WAY)
    ranks = page_rank(links, give_way)
    hubs, authorities = hubs_and_authorities(links, give_way)
    graph.in_counts, graph.depths, graph.orphans, graph.broken, graph.chains  # noqa: B018 - here, not later
    return RankedGraph(graph, ranks, hubs, authorities, made_at)


def page_id_of(url: str, spec: CrawlSpec) -> str:
    """The id that the page behind a URL would have; empty if it is no URL."""
    try:
        return new_url(Url.parse(url), spec).url_hash
    except Problem:
        return ""
