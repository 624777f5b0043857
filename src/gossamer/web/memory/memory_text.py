"""What of an entry is searched: its key, its tags, and the texts of its value."""

from typing import Any, Final, NamedTuple

from gossamer.web.content.sections import sections_of
from gossamer.web.memory.memory_entry import MemoryFormat
from gossamer.web.search.passages import OutlinedText, TextHeading

MAX_CHARS: Final = 200_000  # of a value; the index keeps half of that


class MemoryTexts(NamedTuple):
    """The texts of an entry, for the search index."""

    title: str
    description: str
    outlined: OutlinedText


def texts_of(key: str, title: str, tags: tuple[str, ...], value: Any, format_: MemoryFormat) -> MemoryTexts:
    outlined = _outlined(value[:MAX_CHARS]) if format_ == "markdown" else OutlinedText(_plain(value))
    return MemoryTexts(title, " ".join([key, *tags]), outlined)


def _outlined(markdown: str) -> OutlinedText:
    """Markdown as text with headings, so that a search can show the right part of it."""
    pieces: list[str] = []
    headings: list[TextHeading] = []
    at = 0

    def add(piece: str) -> None:
        nonlocal at
        pieces.append(piece)
        at += len(piece) + 1

    for section in sections_of(markdown):
        if section.level:
            if section.heading:
                headings.append(TextHeading(at, len(section.heading), section.level))
                add(section.heading)
            blocks = section.blocks[1:]  # the first is the line of the heading
        else:
            blocks = section.blocks
        for block in blocks:
            add(block)
    return OutlinedText("\n".join(pieces), tuple(headings))


def _plain(value: Any) -> str:
    """All names and values of JSON, in their order, as long as there is room."""
    pieces: list[str] = []
    room = MAX_CHARS
    waiting = [value]
    while waiting and room > 0:
        one = waiting.pop()
        if isinstance(one, dict):
            for name, below in reversed(one.items()):
                waiting += [below, name]
        elif isinstance(one, list):
            waiting += reversed(one[:room])
        elif one is not None:
            piece = one[:room] if isinstance(one, str) else str(one).lower()[:room]
            pieces.append(piece)
            room -= len(piece) + 1
    return "\n".join(pieces)
