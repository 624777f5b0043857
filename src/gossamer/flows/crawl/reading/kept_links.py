"""Kept links: the links of a crawl's pages, as they were noted while it ran.

Pages that were stored by an earlier version, or that came back from an archive, have none. Their bodies are
read instead, for as long as that may take.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.content import unpack
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.reading import graph_pages
from gossamer.state.crawl.removal import crawl_blobs
from gossamer.state.crawl.removal.crawl_blobs import LinksAt
from gossamer.state.db.database import Database
from gossamer.web.crawl.graph.crawl_graph import MAX_PAGES, GraphPage
from gossamer.web.crawl.graph.link_note import LinkPlace
from gossamer.web.crawl.graph.link_section import LinkSection, NotedLink, SectionDamaged, unpack_section

ROWS_AT_ONCE: Final = 5_000
SECTIONS_AT_ONCE: Final = 500
BODY_SECONDS: Final = 20.0  # for bodies of which no links are kept


class KeptSection(Struct, frozen=True):
    """The links of the pages in one blob."""

    blob: str
    links: LinkSection


class KeptLinks(Struct, frozen=True):
    database: Database
    blobs: Blobs
    parsers: ParserPool

    async def pages(self, crawl_id: str) -> AsyncGenerator[list[GraphPage]]:
        after, count = None, 0
        while count <= MAX_PAGES:
            async with self.database.scan() as connection:
                found, after = await graph_pages.listing(connection, crawl_id, after, ROWS_AT_ONCE)
            count += len(found)
            yield found
            if after is None:
                return

    async def sections(self, crawl_id: str) -> AsyncGenerator[KeptSection]:
        """In the order in which they were stored. One that is gone or damaged is left out."""
        after = ""
        while True:
            async with self.database.read() as connection:
                found = await crawl_blobs.links_of(connection, crawl_id, after=after, limit=SECTIONS_AT_ONCE)
            for at in found:
                if (section := await self._read(at)) is not None:
                    yield KeptSection(at.blob, section)
            if len(found) < SECTIONS_AT_ONCE:
                return
            after = found[-1].blob

    async def in_blobs(self, crawl_id: str, blobs: Sequence[str]) -> dict[str, LinkSection]:
        """Those of some blobs, by their names."""
        async with self.database.read() as connection:
            found = await crawl_blobs.links_in(connection, crawl_id, blobs)
        read = {blob: await self._read(at) for blob, at in found.items()}
        return {blob: section for blob, section in read.items() if section is not None}

    async def from_bodies(
        self, pages: Sequence[GraphPage], seconds: float = BODY_SECONDS
    ) -> AsyncGenerator[tuple[GraphPage, list[NotedLink]]]:
        """The links of pages of which none are kept, as many as time allows."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        for blob, together in groupby(pages, key=lambda page: page.blob):
            whole = await self.blobs.get(blob) if blob else None
            for page in together if whole is not None else ():
                if loop.time() > until:
                    return
                links = await self._links_of(page, whole or b"")
                if links is not None:
                    yield page, links

    async def _links_of(self, page: GraphPage, whole: bytes) -> list[NotedLink] | None:
        try:
            stored = unpack(whole[page.blob_offset : page.blob_offset + page.blob_size])
            found = await self.parsers.find_links(stored)
        except Unavailable:
            raise
        except Problem:  # damaged, or too much work to read
            return None
        return [NotedLink(link.url, link.text, link.rel, LinkPlace.MAIN) for link in found]

    async def _read(self, at: LinksAt) -> LinkSection | None:
        packed = await self.blobs.get_part(at.blob, at.offset, at.size)
        if packed is None:
            return None
        try:
            return await asyncio.to_thread(unpack_section, packed)
        except SectionDamaged:
            return None
