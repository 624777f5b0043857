"""The source that finds pages by meaning. If it does not answer, a search goes on with the others."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gossamer.flows.pages.search import Hits
from gossamer.reach.services.embeddings import EmbeddingModel
from gossamer.state.search.search_document import SearchQuery
from gossamer.state.search.search_rows import FoundRow
from gossamer.state.search.search_vectors import SearchVectors, embedded_passages, space_of
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.search.fusion import FoundPassage, SearchHit
from gossamer.web.search.passages import link_to
from gossamer.web.search.question import Question
from gossamer.web.search.snippet import beginning
from gossamer.web.search.terms import languages_of
from gossamer.web.search.vectors import Vector, question_input

QUESTION_SECONDS: Final = 1.5  # for the model to embed a question
MAX_REMEMBERED: Final = 1_000  # vectors of questions


@dataclass(frozen=True, slots=True)
class EmbeddingSource:
    model: EmbeddingModel
    vectors: SearchVectors
    least_similarity: float
    clock: Callable[[], float] = time.time
    _remembered: OrderedDict[str, Vector] = field(default_factory=OrderedDict)
    rest: ClassVar[float] = 15.0
    is_needed: ClassVar[bool] = False

    async def find(self, tenant: str, question: Question) -> Hits:
        return Hits(await self.find_within((tenant, PUBLIC), question))

    async def find_within(
        self, tenants: tuple[str, ...], question: Question, facets: tuple[tuple[str, ...], ...] = ()
    ) -> list[SearchHit]:
        """What is indexed for these tenants and has one facet of each group. A question with a quoted phrase
        is about words, so nothing is found for it here."""
        asked = question_input(question)
        if not asked:
            return []
        vector = await self._embed(asked)
        query = SearchQuery.of(question, (), languages_of(question, ()), tenants, self.clock())
        space = space_of(self.model.name, len(vector))
        found = await self.vectors.nearest(query.within(facets), space, vector, self.least_similarity)
        return [_to_hit(*one) for one in found]

    async def _embed(self, asked: str) -> Vector:
        known = self._remembered.pop(asked, None)
        vector = known or (await self.model.embed([asked], seconds=QUESTION_SECONDS))[0]
        self._remembered[asked] = vector  # as the newest
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return vector


def _to_hit(row: FoundRow, place: int) -> SearchHit:
    passage = embedded_passages(row)[place]
    said = beginning(passage.text)
    return SearchHit(
        url=row.final_url,
        title=row.title,
        snippet=said,
        published_at=None if row.published_at is None else row.published_at / 1000,
        seen_at=row.seen_at / 1000,
        passages=(FoundPassage(passage.headings, said, link_to(row.final_url, passage)),),
    )
