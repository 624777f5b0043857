"""Site memories: what recurs on the pages of a host, learned from the pages that a crawl has stored of it.

A memory is learned when a page of the host is first read, from a sample, and kept by this process for a
while. Nothing of it is stored: the pages have it all, and it goes with them.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct, field

from gossamer.concurrency.single_flight import SingleFlight
from gossamer.flows.crawl.content import unpack_row
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.problems import Busy, Problem, Unavailable
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.reading import host_sample
from gossamer.state.db.database import Database
from gossamer.web.content.recurring import MIN_PAGES, BlockSketch, learn
from gossamer.web.content.site_memory import SiteMemory

MAX_KEPT: Final = 256  # memories of hosts
RECHECK_SECONDS: Final = 10.0  # while the host has too few pages for a whole sample
KEEP_SECONDS: Final = 600.0
LEARN_SECONDS: Final = 3.0  # for one host; what is sketched by then is what it is learned from
NOTHING: Final = SiteMemory()

_Host = tuple[str, str]  # of a crawl


class _Learned(Struct, frozen=True):
    memory: SiteMemory
    sample: tuple[str, ...]  # the pages that it was learned from, by URL hash
    until: float


class SiteMemories(Struct, frozen=True):
    database: Database
    blobs: Blobs
    parsers: ParserPool
    _kept: OrderedDict[_Host, _Learned] = field(default_factory=OrderedDict)
    _learning: SingleFlight[_Host, SiteMemory] = field(default_factory=SingleFlight)

    async def get(self, crawl_id: str, host: str) -> SiteMemory:
        key = (crawl_id, host)
        learned = self._kept.get(key)
        if learned is not None and asyncio.get_running_loop().time() < learned.until:
            self._kept.move_to_end(key)
            return learned.memory
        return await self._learning.share(key, lambda: self._learn(key, learned))

    async def _learn(self, key: _Host, before: _Learned | None) -> SiteMemory:
        try:
            async with self.database.read() as connection:
                pages = await host_sample.take(connection, *key)
        except Busy:  # the page is worth more than what is taken from it
            return before.memory if before is not None else NOTHING
        sample = tuple(page.url_hash for page in pages)
        if before is not None and before.sample == sample:
            memory = before.memory
        else:
            memory = learn(await self._sketch(pages)) if len(pages) >= MIN_PAGES else NOTHING
        seconds = KEEP_SECONDS if len(pages) >= host_sample.SAMPLE else RECHECK_SECONDS
        self._keep(key, _Learned(memory, sample, asyncio.get_running_loop().time() + seconds))
        return memory

    async def _sketch(self, pages: Sequence[StoredPage]) -> list[BlockSketch]:
        sketches: list[BlockSketch] = []
        name, whole = None, None
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                for row in sorted(pages, key=attrgetter("blob", "blob_offset")):
                    if row.blob is not None and row.blob != name:
                        name, whole = row.blob, await self.blobs.get(row.blob)
                    if whole is not None:
                        sketches.append(await self._sketch_page(whole, row))
        except TimeoutError:
            pass
        return sketches

    async def _sketch_page(self, whole: bytes, row: StoredPage) -> BlockSketch:
        try:
            return await self.parsers.sketch(unpack_row(whole, row))
        except Unavailable:
            raise
        except Problem:  # it is damaged, or takes too long to read
            return {}

    def _keep(self, key: _Host, learned: _Learned) -> None:
        self._kept[key] = learned
        self._kept.move_to_end(key)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
