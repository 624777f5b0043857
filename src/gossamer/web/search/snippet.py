"""Snippet: the part of a text that matches a query best, with matches between double asterisks."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from gossamer.web.search.question import Phrase
from gossamer.web.search.words import UNSPACED, align

MAX_SNIPPET_CHARS: Final = 240
LEAD_CHARS: Final = 50  # before the first match
MAX_MATCHES: Final = 500
MARK: Final = "**"
ELLIPSIS: Final = "…"

_BEGINS: Final = rf"(?<![^ {UNSPACED}])(?=[^{UNSPACED}])|(?=[{UNSPACED}])"
_ENDS: Final = rf"(?![^ {UNSPACED}])|(?<=[{UNSPACED}])"


class MatchSpan(NamedTuple):
    start: int
    end: int


def snippet(text: str, phrases: Sequence[Phrase], max_chars: int = MAX_SNIPPET_CHARS) -> str | None:
    """Return the best part of a clean text (`words.clean`); None without a match."""
    text = text.replace(MARK, "")
    matches = _find_matches(text, phrases)
    if not matches:
        return None
    first = _best_match(text, matches, max_chars)
    start = _word_start(text, max(0, matches[first].start - LEAD_CHARS), matches[first].start)
    end = _word_end(text, start + max_chars, matches[first].end)
    return _highlight(text, start, end, (place for place in matches[first:] if place.end <= end))


def beginning(text: str, max_chars: int = MAX_SNIPPET_CHARS) -> str:
    text = text.replace(MARK, "")
    end = _word_end(text, max_chars, max_chars // 2)
    return text[:end].rstrip() + (ELLIPSIS if end < len(text) else "")


def _find_matches(text: str, phrases: Iterable[Phrase]) -> list[MatchSpan]:
    patterns = [" *".join(map(re.escape, phrase)) for phrase in sorted(phrases, key=len, reverse=True)]
    if not patterns:
        return []
    wanted = re.compile(f"(?:{_BEGINS})(?:{'|'.join(patterns)})(?:{_ENDS})")
    found: list[MatchSpan] = []
    for match in wanted.finditer(align(text)):
        found.append(MatchSpan(*match.span()))
        if len(found) == MAX_MATCHES:
            break
    return found


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
        pieces += [text[at : place.start], MARK, text[place.start : place.end], MARK]
        at = place.end
    pieces += [text[at:end].rstrip(), ELLIPSIS if end < len(text) else ""]
    return "".join(pieces)
