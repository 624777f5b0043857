"""Snippet: the part of a text that answers a question, with what was looked for between double asterisks."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from gossamer.web.question import Phrase
from gossamer.web.words import UNSPACED, aligned

LONGEST: Final = 240
LEAD: Final = 50  # characters before the first match
MOST_PLACES: Final = 500
MARK: Final = "**"
MORE: Final = "…"

_BEGINS: Final = rf"(?<![^ {UNSPACED}])(?=[^{UNSPACED}])|(?=[{UNSPACED}])"
_ENDS: Final = rf"(?![^ {UNSPACED}])|(?<=[{UNSPACED}])"


class Place(NamedTuple):
    start: int
    end: int


def snippet(text: str, phrases: Sequence[Phrase], longest: int = LONGEST) -> str | None:
    """`text` is clean (`words.clean`). None where nothing is found in it."""
    text = text.replace(MARK, "")
    places = _places(text, phrases)
    if not places:
        return None
    first = _richest(text, places, longest)
    start = _forward(text, max(0, places[first].start - LEAD), places[first].start)
    end = _back(text, start + longest, places[first].end)
    return _marked(text, start, end, (place for place in places[first:] if place.end <= end))


def beginning(text: str, longest: int = LONGEST) -> str:
    text = text.replace(MARK, "")
    end = _back(text, longest, longest // 2)
    return text[:end].rstrip() + (MORE if end < len(text) else "")


def _places(text: str, phrases: Iterable[Phrase]) -> list[Place]:
    patterns = [" *".join(map(re.escape, phrase)) for phrase in sorted(phrases, key=len, reverse=True)]
    if not patterns:
        return []
    wanted = re.compile(f"(?:{_BEGINS})(?:{'|'.join(patterns)})(?:{_ENDS})")
    found: list[Place] = []
    for match in wanted.finditer(aligned(text)):
        found.append(Place(*match.span()))
        if len(found) == MOST_PLACES:
            break
    return found


def _richest(text: str, places: Sequence[Place], longest: int) -> int:
    """Which place to begin with, so that the most different words are near, and as near as can be."""
    said = [aligned(text[place.start : place.end]) for place in places]

    def poverty(first: int) -> tuple[int, int]:
        near: dict[str, int] = {}  # and where each of them ends
        for other in range(first, len(places)):
            if places[other].end > places[first].start + longest - LEAD:
                break
            near.setdefault(said[other], places[other].end)
        return -len(near), max(near.values(), default=0) - places[first].end

    return min(range(len(places)), key=poverty)


def _forward(text: str, start: int, latest: int) -> int:
    """The beginning of a word, at `start` or soon after."""
    if start == 0 or text[start - 1] == " ":
        return start
    space = text.find(" ", start, latest)
    return start if space < 0 else space + 1


def _back(text: str, end: int, earliest: int) -> int:
    """The end of a word, at `end` or soon before."""
    if end >= len(text) or text[end] == " ":
        return min(end, len(text))
    space = text.rfind(" ", earliest, end)
    return max(end, earliest) if space < 0 else space


def _marked(text: str, start: int, end: int, places: Iterable[Place]) -> str:
    pieces, at = [MORE if start else ""], start
    for place in places:
        pieces += [text[at : place.start], MARK, text[place.start : place.end], MARK]
        at = place.end
    pieces += [text[at:end].rstrip(), MORE if end < len(text) else ""]
    return "".join(pieces)
