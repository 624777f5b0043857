"""The cold tier of rendered pages: one blob for each edition, so that a replacement is never mixed with it.

A store that hangs is not waited for again and again: after three uses without an answer, further ones fail at
once, and one of them tries again after a while. A store that refuses at once is asked each time.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from ulid import ULID

from gossamer.concurrency.breaker import Breaker
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs, Missing
from gossamer.state.db.database import Database
from gossamer.state.pages import page_rows
from gossamer.state.pages.cached_page import CachedPage

T = TypeVar("T")
Upload = asyncio.Task[str | None]  # the blob; None when the store is away

MEDIA_TYPE: Final = "text/html; charset=utf-8"
ATTEMPTS: Final = 3  # an upload that fails is tried twice more at once
UPLOAD_SECONDS: Final = 10.0  # for all of them, and for other work in the background
ANSWER_SECONDS: Final = 3.0  # for work that a request waits for
SILENT_SECONDS: Final = 0.5  # a failure after this long counts as silence
SILENT_TIMES: Final = 3
LOOK_AGAIN_SECONDS: Final = 2.0
CLOSE_SECONDS: Final = 3.0  # for uploads when the process ends; repair does the rest


class ColdPages:
    def __init__(self, blobs: Blobs, database: Database, log: Log) -> None:
        self._blobs = blobs
        self._database = database
        self._log = log
        self.breaker = Breaker(failures=SILENT_TIMES, seconds=LOOK_AGAIN_SECONDS, successes=1)

    async def upload(self, tenant: str, name: str, page: CachedPage) -> str | None:
        """The blob that holds its body, an orphan until a row names it; None when the store is away."""
        blob = f"pages/{tenant}/{name}/{ULID()}".lower()
        async with self._database.write() as connection:
            await orphan_blobs.register(connection, blob)
        try:
            await self._ask(partial(self._put, blob, page), UPLOAD_SECONDS)
        except Unavailable as away:
            told = "a page is kept hot only for now"
            self._log.warning("page_not_stored", told, code="CACHE_ERROR", why=away.detail)
            return None
        return blob

    async def _put(self, blob: str, page: CachedPage) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._blobs.put(blob, page.body, media_type=MEDIA_TYPE, coding=page.coding)
            except Unavailable:
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    async def read(self, blob: str) -> bytes | None:
        return await self._ask(partial(self._blobs.get, blob), ANSWER_SECONDS)

    async def open(self, blob: str) -> tuple[bytes, AsyncGenerator[bytes]] | None:
        """The first chunk, and the others."""
        chunks = self._blobs.stream(blob)
        try:
            return await self._ask(partial(anext, chunks), ANSWER_SECONDS), chunks
        except (Missing, StopAsyncIteration):
            return None
        except BaseException:
            await chunks.aclose()
            raise

    async def drop(self, orphans: Sequence[str], seconds: float = ANSWER_SECONDS) -> None:
        if orphans:
            await self._ask(partial(self._blobs.drop, orphans), seconds)

    async def drop_due(self, limit: int) -> int:
        """Drop a batch of orphans that are due; returns how many."""
        async with self._database.write() as connection:
            due = await orphan_blobs.take_due(connection, limit)
        await self.drop(due, UPLOAD_SECONDS)
        async with self._database.write() as connection:
            await orphan_blobs.forget(connection, due)
        return len(due)

    async def _ask(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Raises `Unavailable` if the store takes longer, and immediately while it is known to be silent."""
        now = asyncio.get_running_loop().time
        began = now()
        if not self.breaker.allows(began):
            raise Unavailable("blobs", "it has not answered lately")
        try:
            async with asyncio.timeout(seconds):
                result = await work()
        except TimeoutError as error:
            self.breaker.record_failure(now())
            raise Unavailable("blobs", f"no answer within {seconds:g} s") from error
        except BaseException as error:
            if isinstance(error, Unavailable) and now() - began >= SILENT_SECONDS:
                self.breaker.record_failure(now())
            else:
                self.breaker.record_unknown()
            raise
        self.breaker.record_success(now())
        return result


class PageUploads:
    """Stores new pages cold while they are already served hot.

    A healthy store has the page before its row is written, so the row names the blob from the start. A slow
    store is not waited for: the row is written without a blob and is due for repair, so every process knows
    that the cold tier still owes the page. When the upload ends, the row is updated.
    """

    def __init__(self, cold: ColdPages, database: Database, log: Log) -> None:
        self._cold = cold
        self._database = database
        self._log = log
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, tenant: str, name: str, page: CachedPage) -> Upload:
        return self._track(asyncio.create_task(self._cold.upload(tenant, name, page)))

    def follow(self, upload: Upload, name: str, edition: int) -> asyncio.Task[bool]:
        """Update the row of this edition when the upload has ended; returns whether that succeeded."""
        return self._track(asyncio.create_task(self._update_row(upload, name, edition)))

    async def close(self) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_SECONDS)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def store(self, tenant: str, name: str, edition: int, page: CachedPage) -> bool:
        """Upload a page whose row has no blob."""
        blob = await self._cold.upload(tenant, name, page)
        return blob is not None and await self._add_blob(blob, name, edition)

    async def _update_row(self, upload: Upload, name: str, edition: int) -> bool:
        try:
            blob = await upload
            if blob is not None:
                return await self._add_blob(blob, name, edition)
            async with self._database.write() as connection:
                await page_rows.owe_blob(connection, name, edition)
            return False
        except Unavailable as away:
            self._log.warning("page_upload_postponed", "repair will do it", page=name, why=away.detail)
            return False

    async def _add_blob(self, blob: str, name: str, edition: int) -> bool:
        async with self._database.write() as connection:
            adopted = await orphan_blobs.claim(connection, blob)
            if adopted and not await page_rows.add_blob(connection, name, edition, blob):
                await orphan_blobs.mark(connection, [blob])
        return adopted

    def _track(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log an upload that is not awaited
