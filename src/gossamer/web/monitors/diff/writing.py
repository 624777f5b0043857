"""Differences as text: unified, and as markdown with what was deleted and added."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.web.monitors.diff.text_diff import DiffRow, RowKind
from gossamer.web.monitors.diff.words import word_pieces

CONTEXT: Final = 3  # unchanged lines around a change
_MARKS: Final = re.compile(r"([\\`*_~\[\]<>#|])")


def unified(rows: Sequence[DiffRow], *, old_name: str = "before", new_name: str = "after") -> str:
    """As diff and patch write it. Noise is shown as the page has it now, without a mark."""
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    for hunk in hunks(rows):
        old_size = sum(_is_old(row) for row in hunk.rows)
        new_size = sum(_is_new(row) for row in hunk.rows)
        lines.append(f"@@ -{hunk.old_line},{old_size} +{hunk.new_line},{new_size} @@")
        lines += _unified_lines(hunk.rows)
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def markdown(rows: Sequence[DiffRow]) -> str:
    """What was deleted is ~~struck out~~, what was added is **bold**, word by word inside of lines."""
    pieces: list[str] = []
    for hunk in hunks(rows, context=1):
        if pieces:
            pieces.append("…")
        pieces += [_markdown_line(row) for row in hunk.rows]
    return "\n\n".join(piece for piece in pieces if piece) + "\n" if pieces else ""


class Hunk:
    """Changed lines that stand together, with some lines around them."""

    __slots__ = ("new_line", "old_line", "rows")

    def __init__(self, old_line: int, new_line: int, rows: Sequence[DiffRow]) -> None:
        self.old_line = old_line
        self.new_line = new_line
        self.rows = rows


def hunks(rows: Sequence[DiffRow], context: int = CONTEXT, *, noisy: bool = False) -> Iterator[Hunk]:
    """With `noisy`, around noise too."""
    for start, stop in _ranges(rows, context, noisy):
        before = rows[:start]
        yield Hunk(
            1 + sum(_is_old(row) for row in before),
            1 + sum(_is_new(row) for row in before),
            rows[start:stop],
        )


def _ranges(rows: Sequence[DiffRow], context: int, noisy: bool) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for at, row in enumerate(rows):
        if not row.is_change and not (noisy and row.is_ignored):
            continue
        start, stop = max(0, at - context), min(len(rows), at + context + 1)
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
    return ranges


def _is_old(row: DiffRow) -> bool:
    return row.old is not None if row.is_change else row.new is not None


def _is_new(row: DiffRow) -> bool:
    return row.new is not None


def _unified_lines(rows: Sequence[DiffRow]) -> Iterator[str]:
    removed: list[str] = []
    added: list[str] = []
    for row in rows:
        if row.is_change:
            removed += [f"-{row.old}"] if row.old is not None else []
            added += [f"+{row.new}"] if row.new is not None else []
            continue
        yield from (*removed, *added)
        removed, added = [], []
        if row.new is not None:
            yield f" {row.new}"
    yield from (*removed, *added)


def _markdown_line(row: DiffRow) -> str:
    if not row.is_change:
        return _escaped(row.new or "")
    if row.kind is RowKind.CHANGED:
        return "".join(_marked(*piece) for piece in word_pieces(row.old or "", row.new or ""))
    return _marked(row.kind, row.new if row.kind is RowKind.ADDED else row.old or "")


def _marked(kind: RowKind, text: str | None) -> str:
    text = text or ""
    if kind is RowKind.SAME or not text.strip():
        return _escaped(text)
    bare = text.strip()
    start = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    mark = "**" if kind is RowKind.ADDED else "~~"
    return f"{start}{mark}{_escaped(bare)}{mark}{end}"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)
