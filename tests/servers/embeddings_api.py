"""A server on loopback that speaks OpenAI's embeddings. Words that mean the same have the same direction."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gossamer.web.search.words import words
from tests.servers.model_server import ModelApi, serving

MODEL = "meanings"
DIMENSIONS = 64
MEANINGS = (
    {"doctor", "doctors", "physician", "physicians"},
    {"car", "automobile", "motor", "engine"},
    {"rope", "cord", "seil"},
)


@dataclass
class EmbeddingsApi(ModelApi):
    key: str = ""
    dimensions: int = DIMENSIONS
    status: int = 200
    refuses: str = ""  # a text that has this is refused
    instead: Any = None  # of every answer, with the status of success

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def texts(self) -> list[str]:
        """All that were asked for."""
        return [text for request in self.requests for text in request["input"]]

    def answer(self, target: str, body: dict[str, Any]) -> tuple[int, Any]:
        if target != "/v1/embeddings":
            return 404, {}
        if self.key and self.headers[-1].get("authorization") != f"Bearer {self.key}":
            return 401, {}
        if self.status != 200:
            return self.status, {}
        if self.refuses and any(self.refuses in text for text in body["input"]):
            return 400, {}
        if self.instead is not None:
            return 200, self.instead
        wide = body.get("dimensions", self.dimensions)
        data = [
            {"object": "embedding", "index": place, "embedding": embed(text, wide)}
            for place, text in enumerate(body["input"])
        ]
        return 200, {"object": "list", "data": data[::-1], "model": body["model"]}


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Each meaning adds to four places, up or down. Texts without a common meaning are hardly similar."""
    found = [1e-6] * dimensions
    for word in words(text, 1_000):
        digest = hashlib.sha256(_meaning(word).encode()).digest()
        for up, place in zip(digest[:4], digest[4:8], strict=True):
            found[place % dimensions] += 1.0 if up % 2 else -1.0
    return found


def _meaning(word: str) -> str:
    return next((min(same) for same in MEANINGS if word in same), word)


@asynccontextmanager
async def embeddings_api(**options: Any) -> AsyncIterator[EmbeddingsApi]:
    api = EmbeddingsApi(**options)
    async with serving(api):
        yield api
