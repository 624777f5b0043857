"""A difference as a page shows it: each row with its words."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.web.monitors.diff.text_diff import DiffRow, RowKind
from gossamer.web.monitors.diff.words import WordPiece, word_pieces
from gossamer.web.monitors.noise.noise_kind import NoiseKind
from gossamer.web.monitors.rules.change_reason import ReasonKind

REASONS: Final = {
    ReasonKind.TEXT_ADDED: "A line was added",
    ReasonKind.TEXT_REMOVED: "A line was removed",
    ReasonKind.TEXT_CHANGED: "A line changed",
    ReasonKind.FIELD_ADDED: "A field has a value now",
    ReasonKind.FIELD_REMOVED: "A field has no value any more",
    ReasonKind.FIELD_CHANGED: "A field changed",
    ReasonKind.NUMBER_BELOW: "The number fell below the limit",
    ReasonKind.NUMBER_ABOVE: "The number rose above the limit",
    ReasonKind.NUMBER_CHANGED: "The number changed",
    ReasonKind.KEYWORD_APPEARED: "The words appeared",
    ReasonKind.KEYWORD_DISAPPEARED: "The words disappeared",
    ReasonKind.STATUS_CHANGED: "The status changed",
    ReasonKind.OUTCOME_CHANGED: "The outcome changed",
    ReasonKind.APPEARANCE_CHANGED: "The appearance changed: this share of the pixels",
    ReasonKind.PAGE_APPEARED: "The page appeared",
    ReasonKind.PAGE_DISAPPEARED: "The page disappeared",
}
NOISES: Final = {
    NoiseKind.AGE: "how long ago something was",
    NoiseKind.COUNTER: "a counter",
    NoiseKind.DATE: "a date of today, or of the last update",
    NoiseKind.COUNTDOWN: "a countdown",
    NoiseKind.ID: "an id",
    NoiseKind.GREETING: "a greeting",
    NoiseKind.ADVERTISEMENT: "an advertisement",
    NoiseKind.ELSEWHERE: "related or recommended things",
    NoiseKind.ORDER: "the order",
    NoiseKind.LAYOUT: "layout and punctuation",
    NoiseKind.BESIDE: "elsewhere on the page before or after",
    NoiseKind.IGNORED: "your own phrases",
}


class ShownRow(NamedTuple):
    """A row of a difference. `mark` says without colour what it is."""

    kind: str  # same, added, removed, changed or noise
    mark: str
    old: Sequence[WordPiece]
    new: Sequence[WordPiece]
    inline: Sequence[WordPiece]
    noise: str


_MARKS: Final = {RowKind.ADDED: "+", RowKind.REMOVED: "-", RowKind.CHANGED: "±", RowKind.SAME: ""}


def shown_rows(rows: Sequence[DiffRow]) -> list[ShownRow]:
    return [_shown(row) for row in rows]


def _shown(row: DiffRow) -> ShownRow:
    noise = ", ".join(NOISES[kind] for kind in row.noise)
    if row.noise or row.kind is RowKind.SAME:
        old, new = _plain(row.old), _plain(row.new)
        return ShownRow("noise" if noise else "same", "~" if noise else "", old, new, new or old, noise)
    if row.kind is RowKind.CHANGED:
        pieces = word_pieces(row.old or "", row.new or "")
    else:
        kept = RowKind.ADDED if row.kind is RowKind.ADDED else RowKind.REMOVED
        pieces = [WordPiece(kept, row.new or row.old or "")]
    return ShownRow(
        row.kind.value,
        _MARKS[row.kind],
        [piece for piece in pieces if piece.kind is not RowKind.ADDED],
        [piece for piece in pieces if piece.kind is not RowKind.REMOVED],
        pieces,
        "",
    )


def _plain(text: str | None) -> list[WordPiece]:
    return [WordPiece(RowKind.SAME, text)] if text else []
