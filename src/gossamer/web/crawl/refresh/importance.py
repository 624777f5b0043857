"""Importance: how much the freshness of a page matters, by its URL and by the links to it.

The URL alone tells seeds from lists. Once the links of the crawl are ranked, a page that gets the visits of
many counts for more: with the square root, since ranks differ by orders of magnitude and a visit costs the
same everywhere.
"""

from collections.abc import Sequence
from typing import Final

LEAST: Final = 0.5
MOST: Final = 4.0
_WEIGHTS: Final = {1: 0.5, 2: 1.0, 3: 2.0}  # by the priority of the URL


def weight_of(priority: int, importance: float = 1.0) -> float:
    """How much the freshness of a page matters."""
    return _WEIGHTS[priority] * importance


def importances(ranks: Sequence[float]) -> list[float]:
    """Of pages with these ranks, whose sum is 1. A page with the average rank has 1."""
    count = len(ranks)
    return [round(min(max((rank * count) ** 0.5, LEAST), MOST), 2) for rank in ranks]
