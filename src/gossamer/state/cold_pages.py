"""The cold tier of rendered pages: one blob for each edition, so that replacing never leaves a mixture."""

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from ulid import ULID

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import stray_blobs
from gossamer.state.blobs import Blobs, Missing
from gossamer.state.cached_page import CachedPage
from gossamer.state.database import Database

MEDIA_TYPE: Final = "text/html; charset=utf-8"
ATTEMPTS: Final = 3  # an upload that fails is tried twice more at once


class ColdPages:
    def __init__(self, blobs: Blobs, database: Database, log: Log) -> None:
        self._blobs = blobs
        self._database = database
        self._log = log

    async def upload(self, tenant: str, name: str, page: CachedPage) -> str | None:
        """The blob that holds its body, a stray until a row speaks of it; None when the store is away."""
        blob = f"pages/{tenant}/{name}/{ULID()}".lower()
        async with self._database.write() as connection:
            await stray_blobs.announce(connection, blob)
        for _ in range(ATTEMPTS):
            try:
                await self._blobs.put(blob, page.body, media_type=MEDIA_TYPE, coding=page.coding)
            except Unavailable as away:
                why = away.detail
            else:
                return blob
        self._log.warning("page_not_stored", "a page is kept hot only for now", code="CACHE_ERROR", why=why)
        return None

    async def read(self, blob: str) -> bytes | None:
        return await self._blobs.get(blob)

    async def open(self, blob: str) -> tuple[bytes, AsyncGenerator[bytes]] | None:
        """The first chunk, and the others."""
        chunks = self._blobs.stream(blob)
        try:
            return await anext(chunks), chunks
        except (Missing, StopAsyncIteration):
            return None
        except BaseException:
            await chunks.aclose()
            raise

    async def drop(self, strays: Sequence[str]) -> None:
        if strays:
            await self._blobs.drop(strays)

    async def drop_due(self, limit: int) -> int:
        """Drop strays that are due, as many as that; how many it were."""
        async with self._database.write() as connection:
            due = await stray_blobs.take_due(connection, limit)
        await self.drop(due)
        async with self._database.write() as connection:
            await stray_blobs.forget(connection, due)
        return len(due)
