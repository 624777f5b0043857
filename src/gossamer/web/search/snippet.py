"""Snippet: the part of a text that matches a query best, with matches between double asterisks."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from gossamer.web.search.words import align

MAX_SNIPPET_CHARS: Final = 240
LEAD_CHARS: Final = 50  # before the first match
MAX_MATCHES: Final = 500
MARK: Final = "**"
ELLIPSIS: Final = "…"


class MatchSpan(NamedTuple):
    start: int
    end: int


def excerpt(text: str, matches: Sequence[MatchSpan], max_chars: int = MAX_SNIPPET_CHARS) -> str:
    """Return the part of a text that has the most different matches. They are in order."""
    matches = _apart(matches[:MAX_MATCHES])
    first = _best_match(text, matches, max_chars)
    start = _word_start(text, max(0, matches[first].start - LEAD_CHARS), matches[first].start)
    end = _word_end(text, start + max_chars, matches[first].end)
    return _highlight(text, start, end, (place for place in matches[first:] if place.end <= end))


def beginning(text: str, max_chars: int = MAX_SNIPPET_CHARS) -> str:
    text = _plain(text)
    end = _word_end(text, max_chars, max_chars // 2)
    return text[:end].rstrip() + (ELLIPSIS if end < len(text) else "")


def _apart(matches: Sequence[MatchSpan]) -> list[MatchSpan]:
    """Leave out what overlaps; the longest at a place stays."""
    kept: list[MatchSpan] = []
    for place in sorted(matches, key=lambda match: (match.start, -match.end)):
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    return kept


def _best_match(text: str, matches: Sequence[MatchSpan], max_chars: int) -> int:
    """Which place to begin with, so that the most different words are near, and as near as can be."""
    said = [align(text[place.start : place.end]) for place in matches]

    def poverty(first: int) -> tuple[int, int]:
        near: dict[str, int] = {}  # the end of each
        for other in range(first, len(matches)):
            if matches[other].end > matches[first].start + max_chars - LEAD_CHARS:
                break
            near.setdefault(said[other], matches[other].end)
        return -len(near), max(near.values(), default=0) - matches[first].end

    return min(range(len(matches)), key=poverty)


def _word_start(text: str, start: int, latest: int) -> int:
    """Return the beginning of a word, at `start` or soon after."""
    if start == 0 or text[start - 1] == " ":
        return start
    space = text.find(" ", start, latest)
    return start if space < 0 else space + 1


def _word_end(text: str, end: int, earliest: int) -> int:
    """Return the end of a word, at `end` or soon before."""
    if end >= len(text) or text[end] == " ":
        return min(end, len(text))
    space = text.rfind(" ", earliest, end)
    return max(end, earliest) if space < 0 else space


def _highlight(text: str, start: int, end: int, matches: Iterable[MatchSpan]) -> str:
    pieces, at = [ELLIPSIS if start else ""], start
    for place in matches:
        pieces += [_plain(text[at : place.start]), MARK, _plain(text[place.start : place.end]), MARK]
        at = place.end
    pieces += [_plain(text[at:end]).rstrip(), ELLIPSIS if end < len(text) else ""]
    return "".join(pieces)


def _plain(text: str) -> str:
    """A text in which nothing looks like a mark."""
    return text.replace(MARK, "")
