"""The indexer of embeddings: gives vectors to pages of the search index that have none for the present model.

One process at a time has this duty, so no text is paid for twice. While the model is away, pages wait.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from gossamer.concurrency.periodic import every
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.services.embeddings import MAX_TEXTS, EmbeddingModel, EmbeddingRefused
from gossamer.state.db.database import Database
from gossamer.state.operations import duties
from gossamer.state.search.search_rows import FoundRow, embedded_passages
from gossamer.state.search.search_vectors import SearchVectors, space_of
from gossamer.web.search.vectors import Vector, passage_input

DUTY: Final = "embeddings"
EVERY_SECONDS: Final = 5.0
HOLD_SECONDS: Final = 300.0  # after which another process takes the duty
PASS_SECONDS: Final = 600.0  # until all pages are looked at again
PAGES_AT_ONCE: Final = 8
LOOK_BACK: Final = 1_000  # ids: SQLite uses the last ones again, PostgreSQL may commit them late
IDS_AT_ONCE: Final = 10_000  # of pages, in one statement
PROBE: Final = "web page"  # tells the dimensions of the model


class _IndexingPass(Struct):
    space: str = ""
    done_to: int = 0  # pages up to this id had vectors
    until: float = 0.0  # then the next pass begins


class EmbeddingIndexer(Struct, frozen=True):
    name: str  # of this process
    model: EmbeddingModel
    vectors: SearchVectors
    database: Database
    log: Log
    ticks: Callable[[], float] = time.monotonic
    _pass: _IndexingPass = field(default_factory=_IndexingPass)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await every(EVERY_SECONDS, self._embed_safely, at_once=True, on_outage=self._postpone)
        finally:
            with contextlib.suppress(Unavailable):
                async with self.database.write() as connection:
                    await duties.leave(connection, DUTY, self.name)

    async def embed_waiting(self) -> int:
        """Embed the pages that wait; returns how many. Raises `Unavailable`; then the rest waits on."""
        if not await self._has_duty():
            return 0
        await self.vectors.prepare()
        current, pages = self._pass, 0
        if self.ticks() >= current.until:
            await self._begin_pass()
        last = await self.vectors.last_page()
        current.done_to = max(0, min(current.done_to, last) - LOOK_BACK)
        while current.done_to < last:
            until = min(current.done_to + IDS_AT_ONCE, last)
            waiting = await self.vectors.waiting(current.space, current.done_to, until, PAGES_AT_ONCE)
            if waiting and not await self._has_duty():
                return pages
            await self._embed_pages(waiting)
            current.done_to = waiting[-1].id if len(waiting) == PAGES_AT_ONCE else until
            pages += len(waiting)
        return pages

    async def _embed_safely(self) -> None:
        await self.embed_waiting()

    async def _begin_pass(self) -> None:
        (vector,) = await self.model.embed([PROBE])
        self._pass.space = space_of(self.model.name, len(vector))
        self._pass.done_to = 0
        self._pass.until = self.ticks() + PASS_SECONDS

    async def _embed_pages(self, pages: Sequence[FoundRow]) -> None:
        """A page that the model refuses has no vectors, and does not hold up the others."""
        if not pages:
            return
        try:
            vectors = await self._embed([text for page in pages for text in _texts(page)])
        except EmbeddingRefused as refused:
            if len(pages) > 1:
                for page in pages:
                    await self._embed_pages([page])
                return
            self.log.warning("embedding_refused", refused.why, url=pages[0].final_url)
            await self.vectors.put(self._pass.space, [(pages[0].id, ())])
            return
        if vectors and space_of(self.model.name, len(vectors[0])) != self._pass.space:
            self._pass.until = 0.0  # it is another model by now
            raise Unavailable("embedding model", "its vectors have other dimensions than before")
        left = iter(vectors)
        await self.vectors.put(
            self._pass.space, [(page.id, [next(left) for _ in _texts(page)]) for page in pages]
        )

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), MAX_TEXTS):
            vectors += await self.model.embed(texts[start : start + MAX_TEXTS])
        return vectors

    async def _has_duty(self) -> bool:
        async with self.database.write() as connection:
            return await duties.take(connection, DUTY, self.name, seconds=HOLD_SECONDS)

    def _postpone(self, away: Unavailable) -> None:
        self.log.warning("embedding_paused", "pages wait for their vectors", why=away.reason)


def _texts(page: FoundRow) -> list[str]:
    return [passage_input(page.title, passage) for passage in embedded_passages(page)]
