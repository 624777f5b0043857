"""Words of a changed line: which of them are new, which are gone."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gossamer.web.monitors.diff.sequence_diff import edits
from gossamer.web.monitors.diff.text_diff import RowKind

MAX_WORDS: Final = 600  # of a line; a longer one is shown as a whole
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d[\d.,]*\d|\w+|\s+|[^\w\s]")


class WordPiece(NamedTuple):
    kind: RowKind  # same, added or removed
    text: str


def word_pieces(old: str, new: str) -> list[WordPiece]:
    """Both lines as one, in the order of the new one."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > MAX_WORDS:
        return [WordPiece(RowKind.REMOVED, old), WordPiece(RowKind.ADDED, new)]
    return list(_joined(_pieces(before, after)))


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[WordPiece]:
    for edit in edits(before, after):
        old, new = "".join(before[at] for at in edit.old), "".join(after[at] for at in edit.new)
        if edit.kind == "equal":
            yield WordPiece(RowKind.SAME, new)
            continue
        if old:
            yield WordPiece(RowKind.REMOVED, old)
        if new:
            yield WordPiece(RowKind.ADDED, new)


def _joined(pieces: Iterator[WordPiece]) -> Iterator[WordPiece]:
    """A space between two changes belongs to them: three changed words in a row are one change."""
    waiting: dict[RowKind, str] = {}
    for piece in pieces:
        if piece.kind is RowKind.SAME and (piece.text.strip() or not waiting):
            yield from _flushed(waiting)
            waiting = {}
            yield piece
        elif piece.kind is RowKind.SAME:
            waiting = {kind: waiting.get(kind, "") + piece.text for kind in (RowKind.REMOVED, RowKind.ADDED)}
        else:
            waiting[piece.kind] = waiting.get(piece.kind, "") + piece.text
    yield from _flushed(waiting)


def _flushed(waiting: dict[RowKind, str]) -> Iterator[WordPiece]:
    """What is only white space on one side is the same on both."""
    for kind in (RowKind.REMOVED, RowKind.ADDED):
        text = waiting.get(kind, "")
        if text.strip() or (text and len(waiting) == 1):
            yield WordPiece(kind, text)
