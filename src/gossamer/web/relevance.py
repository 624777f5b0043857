"""Relevance: how much a page is about what is asked for, by its words alone."""

import math
from collections.abc import Sequence
from typing import Final

from gossamer.web.question import Phrase

TITLE: Final = 8.0
DESCRIPTION: Final = 3.0
SATURATION: Final = 1.5  # how soon a word that is said again says nothing more
USUAL_LENGTH: Final = 4_000  # characters; a word in a longer text says less


def relevance(title: str, description: str, body: str, phrases: Sequence[Phrase]) -> float:
    """From words that are parted by single spaces (`words.words`)."""
    slack = SATURATION * math.sqrt(0.25 + len(body) / USUAL_LENGTH)
    score = 0.0
    for phrase in phrases:
        wanted = f" {' '.join(phrase)} "
        said = (
            TITLE * _count(wanted, title) + DESCRIPTION * _count(wanted, description) + _count(wanted, body)
        )
        score += said / (said + slack)
    return score


def _count(wanted: str, text: str) -> int:
    return f" {text} ".count(wanted)
