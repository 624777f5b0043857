"""Vectors: what a text means, as a direction. Texts that mean much the same point much the same way."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.web.search.passages import Passage
from gossamer.web.search.question import Question

Vector = tuple[float, ...]  # of length one

MAX_QUESTION_CHARS: Final = 1_000
MAX_ABOVE_CHARS: Final = 400  # of what stands above a passage


class NearestPassage(NamedTuple):
    """The passage of a page that is nearest to a question."""

    page: int  # the id of its page in the search index
    place: int  # among the passages of its page
    similarity: float  # the cosine of the angle; 1 is the same direction


class NearestPages(NamedTuple):
    """The pages nearest to a question, best first, and what similarity counts as none."""

    passages: Sequence[NearestPassage] = ()
    floor: float = 0.0


NOTHING_NEAR: Final = NearestPages()


def passage_input(title: str, passage: Passage) -> str:
    """What is embedded for a passage: title and headings say what it is about."""
    above = "\n".join(dict.fromkeys(filter(None, (title, *passage.headings))))
    return f"{above[:MAX_ABOVE_CHARS]}\n{passage.text}"


def question_input(question: Question) -> str:
    """What is embedded for a question; empty if it must be taken literally."""
    if question.firm:
        return ""
    kept = [word for word in question.text.split() if not word.startswith("-") and word not in ("OR", "|")]
    return " ".join(kept)[:MAX_QUESTION_CHARS]
