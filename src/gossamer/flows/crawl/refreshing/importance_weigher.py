"""Weighs the pages of a crawl by the links between them, once a week, with bounds on memory and time.

Of a large crawl, the pages and links that were stored first are ranked. The others keep the weight of their
URLs. Whatever goes wrong, the crawl is kept fresh with the weights that it has.
"""

import asyncio
import time
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.reading.crawl_graphs import GIVE_WAY, page_id_of
from gossamer.flows.crawl.reading.kept_links import KeptLinks
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.crawl import crawl_counts
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.refresh import due_pages, page_weights
from gossamer.state.db.database import Database
from gossamer.web.crawl.graph.crawl_graph import GraphBuilder
from gossamer.web.crawl.graph.ranking import link_matrix, page_rank
from gossamer.web.crawl.refresh.importance import importances
from gossamer.web.crawl.refresh.visit_history import DAY_MS

EVERY_MS: Final = 7 * DAY_MS
MAX_PAGES: Final = 100_000
MAX_LINKS: Final = 5_000_000
MAX_PLAIN_LINKS: Final = 500_000  # without numpy
READING_SECONDS: Final = 5.0  # after which no more links are read
WHOLE_SECONDS: Final = 12.0
WRITTEN_AT_ONCE: Final = 5_000


class ImportanceWeigher(Struct, frozen=True):
    database: Database
    links: KeptLinks
    log: Log

    async def weigh(self, crawl: Crawl, *, now: int | None = None) -> int:
        """If it is time; returns how many pages were ranked."""
        async with self.database.write() as connection:
            if not await page_weights.claim(connection, crawl.id, EVERY_MS, now=now):
                return 0
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                return await self._weigh(crawl)
        except CrawlsGone:
            return 0
        except (TimeoutError, Unavailable) as error:
            self.log.warning(
                "crawl_not_weighed", "its pages keep the weights they have", crawlId=crawl.id, cause=error
            )
            return 0

    async def _weigh(self, crawl: Crawl) -> int:
        are_more = True
        while are_more:
            async with self.database.write() as connection:
                are_more = await due_pages.enrol(connection, crawl.id)
                await crawl_counts.lock_all(connection, [crawl.id])  # it is there to stay
        builder = await self._read(crawl)
        found = await asyncio.to_thread(_rank, builder)
        for first in range(0, len(found), WRITTEN_AT_ONCE):
            async with self.database.write() as connection:
                await page_weights.write(connection, crawl.id, found[first : first + WRITTEN_AT_ONCE])
        return len(found)

    async def _read(self, crawl: Crawl) -> GraphBuilder:
        most = MAX_LINKS if find_spec("numpy") is not None else MAX_PLAIN_LINKS
        builder = GraphBuilder(partial(page_id_of, spec=crawl.spec), max_pages=MAX_PAGES, max_links=most)
        until = asyncio.get_running_loop().time() + READING_SECONDS
        async with aclosing(self.links.pages(crawl.id)) as pages:
            async for some in pages:
                await asyncio.to_thread(builder.add_pages, some)
                if builder.is_full or asyncio.get_running_loop().time() > until:
                    break
        async with aclosing(self.links.sections(crawl.id)) as sections:
            async for section in sections:
                await asyncio.to_thread(builder.add_section, section.links, section.blob)
                if builder.is_full or asyncio.get_running_loop().time() > until:
                    break
        return builder


def _rank(builder: GraphBuilder) -> list[tuple[str, float]]:
    graph = builder.finish()
    if not graph.targets:  # no links are known, so all pages are alike
        return []
    ranks = page_rank(link_matrix(graph.starts, graph.targets), partial(time.sleep, GIVE_WAY))
    hashes = [page.url_hash for page in graph.pages]
    return list(zip(hashes, importances(ranks), strict=True))
