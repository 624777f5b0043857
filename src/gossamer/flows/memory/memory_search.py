"""Searches memory: by words, and where the server has an embedding model by meaning, ranked as pages are."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.memory.memory import Memory
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.problems import Busy, Problem
from gossamer.state.memory import entries, memory_index
from gossamer.state.memory.memory_index import Facets
from gossamer.state.memory.stores import MemoryStore
from gossamer.state.search.search_document import Match
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.memory.memory_entry import MemoryEntry
from gossamer.web.search.fusion import Ranked, SearchHit, fuse
from gossamer.web.search.question import Question
from gossamer.web.search.vectors import NOTHING_NEAR, NearestPages

if TYPE_CHECKING:  # imported only where a model is set
    from gossamer.flows.embeddings.embedding_source import EmbeddingSource

SECONDS: Final = 9.0
SPARE: Final = 10  # more than were asked for are looked for: some may have expired since
SERVICE: Final = "search"


class FoundEntry(Struct, frozen=True):
    entry: MemoryEntry
    ranked: Ranked


class FoundEntries(Struct, frozen=True):
    """What was found, the best first."""

    found: Sequence[FoundEntry] = ()
    complete: bool = True
    corrected: Mapping[str, str] = field(default_factory=dict)  # words that were replaced, and by what
    lost: int = 0  # that were found, and are not there any more


class MemorySearch(Struct, frozen=True):
    memory: Memory
    index: SearchIndex
    meaning: "EmbeddingSource | None"
    log: Log

    async def find(
        self, caller: Caller, question: Question, namespaces: Sequence[str], tags: Sequence[str]
    ) -> FoundEntries:
        """In the named namespaces, or in all. Raises `Busy` if it takes too long."""
        async with self.memory.database.read() as connection:
            store, named = await self.memory.find_scope(connection, caller, namespaces)
        if store is None or (namespaces and not named):
            return FoundEntries()
        facets = memory_index.narrow([one.id for one in named.values()], tags)
        found = await self._find(store, question, facets)
        if found.lost and len(found.found) < question.limit:  # what has expired took the places of others
            await self.memory.sweep_store(store.id)
            found = await self._find(store, question, facets)
        return found

    async def _find(self, store: MemoryStore, question: Question, facets: Facets) -> FoundEntries:
        wider = replace(question, limit=question.limit + SPARE)
        try:
            async with asyncio.timeout(SECONDS):
                near = await self._near(store, wider, facets)
                found = await self.index.search_within((store.id,), wider, near, facets)
        except TimeoutError:
            raise Busy(SERVICE, f"no answer within {SECONDS:g} s") from None
        ranked = fuse({SERVICE: [_to_hit(match) for match in found.found]}, wider.limit)
        known = await self._known(ranked)
        return FoundEntries(
            known[: question.limit],
            found.complete,
            found.corrected if known else {},
            lost=len(ranked) - len(known),
        )

    async def _near(self, store: MemoryStore, question: Question, facets: Facets) -> NearestPages:
        """Nothing, if there is no model or it does not answer. Then words alone decide."""
        if self.meaning is None:
            return NOTHING_NEAR
        try:
            return await self.meaning.find_within((store.id,), question, facets)
        except Problem as problem:
            why = problem.reason or problem.kind.title
            self.log.warning(
                "search_provider_failed", "a search goes on without it", provider="meaning", why=why
            )
            return NOTHING_NEAR

    async def _known(self, ranked: Sequence[Ranked]) -> list[FoundEntry]:
        """Those that are still there, with what is known of each."""
        keys = [memory_index.read_address(one.hit.url) for one in ranked]
        async with self.memory.database.read() as connection:
            known = await entries.find(connection, keys) if keys else {}
        return [FoundEntry(known[key], one) for key, one in zip(keys, ranked, strict=True) if key in known]


def _to_hit(match: Match) -> SearchHit:
    return SearchHit(
        url=match.url,
        title=match.title,
        snippet=match.snippet,
        seen_at=match.seen_at,
        passages=match.passages,
        missing=match.missing,
    )
