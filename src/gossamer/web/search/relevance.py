"""Relevance: score how well a page answers a search, by its words alone."""

import math
from collections.abc import Sequence
from typing import Final

from gossamer.web.search.question import Phrase

TITLE: Final = 8.0
DESCRIPTION: Final = 3.0
SATURATION: Final = 1.5  # how soon repeating a word adds nothing
USUAL_LENGTH: Final = 4_000  # characters; a word in a longer text counts less


def relevance(title: str, description: str, body: str, phrases: Sequence[Phrase]) -> float:
    """Score texts of words that are separated by single spaces (`words.words`)."""
    slack = SATURATION * math.sqrt(0.25 + len(body) / USUAL_LENGTH)
    score = 0.0
    for phrase in phrases:
        padded = f" {' '.join(phrase)} "
        weighted = (
            TITLE * _count(padded, title) + DESCRIPTION * _count(padded, description) + _count(padded, body)
        )
        score += weighted / (weighted + slack)
    return score


def _count(padded: str, text: str) -> int:
    return f" {text} ".count(padded)
