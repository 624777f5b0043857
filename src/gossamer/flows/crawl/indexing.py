"""Indexing: what crawls have stored gets into the search index of its tenant, after it, and in its own time.

Pages and their rows are lasting, and which of them the index lacks is written down with them
(`state/unindexed`). So it does not matter when and where this runs: in a process of its own beside a crawl,
in several, on another machine, or later. A crawl does not wait for it.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from gossamer.flows.crawl.content import unpacked
from gossamer.flows.workshop import Workshop
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state import unindexed
from gossamer.state.blobs import Blobs
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database
from gossamer.state.search_document import Document, Entry, Gone, entry, gone
from gossamer.state.search_index import Reading, SearchIndex
from gossamer.state.unindexed import Batch, Stored
from gossamer.web.glance import text_of
from gossamer.web.outcome import Outcome
from gossamer.web.page import Page
from gossamer.web.parts import is_quick
from gossamer.web.url import Url, cache_form

KIND: Final = "index"
LANES: Final = 2  # while one waits for the database, the other reads
TAKEN_AT_ONCE: Final = 16  # batches
TOGETHER: Final = 250  # pages, where there are so many, that are read before they are written
LOOK_SECONDS: Final = 1.0  # how often it is asked whether there is something to do
PAUSE_SECONDS: Final = 5.0  # when something is away
GONE: Final = (404, 410)

Slow = tuple[str, Stored, Page]  # what it is indexed as, what is known of it, and itself


class Indexing:
    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        crawls: Crawls,
        blobs: Blobs,
        workshop: Workshop,
        log: Log,
    ) -> None:
        self._database = database
        self._index = index
        self._crawls = crawls
        self._blobs = blobs
        self._workshop = workshop
        self._log = log

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; what is in hand then is finished, and the rest given back."""
        async with asyncio.TaskGroup() as group:
            for _ in range(LANES):
                group.create_task(self._lane(stop))

    async def catch_up(self, stop: asyncio.Event) -> None:
        """Until nothing is left that can be done now. Raises `Unavailable`."""
        while not stop.is_set() and await self._some(stop):
            pass

    async def are_due(self) -> bool:
        async with self._database.read() as connection:
            return await unindexed.are_due(connection)

    async def _lane(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            pause = LOOK_SECONDS
            try:
                await self.catch_up(stop)
            except Unavailable as away:
                self._log.warning("indexing_paused", "crawled pages wait for the index", why=away.detail)
                pause = PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - these are tried again later, others before
                self._log.error("indexing_failed", "crawled pages could not be indexed", cause=error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()

    async def _some(self, stop: asyncio.Event) -> bool:
        """Whether there was something to do."""
        if not await self.are_due():
            return False
        async with self._database.write() as connection:
            batches = await unindexed.take(connection, TAKEN_AT_ONCE)
        left = list(batches)
        try:
            while left and not stop.is_set():
                readings = await self._read(left)
                await self._index.take_in(readings)
                del left[: len(readings)]
        except Unavailable:
            await self._give_back(left, unindexed.AGAIN_MS)
            raise
        except Exception:  # all but the first at once: sooner or later the first is the one to blame
            await self._give_back(left[1:], 0)
            raise
        await self._give_back(left, 0)
        return bool(batches)

    async def _read(self, batches: Sequence[Batch]) -> list[Reading]:
        """The first of them: one, or as many as make a transaction worth while."""
        readings: list[Reading] = []
        pages = 0
        for batch in batches:
            readings.append(reading := await self._reading(batch))
            pages += len(reading.entries)
            if pages >= TOGETHER:
                break
        return readings

    async def _reading(self, batch: Batch) -> Reading:
        crawl = await self._crawls.get(batch.crawl_id)
        if crawl is None or crawl.spec.private or not self._index.is_kept:
            return Reading(batch)
        async with self._database.read() as connection:
            pages = await unindexed.pages(connection, batch)
        whole = await self._blobs.get(batch.blob)
        if whole is None:  # it is not kept any more
            return Reading(batch)
        slow: list[Slow] = []
        entries, lost = await asyncio.to_thread(self._read_out, batch, pages, whole, slow)
        for form, stored, page in slow:
            if (text := await self._told(page)) is not None:
                entries.append(await asyncio.to_thread(_entry, batch, form, stored, text))
        return Reading(batch, entries, lost)

    async def _told(self, page: Page) -> str | None:
        try:
            return await self._workshop.tell(page)
        except Unavailable:
            raise
        except Problem as problem:
            self._log.warning("indexing_failed", problem.detail, url=page.final_url)
            return None

    def _read_out(
        self, batch: Batch, pages: Sequence[Stored], whole: bytes, slow: list[Slow]
    ) -> tuple[list[Entry], list[Gone]]:
        """All that is quick; the others are put aside."""
        entries: list[Entry] = []
        lost: list[Gone] = []
        for stored in pages:
            form = _form(stored.final_url)
            if form and _is_gone(stored):
                lost.append(gone(batch.tenant_id, form, batch.crawled_at))
            elif form and stored.outcome == Outcome.OK:
                shown = self._shown(stored, whole)
                if isinstance(shown, str):
                    entries.append(_entry(batch, form, stored, shown))
                elif shown is not None:
                    slow.append((form, stored, shown))
        return entries, lost

    def _shown(self, stored: Stored, whole: bytes) -> str | Page | None:
        """Its text; the page itself if that may take long."""
        try:
            page = unpacked(whole[stored.blob_offset : stored.blob_offset + stored.blob_size])
            return text_of(page) if is_quick(page) else page
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others are not to suffer
            self._log.error("indexing_failed", "a page is not readable", url=stored.final_url, cause=error)
            return None

    async def _give_back(self, batches: Sequence[Batch], pause: int) -> None:
        with contextlib.suppress(Unavailable):  # their time runs out by itself
            async with self._database.write() as connection:
                await unindexed.give_back(connection, batches, pause)


def _entry(batch: Batch, form: str, stored: Stored, text: str) -> Entry:
    document = Document(
        url=stored.final_url,
        title=stored.title,
        description=stored.description,
        text=text,
        language=stored.language,
        seen_at=batch.crawled_at / 1000,
    )
    return entry(batch.tenant_id, form, document)


def _is_gone(page: Stored) -> bool:
    """Or does not want to be found. Other failures may pass, and leave in the index what was there."""
    return page.status_code in GONE or "noindex" in page.directives.split(",")


def _form(url: str) -> str | None:
    try:
        return cache_form(Url.parse(url))
    except Problem:  # a browser may end up anywhere
        return None
