"""Passage ranking: which passages of a page a question is about.

The score is BM25 over the passages of one page: repeating a word soon adds nothing, and a word in a long
passage counts less. A word in the heading of a passage counts more than one in its text. Searches and the
briefs of pages (`web/content/ranking`) rank passages by this.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

HEADING: Final = 5  # how many times as much a word counts in a heading,
ABOVE: Final = 2  # and in a heading above that
_SATURATION: Final = 1.2  # how soon repeating a word adds nothing
_LENGTH: Final = 0.75  # how much less a word counts in a longer text


class PassageWeights(NamedTuple):
    length: int
    weights: Mapping[Any, float]  # how much it has of each term


def scores(passages: Sequence[PassageWeights], rarity: Mapping[Any, float], unit: float = 1.0) -> list[float]:
    """The score of each passage; `unit` is what one occurrence of a word weighs."""
    usual = max(1.0, sum(passage.length for passage in passages) / max(1, len(passages)))

    def score(passage: PassageWeights) -> float:
        slack = unit * _SATURATION * (1 - _LENGTH + _LENGTH * passage.length / usual)
        return sum(rarity[term] * weight / (weight + slack) for term, weight in passage.weights.items())

    return [score(passage) for passage in passages]
