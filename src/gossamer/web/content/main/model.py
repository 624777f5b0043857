"""The block model: how likely it is that a block is content, from its features.

It is a logistic regression. `weights.txt` is written by `scripts/train-blocks`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import exp
from operator import mul
from typing import Final

from msgspec import Struct

from gossamer.web.content.main.features import FEATURES
from gossamer.web.html.vocabulary import read_lines

_BIAS: Final = "bias"
_MAX_LOGIT: Final = 30.0


class BlockModel(Struct, frozen=True):
    weights: tuple[float, ...]  # in the order of `FEATURES`
    bias: float

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> "BlockModel":
        return cls(tuple(weights[name] for name in FEATURES), weights[_BIAS])

    def chances(self, rows: Sequence[Sequence[float] | None]) -> list[float]:
        """Return the chance of every block; 0 for a block without features."""
        return [0.0 if row is None else self._chance(row) for row in rows]

    def _chance(self, row: Sequence[float]) -> float:
        logit = self.bias + sum(map(mul, self.weights, row))
        return 1 / (1 + exp(-max(-_MAX_LOGIT, min(logit, _MAX_LOGIT))))


@cache
def shipped_model() -> BlockModel:
    lines = read_lines("gossamer.web.content.main", "weights.txt")
    return BlockModel.of({name: float(weight) for name, weight in (line.split() for line in lines)})
