"""The source that finds pages by meaning, and leaves it to the index to rank them with those that it finds by
words. If it does not answer, a search goes on without it."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar, Final

from msgspec import Struct, field

from gossamer.flows.pages.search import Hits, Near
from gossamer.reach.services.embeddings import EmbeddingModel
from gossamer.state.search.search_document import SearchQuery
from gossamer.state.search.search_vectors import SearchVectors, space_of
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.search.question import Question
from gossamer.web.search.terms import languages_of
from gossamer.web.search.vectors import NOTHING_NEAR, NearestPages, Vector, question_input

QUESTION_SECONDS: Final = 1.5  # for the model to embed a question
MAX_REMEMBERED: Final = 1_000  # vectors of questions


class EmbeddingSource(Struct, frozen=True):
    model: EmbeddingModel
    vectors: SearchVectors
    least_similarity: float
    clock: Callable[[], float] = time.time
    _remembered: OrderedDict[str, Vector] = field(default_factory=OrderedDict)
    rest: ClassVar[float] = 15.0
    is_needed: ClassVar[bool] = False
    helps: ClassVar[bool] = True

    async def find(self, tenant: str, question: Question, near: Near) -> Hits:
        return Hits((), near=await self.find_within((tenant, PUBLIC), question))

    async def find_within(
        self, tenants: tuple[str, ...], question: Question, facets: tuple[tuple[str, ...], ...] = ()
    ) -> NearestPages:
        """What is indexed for these tenants and has one facet of each group. A question with a quoted phrase
        is about words, so nothing is found for it here."""
        asked = question_input(question)
        if not asked:
            return NOTHING_NEAR
        vector = await self._embed(asked)
        query = SearchQuery.of(question, (), languages_of(question, ()), tenants, self.clock())
        space = space_of(self.model.name, len(vector))
        return await self.vectors.nearest(query.within(facets), space, vector, self.least_similarity)

    async def _embed(self, asked: str) -> Vector:
        known = self._remembered.pop(asked, None)
        vector = known or (await self.model.embed([asked], seconds=QUESTION_SECONDS))[0]
        self._remembered[asked] = vector  # as the newest
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return vector
