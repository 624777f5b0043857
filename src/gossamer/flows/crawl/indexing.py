"""Indexing: adds the pages that crawls have stored to the search index of their tenant.

Stored pages are queued for the index in the transaction that stores them (`state/search/index_queue`). So
indexing may run at any time and in any number of processes, and a crawl does not wait for it.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.content import unpack
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.database import Database
from gossamer.state.search import index_queue
from gossamer.state.search.index_queue import IndexBatch, QueuedPage
from gossamer.state.search.search_document import (
    GonePage,
    IndexedDocument,
    IndexEntry,
    build_entry,
    gone_page,
)
from gossamer.state.search.search_index import IndexedPages, SearchIndex
from gossamer.web.crawl.crawl_view import outlined_text_of
from gossamer.web.crawl.parts import is_quick
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.search.passages import OutlinedText
from gossamer.web.url.url import Url, cache_form

KIND: Final = "index"
CONCURRENCY: Final = 2  # while one loop waits for the database, the other parses
MAX_BATCHES_AT_ONCE: Final = 16  # that one loop takes
PAGES_PER_WRITE: Final = 250  # a write begins once this many pages are parsed
POLL_SECONDS: Final = 1.0  # how often the queue is checked
PAUSE_SECONDS: Final = 5.0  # when a service is unavailable
GONE: Final = (404, 410)

SlowPage = tuple[str, QueuedPage, Page]  # the URL in its cache form, the queued page, and the page itself


class Indexing(Struct, frozen=True):
    database: Database
    index: SearchIndex
    crawls: Crawls
    blobs: Blobs
    parsers: ParserPool
    log: Log

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`. Batches that have begun are finished then, and the others are given back."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(self._loop(stop))

    async def catch_up(self, stop: asyncio.Event) -> None:
        """Index until nothing is due. Raises `Unavailable`."""
        while not stop.is_set() and await self._index_some(stop):
            pass

    async def are_due(self) -> bool:
        async with self.database.read() as connection:
            return await index_queue.are_due(connection)

    async def _loop(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            pause = POLL_SECONDS
            try:
                await self.catch_up(stop)
            except Unavailable as away:
                self.log.warning("indexing_paused", "crawled pages wait for the index", why=away.detail)
                pause = PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - these pages are tried again later, after others
                self.log.error("indexing_failed", "crawled pages could not be indexed", cause=error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()

    async def _index_some(self, stop: asyncio.Event) -> bool:
        """Index some batches; returns whether there were any."""
        if not await self.are_due():
            return False
        async with self.database.write() as connection:
            batches = await index_queue.take(connection, MAX_BATCHES_AT_ONCE)
        left = list(batches)
        try:
            while left and not stop.is_set():
                parsed = await self._parse_batches(left)
                await self.index.add_crawled(parsed)
                del left[: len(parsed)]
        except Unavailable:
            await self._give_back(left, index_queue.RETRY_MS)
            raise
        except Exception:  # the first may be the cause, so it waits; the others may be taken again at once
            await self._give_back(left[1:], 0)
            raise
        await self._give_back(left, 0)
        return bool(batches)

    async def _parse_batches(self, batches: Sequence[IndexBatch]) -> list[IndexedPages]:
        """Parse batches from the first on, until there are enough pages for one transaction."""
        parsed: list[IndexedPages] = []
        pages = 0
        for batch in batches:
            parsed.append(indexed := await self._parse_batch(batch))
            pages += len(indexed.entries)
            if pages >= PAGES_PER_WRITE:
                break
        return parsed

    async def _parse_batch(self, batch: IndexBatch) -> IndexedPages:
        crawl = await self.crawls.get(batch.crawl_id)
        if crawl is None or crawl.is_private or not self.index.is_kept:
            return IndexedPages(batch)
        async with self.database.read() as connection:
            pages = await index_queue.pages(connection, batch)
        whole = await self.blobs.get(batch.blob)
        if whole is None:  # the content was deleted
            return IndexedPages(batch)
        slow: list[SlowPage] = []
        entries, gone = await asyncio.to_thread(self._parse_quick_pages, batch, pages, whole, slow)
        for form, stored, page in slow:
            if (text := await self._parse_slow(page)) is not None:
                entries.append(await asyncio.to_thread(_entry, batch, form, stored, text))
        return IndexedPages(batch, entries, gone)

    async def _parse_slow(self, page: Page) -> OutlinedText | None:
        try:
            return await self.parsers.extract_text(page)
        except Unavailable:
            raise
        except Problem as problem:
            self.log.warning("indexing_failed", problem.detail, url=page.final_url)
            return None

    def _parse_quick_pages(
        self, batch: IndexBatch, pages: Sequence[QueuedPage], whole: bytes, slow: list[SlowPage]
    ) -> tuple[list[IndexEntry], list[GonePage]]:
        """Parse the quick pages; the others are added to `slow`."""
        entries: list[IndexEntry] = []
        gone: list[GonePage] = []
        for stored in pages:
            form = _cache_form(stored.final_url)
            if form and _is_gone(stored):
                gone.append(gone_page(batch.tenant_id, form, batch.crawled_at))
            elif form and stored.outcome == Outcome.OK:
                parsed = self._parse_if_quick(stored, whole)
                if isinstance(parsed, OutlinedText):
                    entries.append(_entry(batch, form, stored, parsed))
                elif parsed is not None:
                    slow.append((form, stored, parsed))
        return entries, gone

    def _parse_if_quick(self, stored: QueuedPage, whole: bytes) -> OutlinedText | Page | None:
        """The text of a page, or the page itself if parsing it may take long."""
        try:
            page = unpack(whole[stored.blob_offset : stored.blob_offset + stored.blob_size])
            return outlined_text_of(page) if is_quick(page) else page
        except Exception as error:  # noqa: BLE001 - a defect that one page reveals must not stop the others
            self.log.error("indexing_failed", "a page is not readable", url=stored.final_url, cause=error)
            return None

    async def _give_back(self, batches: Sequence[IndexBatch], pause: int) -> None:
        with contextlib.suppress(Unavailable):  # otherwise they are due again when their time is over
            async with self.database.write() as connection:
                await index_queue.give_back(connection, batches, pause)


def _entry(batch: IndexBatch, form: str, stored: QueuedPage, text: OutlinedText) -> IndexEntry:
    document = IndexedDocument(
        url=stored.final_url,
        title=stored.title,
        description=stored.description,
        text=text.text,
        headings=text.headings,
        language=stored.language,
        seen_at=batch.crawled_at / 1000,
    )
    return build_entry(batch.tenant_id, form, document)


def _is_gone(page: QueuedPage) -> bool:
    """Whether the page is to leave the index: it is gone, or it asks not to be indexed. After any other
    failure the index keeps the page."""
    return page.status_code in GONE or "noindex" in page.directives.split(",")


def _cache_form(url: str) -> str | None:
    try:
        return cache_form(Url.parse(url))
    except Problem:  # a browser may end at any address
        return None
