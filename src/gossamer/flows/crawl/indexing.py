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
from gossamer.web.url import Url, cache_form

KIND: Final = "index"
LANES: Final = 2  # while one waits for the database, the other reads
TAKEN_AT_ONCE: Final = 16  # batches
TOGETHER: Final = 250  # pages, where there are so many, that are read before they are written
LOOK_SECONDS: Final = 1.0  # how often it is asked whether there is something to do
PAUSE_SECONDS: Final = 5.0  # when something is away
GONE: Final = (404, 410)


class Indexing:
    def __init__(
        self, database: Database, index: SearchIndex, crawls: Crawls, blobs: Blobs, log: Log
    ) -> None:
        self._database = database
        self._index = index
        self._crawls = crawls
        self._blobs = blobs
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
        return await asyncio.to_thread(self._read_out, batch, pages, whole)

    def _read_out(self, batch: Batch, pages: Sequence[Stored], whole: bytes) -> Reading:
        entries: list[Entry] = []
        lost: list[Gone] = []
        for page in pages:
            form = _form(page.final_url)
            if form and _is_gone(page):
                lost.append(gone(batch.tenant_id, form, batch.crawled_at))
            elif form and page.outcome == Outcome.OK and (document := self._document(batch, page, whole)):
                entries.append(entry(batch.tenant_id, form, document))
        return Reading(batch, entries, lost)

    def _document(self, batch: Batch, page: Stored, whole: bytes) -> Document | None:
        try:
            text = text_of(unpacked(whole[page.blob_offset : page.blob_offset + page.blob_size]))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others are not to suffer
            self._log.error("indexing_failed", "a page is not readable", url=page.final_url, cause=error)
            return None
        return Document(
            url=page.final_url,
            title=page.title,
            description=page.description,
            text=text,
            language=page.language,
            seen_at=batch.crawled_at / 1000,
        )

    async def _give_back(self, batches: Sequence[Batch], pause: int) -> None:
        with contextlib.suppress(Unavailable):  # their time runs out by itself
            async with self._database.write() as connection:
                await unindexed.give_back(connection, batches, pause)


def _is_gone(page: Stored) -> bool:
    """Or does not want to be found. Other failures may pass, and leave in the index what was there."""
    return page.status_code in GONE or "noindex" in page.directives.split(",")


def _form(url: str) -> str | None:
    try:
        return cache_form(Url.parse(url))
    except Problem:  # a browser may end up anywhere
        return None
