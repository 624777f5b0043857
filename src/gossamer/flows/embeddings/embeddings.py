"""Embeddings: the parts of finding pages by meaning, put together."""

from msgspec import Struct

from gossamer.flows.embeddings.embedding_indexer import PROBE, EmbeddingIndexer
from gossamer.flows.embeddings.embedding_source import EmbeddingSource
from gossamer.reach.services.embeddings import EmbeddingModel
from gossamer.state.search.search_vectors import EmbeddedPages, SearchVectors, space_of


class Embeddings(Struct, frozen=True):
    model: EmbeddingModel
    vectors: SearchVectors
    source: EmbeddingSource
    indexer: EmbeddingIndexer

    async def progress(self) -> EmbeddedPages:
        """How far the indexer is, for the doctor. Raises `Unavailable` if something that it needs is away."""
        (vector,) = await self.model.embed([PROBE])
        await self.vectors.prepare()
        return await self.vectors.count(space_of(self.model.name, len(vector)))

    async def close(self) -> None:
        await self.model.close()
