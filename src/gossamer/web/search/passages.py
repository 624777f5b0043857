"""Passages: a page's text, cut where its headings are, so that a search can show and link the right part.

    text      Undo Git can undo many things. The last commit git commit --amend replaces …
    headings  ^ 0, level 1           ^ 30, level 2, id "last"
    passages  ("Undo",) "Git can undo many things."   ("Undo", "The last commit") "git commit --amend …"

A page is stored as its text and its headings; the passages are made from both when they are needed.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from gossamer.web.search.words import clean

PASSAGE_CHARS: Final = 1_200  # longer sections are cut
MAX_HEADINGS: Final = 300  # of a page
MAX_HEADING_CHARS: Final = 200
MAX_ANCHOR_CHARS: Final = 100
TEXT_FRAGMENT: Final = ":~:text="
QUOTED_WORDS: Final = 5  # of a text fragment: few, because a browser finds it within one block only
MARK: Final = "\ufdd0"  # where a heading begins, until the text is complete; no character

PERMALINKS: Final = "¶#§🔗 "  # signs behind a heading that link to itself
_STOPS: Final = (". ", "! ", "? ", ": ", "; ")
_FULL_STOPS: Final = "\u3002\uff01\uff1f"  # of scripts that have no space behind them


class TextHeading(NamedTuple):
    at: int  # where it begins in the text
    size: int  # its characters
    level: int  # 1 to 6
    anchor: str = ""  # the id of its element, or of the section that it opens


class OutlinedText(Struct, frozen=True):
    """The text of a page, and the headings in it, in order."""

    text: str
    headings: tuple[TextHeading, ...] = ()


class Passage(Struct, frozen=True):
    """A part of a page. Its texts are untrusted."""

    headings: tuple[str, ...]  # above it, from the outermost to its own
    text: str
    start: int  # where it begins in the text of the page
    anchor: str = ""  # an element id at the heading above it
    continues: bool = False  # it is a later part of its section


class MarkedHeading(NamedTuple):
    """A heading of a tree, whose place in the text is marked with `MARK`."""

    text: str
    level: int
    anchor: str


def take_marks(marked: str, headings: Sequence[MarkedHeading]) -> OutlinedText:
    """Replace marks by places. A page that brings marks of its own has no headings."""
    pieces = marked.split(MARK)
    text = "".join(pieces)
    if len(pieces) != len(headings) + 1:
        return OutlinedText(text)
    found: list[TextHeading] = []
    at = 0
    for piece, heading in zip(pieces, headings, strict=False):
        at += len(piece)
        if text.startswith(heading.text, at) and heading.text:
            found.append(TextHeading(at, len(heading.text), heading.level, heading.anchor))
    return OutlinedText(text, tuple(found[:MAX_HEADINGS]))


def clean_outlined(outlined: OutlinedText, longest: int) -> OutlinedText:
    """Clean a text (`words.clean`), and keep its headings where they are."""
    if not outlined.headings:
        return OutlinedText(clean(outlined.text, longest))
    pieces: list[str] = []
    headings: list[TextHeading] = []
    at = 0

    def take(piece: str) -> int:
        nonlocal at
        tidied = clean(piece, longest)
        if tidied:
            pieces.append(tidied)
            at += len(tidied) + 1
        return len(tidied)

    text, last = outlined.text, 0
    for heading in outlined.headings:
        take(text[last : heading.at])
        last = heading.at + heading.size
        begin = at
        size = take(text[heading.at : last][:MAX_HEADING_CHARS])
        if size and begin + size <= longest:
            headings.append(TextHeading(begin, size, heading.level, heading.anchor[:MAX_ANCHOR_CHARS]))
    take(text[last:])
    return OutlinedText(" ".join(pieces)[:longest], tuple(headings))


def passages_of(
    text: str,
    headings: Sequence[TextHeading] = (),
    most: int = PASSAGE_CHARS,
    *,
    having: Sequence[int] | None = None,
) -> list[Passage]:
    """Cut a clean text into passages of at most `most` characters; headings alone are none. With `having`,
    only sections that have one of these places, in order, in their text or their heading."""
    passages: list[Passage] = []
    path: list[tuple[int, str]] = []
    anchor, opened, begin = "", 0, 0  # where the section and its text begin
    for heading in [*headings, None]:
        end = len(text) if heading is None else heading.at
        if having is None or bisect_left(having, opened) < bisect_left(having, end):
            above = tuple(name for _, name in path)
            for number, (start, stop) in enumerate(_cut(text, begin, end, most)):
                passages.append(Passage(above, text[start:stop], start, anchor, number > 0))
        if heading is not None:
            while path and path[-1][0] >= heading.level:
                path.pop()
            opened, begin = heading.at, heading.at + heading.size
            path.append((heading.level, text[heading.at : begin]))
            anchor = heading.anchor
    return passages


def lead_of(text: str, headings: Sequence[TextHeading], most: int) -> str:
    """What stands below the main heading: the first of the highest level. Menus stand above it."""
    main = min(headings, key=lambda heading: heading.level, default=None)
    start = 0 if main is None else main.at + main.size
    return text[start : start + most]


def _cut(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut a range after a sentence, or else between words; what it yields has no spaces around it."""
    while True:
        while start < end and text[start] == " ":
            start += 1
        if start >= end:
            return
        while text[end - 1] == " ":
            end -= 1
        stop = end if end - start <= most else _last_stop(text, start + most // 2, start + most)
        yield start, stop
        start = stop


def _last_stop(text: str, earliest: int, latest: int) -> int:
    stop = max(text.rfind(one, earliest, latest) for one in _STOPS)
    if not text.isascii():
        stop = max(stop, *(text.rfind(one, earliest, latest) for one in _FULL_STOPS))
    if stop >= 0:
        return stop + 1
    space = text.rfind(" ", earliest, latest)
    return latest if space < 0 else space


def link_to(url: str, passage: Passage, at: int = 0) -> str:
    """A link that scrolls to a passage: to the id above it, and unless it begins there, to its words from
    `at` on (a text fragment)."""
    page = url.partition("#")[0]
    if passage.anchor and not passage.continues:
        return f"{page}#{quote(passage.anchor, safe='')}"
    words = passage.text[at:].split(" ", QUOTED_WORDS)[:QUOTED_WORDS]
    said = quote(" ".join(words), safe="").replace("-", "%2D")
    return f"{page}#{quote(passage.anchor, safe='')}{TEXT_FRAGMENT}{said}"
