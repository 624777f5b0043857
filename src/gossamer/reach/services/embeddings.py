"""Embedding models, and the client of any API that speaks OpenAI's embeddings: Ollama, llama.cpp, vLLM…

A text goes in, a vector of length one comes out. Nothing is repeated here: a question cannot wait for it, and
the indexer tries again by itself.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

from gossamer.problems import Unavailable
from gossamer.reach.services.endpoint import ServiceEndpoint, ServiceReply
from gossamer.web.search.vectors import Vector

SECONDS: Final = 60.0  # for one batch; a model on a processor takes its time
MAX_TEXTS: Final = 32  # in one request
MAX_DIMENSIONS: Final = 4_096
SERVICE: Final = "embedding model"
_REFUSED: Final = (400, 413, 422)  # these texts, not the caller


class EmbeddingFailed(Unavailable):
    """The model gave no vectors. It may do so later."""

    def __init__(self, why: str) -> None:
        super().__init__(SERVICE, why)
        self.why = why


class EmbeddingRefused(EmbeddingFailed):
    """The model does not take these texts, and will not take them later."""


class EmbeddingModel(Protocol):
    @property
    def name(self) -> str:
        """The same for all whose vectors can be compared."""

    async def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector]:
        """One vector for each of at most `MAX_TEXTS` texts. Raises only `EmbeddingFailed`."""

    async def close(self) -> None: ...


class EmbeddingService:
    """A model behind an API."""

    def __init__(
        self, name: str, *, base_url: str, key: str = "", dimensions: int = 0, seconds: float = SECONDS
    ) -> None:
        self.name = name
        self._dimensions = dimensions  # to ask for; 0 takes what the model gives
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._endpoint = ServiceEndpoint(
            SERVICE, base_url, headers={"content-type": "application/json", **authorization}, seconds=seconds
        )

    async def embed(self, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector]:
        """One vector for each of at most `MAX_TEXTS` texts. Raises only `EmbeddingFailed`."""
        asked: dict[str, Any] = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        if self._dimensions:
            asked["dimensions"] = self._dimensions
        try:
            reply = await self._endpoint.ask(
                "POST", "/embeddings", msgspec.json.encode(asked), seconds=seconds
            )
        except Unavailable as away:
            raise EmbeddingFailed(away.reason or "") from None
        if reply.status in _REFUSED:
            raise EmbeddingRefused(f"it answers with status {reply.status}")
        if reply.status != 200:
            raise EmbeddingFailed(f"it answers with status {reply.status}")
        return _read(reply, len(texts))

    async def close(self) -> None:
        await self._endpoint.close()


class _Embedding(msgspec.Struct):
    index: int
    embedding: Annotated[list[float], Meta(min_length=1, max_length=MAX_DIMENSIONS)]


class _EmbeddingList(msgspec.Struct):
    data: list[_Embedding]


def _read(reply: ServiceReply, expected: int) -> list[Vector]:
    try:
        found = msgspec.json.decode(reply.body, type=_EmbeddingList).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise EmbeddingFailed("its answer is not what was expected") from None
    found.sort(key=lambda one: one.index)
    vectors = [_normalise(one.embedding) for one in found]
    if [one.index for one in found] != list(range(expected)) or len(set(map(len, vectors))) > 1:
        raise EmbeddingFailed("its answer does not have one vector for each text")
    return vectors


def _normalise(values: Sequence[float]) -> Vector:
    length = math.hypot(*values)
    if not math.isfinite(length) or length == 0:
        raise EmbeddingFailed("a vector in its answer has no direction")
    return tuple(value / length for value in values)
