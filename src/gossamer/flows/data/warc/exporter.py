"""CrawlExporter: writes the stored pages of a crawl as a WARC or a WACZ file, in pieces.

Nothing of it is kept: a piece is sent before the next one is made. URLs without an answer are left out, and
so are pages whose content is not kept any more.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer import __version__
from gossamer.flows.crawl.content import keep_headers, unpack_row
from gossamer.flows.crawl.reading.kept_links import KeptLinks
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.data.warc.wacz_file import WARC_NAME, WaczFile, WaczPage, iso_time
from gossamer.problems import Problem
from gossamer.state.crawl.crawled_pages import PageFilter, StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.web.crawl.graph.graph_answer import ExportFormat
from gossamer.web.crawl.graph.link_section import LinkSection
from gossamer.web.documents.warc.cdxj import IndexedRecord
from gossamer.web.documents.warc.http_heads import archived_at, warc_date
from gossamer.web.documents.warc.warc_stream import CONFORMS_TO, DESCRIPTION, ArchivedExchange, WarcStream
from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page

ROWS_AT_ONCE: Final = 200
MAX_HEADS: Final = 100_000  # of redirects; what others said is made up from their rows


class _Head(Struct, frozen=True):
    """What was said when a page was asked for and, if there is no body, in the answer."""

    request: HeaderPairs = ()
    answer: HeaderPairs = ()


class _Written(Struct, frozen=True):
    """The records of a page."""

    records: bytes
    indexed: IndexedRecord
    row: StoredPage


class CrawlExporter(Struct, frozen=True):
    results: CrawlResults
    links: KeptLinks

    async def write(self, crawl: Crawl, shape: ExportFormat) -> AsyncGenerator[bytes]:
        """A caller that stops early must close it."""
        writing = self._write_warc(crawl) if shape == "warc" else self._write_wacz(crawl)
        async with aclosing(writing):
            async for piece in writing:
                yield piece

    async def _write_warc(self, crawl: Crawl) -> AsyncGenerator[bytes]:
        stream = WarcStream(f"crawl-{crawl.id.lower()}.warc.gz", _about(crawl))
        yield stream.begin()
        async with aclosing(self._records(crawl, stream)) as written:
            async for some in written:
                yield b"".join(one.records for one in some)

    async def _write_wacz(self, crawl: Crawl) -> AsyncGenerator[bytes]:
        title = crawl.name or next(iter(crawl.spec.seeds), crawl.id)
        file = await asyncio.to_thread(WaczFile, title, DESCRIPTION, iso_time(time.time()))
        stream = WarcStream(WARC_NAME, _about(crawl))
        try:
            yield file.add(stream.begin())
            async with aclosing(self._records(crawl, stream)) as written:
                async for some in written:
                    yield await asyncio.to_thread(_add_to, file, some)
            ending = file.end()
            while (piece := await asyncio.to_thread(next, ending, None)) is not None:
                yield piece
        finally:
            await asyncio.shield(asyncio.to_thread(file.close))

    async def _records(self, crawl: Crawl, stream: WarcStream) -> AsyncGenerator[list[_Written]]:
        redirects = await self._redirect_heads(crawl.id)
        which, after = PageFilter(crawl_id=crawl.id), None
        while found := await self.results.listing_when_free(which, after, ROWS_AT_ONCE):
            after = found[-1].position
            rows = [stored.page for stored in found if stored.page.status_code is not None]
            blobs = list({row.blob for row in rows if row.blob is not None})
            sections = await self.links.in_blobs(crawl.id, blobs)
            for blob, together in groupby(rows, key=lambda row: row.blob):
                whole = await self.results.blobs.get(blob) if blob is not None else None
                heads = redirects if blob is None else _heads_of(sections.get(blob))
                yield await asyncio.to_thread(_write_rows, stream, list(together), whole, heads)

    async def _redirect_heads(self, crawl_id: str) -> dict[str, _Head]:
        heads: dict[str, _Head] = {}
        async with aclosing(self.links.sections(crawl_id)) as sections:
            async for section in sections:
                read = partial(_heads_of, section.links, redirects=True)
                heads |= await asyncio.to_thread(read)
                if len(heads) > MAX_HEADS:
                    break
        return heads


def _heads_of(section: LinkSection | None, *, redirects: bool = False) -> dict[str, _Head]:
    if section is None:
        return {}
    return {
        page.url_hash.hex(): _Head((*section.request, *page.sent), page.headers)
        for page in section.pages
        if page.headers or not redirects
    }


def _write_rows(
    stream: WarcStream, rows: Sequence[StoredPage], whole: bytes | None, heads: dict[str, _Head]
) -> list[_Written]:
    written = []
    for row in rows:
        head = heads.get(row.url_hash, _Head())
        page = _redirect(row, head) if row.blob is None else _page(row, whole)
        if page is not None:
            request = head.request if page.via == "fetch" else ()  # a browser said more than we know
            at = archived_at(page.headers) or row.crawled_at
            records, indexed = stream.add(ArchivedExchange(page, at, request))
            written.append(_Written(records, indexed, row))
    return written


def _page(row: StoredPage, whole: bytes | None) -> Page | None:
    """None: its content is gone or damaged."""
    if whole is None:
        return None
    try:
        page = unpack_row(whole, row)
    except Problem:
        return None
    return replace(page, url=row.url, headers=keep_headers(page.headers))  # older content may have cookies


def _redirect(row: StoredPage, head: _Head) -> Page | None:
    """None: it is no redirect, and its content is not kept."""
    if row.final_url == row.url:
        return None
    return Page(
        url=row.url,
        final_url=row.final_url,
        status=row.status_code or 0,
        headers=head.answer or (("location", row.final_url),),
        body=b"",
        media_type=row.content_type or "text/html",
        charset="utf-8",
        via="render" if row.via == "render" else "fetch",
    )


def _add_to(file: WaczFile, some: Sequence[_Written]) -> bytes:
    return b"".join([file.add(one.records, one.indexed, _wacz_page(one.row)) for one in some])


def _wacz_page(row: StoredPage) -> WaczPage | None:
    """Only what people look at is in the list of pages."""
    if row.blob is None or row.outcome != "ok":
        return None
    return WaczPage(
        row.url_hash, row.url, warc_date(row.crawled_at), row.title, row.status_code or 0, row.depth
    )


def _about(crawl: Crawl) -> dict[str, str]:
    return {
        "software": f"Gossamer/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "description": DESCRIPTION,
        "isPartOf": f"crawl {crawl.id}",
    }
