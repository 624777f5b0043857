"""A static model: a text is the mean of its tokens' vectors. Thousands of times as fast as a transformer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MAX_TOKENS: Final = 512


class StaticModel(Struct, frozen=True):
    vectors: NDArray[np.float32]  # by token
    max_tokens: int = MAX_TOKENS

    def __call__(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        return np.stack([self.vectors[list(tokens)].mean(axis=0) for tokens in texts])


def build_static(weights: Mapping[str, Any]) -> StaticModel:
    """As Model2Vec stores it: vectors, and perhaps a weight and another vector's place for each token."""
    vectors = np.asarray(weights["embeddings"], dtype=np.float32)
    if "mapping" in weights:
        vectors = vectors[np.asarray(weights["mapping"])]
    if "weights" in weights:
        vectors = vectors * np.asarray(weights["weights"], dtype=np.float32)[:, None]
    return StaticModel(vectors)
