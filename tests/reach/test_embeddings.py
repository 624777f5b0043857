"""The client of embeddings: a vector of length one for each text, or a failure that says why."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.servers.embeddings_api import MODEL, EmbeddingsApi, embed, embeddings_api

from gossamer.reach.services.embeddings import EmbeddingFailed, EmbeddingRefused, EmbeddingService


@asynccontextmanager
async def asked(
    key: str = "", dimensions: int = 0, **options: Any
) -> AsyncIterator[tuple[EmbeddingsApi, EmbeddingService]]:
    async with embeddings_api(**options) as api:
        model = EmbeddingService(MODEL, base_url=api.base_url, key=key, dimensions=dimensions)
        yield api, model
        await model.close()


async def test_each_text_has_its_vector_of_length_one() -> None:
    async with asked(key="sk-1") as (api, model):
        api.key = "sk-1"
        one, other = await model.embed(["silk rope", "a car"])
    assert math.hypot(*one) == pytest.approx(1)
    assert sum(map(float.__mul__, one, embed("silk rope"))) > sum(
        map(float.__mul__, other, embed("silk rope"))
    )
    assert "dimensions" not in api.requests[0]


async def test_fewer_dimensions_can_be_asked_for() -> None:
    async with asked(dimensions=16) as (_, model):
        assert [len(vector) for vector in await model.embed(["a", "b"])] == [16, 16]


def embeddings(*vectors: list[float]) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "no"},
        embeddings([1.0]),
        embeddings([1.0], [1.0, 0.0]),
        embeddings([1.0], [0.0]),
        embeddings([1.0], []),
        embeddings([1.0] * 5_000, [1.0] * 5_000),
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
    ],
)
async def test_an_answer_without_a_vector_for_each_text_is_a_failure(answer: Any) -> None:
    async with asked(instead=answer) as (_, model):
        with pytest.raises(EmbeddingFailed):
            await model.embed(["a", "b"])


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, EmbeddingRefused), (401, EmbeddingFailed), (429, EmbeddingFailed), (500, EmbeddingFailed)],
)
async def test_only_texts_that_are_not_taken_are_refused_for_good(
    status: int, kind: type[EmbeddingFailed]
) -> None:
    async with asked(status=status) as (_, model):
        with pytest.raises(EmbeddingFailed, match=f"status {status}") as failed:
            await model.embed(["a"])
    assert type(failed.value) is kind


async def test_a_model_that_does_not_answer_fails_in_time() -> None:
    async with asked(silent=True) as (_, model):
        with pytest.raises(EmbeddingFailed):
            await model.embed(["a"], seconds=0.05)
