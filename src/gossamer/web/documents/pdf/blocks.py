"""Blocks: rows become headings, paragraphs, lists, code and tables, as Markdown.

heading    larger than the body of the document, or bold; its level is the rank of its size
paragraph  rows at the usual distance; a line that ends early for no need stays a line
list       rows that begin with a bullet or a number, and those that go on below them
code       rows in a font of equally wide characters; their indentation is kept
table      see `tables`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from gossamer.web.documents.pdf.fragments import Fragment
from gossamer.web.documents.pdf.layout import LEADER, Region, Row, regions_of, written_regions_of
from gossamer.web.documents.pdf.markers import split_marker, write_bullets
from gossamer.web.documents.pdf.tables import PdfTable, find_tables
from gossamer.web.markdown.fences import fence

LARGER: Final = 1.12  # than the body: a heading
MAX_HEADING_CHARS: Final = 200
MAX_BOLD_CHARS: Final = 100
MAX_HEADING_ROWS: Final = 4
MAX_LEVEL: Final = 4
MAX_BOLD_SHARE: Final = 0.3  # of the document; where more is bold, bold means nothing
MAX_LARGER_SHARE: Final = 0.3
MAX_FIXED_SHARE: Final = 0.5  # of the document; where more is fixed, it is no code
MIN_MIXED: Final = 3  # rows
MAX_MIXED: Final = 0.2  # of the rows
MAX_GAP: Final = 1.35  # usual distances between the lines of a paragraph
MAX_ITEM_GAP: Final = 3.0  # usual distances between the items of a list
MAX_CODE_GAP: Final = 2.6  # sizes between the lines of code; one may be empty
INDENT: Final = 0.8  # sizes
HANGING: Final = 0.3  # sizes
SLACK: Final = 0.5  # sizes that a line may end before the edge
MIN_FULL_CHARS: Final = 25  # of a line that was broken because it was full
MAX_INDENT: Final = 60  # characters of code

_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_BLOCK_START: Final = re.compile(r"^([ \t]*)(#{1,6}[ \t]|>|={3,}|-{3,}|`{3,}|~{3,}|\|)", re.MULTILINE)
_SENTENCE_END: Final = (".", "!", "?", ":", "”", '"', ")")
_NO_HEADING_END: Final = (".", ",", ";", ":")
_Continues = Callable[[Sequence[Row], Row], bool]


class Typography(msgspec.Struct):
    """What the letters of a document mean."""

    body: float  # its size
    headings: tuple[float, ...]  # their sizes, the largest first
    bold_headings: bool
    code: bool


def study(fragments: Iterable[Fragment]) -> Typography:
    sizes: Counter[float] = Counter()
    titles: set[float] = set()
    bold = fixed = 0
    for fragment in fragments:
        length = len(fragment.text)
        sizes[fragment.size] += length
        bold += length * fragment.bold
        fixed += length * fragment.fixed
        if _LETTERS.search(fragment.text):
            titles.add(fragment.size)
    body = max(sizes, key=lambda size: sizes[size], default=0.0)
    whole = sizes.total()
    larger = sorted((size for size in titles if size >= body * LARGER), reverse=True)
    if sum(sizes[size] for size in larger) > MAX_LARGER_SHARE * whole:
        larger = []
    return Typography(
        body,
        tuple(larger),
        bold_headings=bold <= MAX_BOLD_SHARE * whole,
        code=fixed <= MAX_FIXED_SHARE * whole,
    )


def plain_markdown(text: str) -> str:
    """Keep the lines, but escape those that would read as a heading, a rule or a fence."""
    return write_bullets(_escape(text)).strip()


def _escape(text: str) -> str:
    return _BLOCK_START.sub(r"\1\\\2", text)


def write_markdown(fragments: Sequence[Fragment], style: Typography) -> str | None:
    """Return the Markdown of a page; None if its layout is not understood."""
    written = _write_regions(regions_of(fragments), style)
    return _write_regions(written_regions_of(fragments), style) if written is None else written


def _write_regions(regions: Sequence[Region], style: Typography) -> str | None:
    """Return None if many rows seem to be beside each other by chance."""
    found = [(region, find_tables(region.rows)) for region in regions]
    rows = [row for _, items in found for row in items if isinstance(row, Row)]
    mixed = sum(row.is_mixed for row in rows)
    if mixed >= MIN_MIXED and mixed > MAX_MIXED * len(rows):
        return None
    return "\n\n".join(block for region, items in found for block in _Writer(region, items, style).blocks())


class _Writer:
    """Writes a region from its top to its bottom."""

    def __init__(self, region: Region, items: list[Row | PdfTable], style: Typography) -> None:
        self._items = items
        self._style = style
        self._right = region.right
        self._pitch = _usual_distance([item for item in items if isinstance(item, Row)])
        self._at = 0

    def blocks(self) -> Iterator[str]:
        while self._at < len(self._items):
            item = self._items[self._at]
            if isinstance(item, PdfTable):
                self._at += 1
                yield item.markdown
            elif self._is_code(item):
                yield _write_code(self._take(item, self._continues_code))
            elif level := self._level(item):
                rows = self._take(item, self._continues_heading)
                yield f"{'#' * level} {_join_rows(rows)}"
            elif split_marker(item.text):
                yield self._write_list(item)
            else:
                yield _escape(self._join_lines(self._take(item, self._continues_paragraph)))

    def _take(self, first: Row, continues: _Continues) -> list[Row]:
        """Take a row, and those that continue it."""
        rows = [first]
        self._at += 1
        while (row := self._following()) is not None and continues(rows, row):
            rows.append(row)
            self._at += 1
        return rows

    def _following(self) -> Row | None:
        item = self._items[self._at] if self._at < len(self._items) else None
        return item if isinstance(item, Row) else None

    # Code.

    def _is_code(self, row: Row) -> bool:
        return (
            self._style.code and row.is_fixed and not ((marked := split_marker(row.text)) and marked.is_sure)
        )

    def _continues_code(self, rows: Sequence[Row], row: Row) -> bool:
        return self._is_code(row) and _distance(rows[-1], row) <= MAX_CODE_GAP * row.size

    # Headings.

    def _level(self, row: Row) -> int:
        """Return the level of a heading; 0 if the row is none."""
        text = row.text
        if len(text) > MAX_HEADING_CHARS or row.has_leader or not _LETTERS.search(text):
            return 0
        if row.size in self._style.headings:
            return min(self._style.headings.index(row.size) + 1, MAX_LEVEL)
        return min(len(self._style.headings) + 1, MAX_LEVEL) if self._is_bold_heading(row, text) else 0

    def _is_bold_heading(self, row: Row, text: str) -> bool:
        if not (self._style.bold_headings and row.is_bold) or row.size < self._style.body:
            return False
        if len(text) > MAX_BOLD_CHARS or text.endswith(_NO_HEADING_END):
            return False
        before = self._items[self._at - 1] if self._at else None
        return not isinstance(before, Row) or before.is_bold or _distance(before, row) > self._pitch * 1.1

    def _continues_heading(self, rows: Sequence[Row], row: Row) -> bool:
        before = rows[-1]
        same = row.size == before.size and row.is_bold == before.is_bold
        close = _distance(before, row) <= MAX_GAP * before.size
        is_title = row.size > self._style.body  # bold lines below each other may be headings of their own
        return (
            same
            and close
            and len(rows) < MAX_HEADING_ROWS
            and (is_title or not self._ends_early(before, row))
        )

    # Lists.

    def _write_list(self, first: Row) -> str:
        lines: list[str] = []
        parents: list[
            tuple[float, int]
        ] = []  # the left edge of each item around, and the width of its marker
        row: Row | None = first
        while row is not None and (marked := split_marker(row.text)):
            while parents and row.left < parents[-1][0] + HANGING * row.size:
                parents.pop()
            indent = sum(width for _, width in parents)
            rows = self._take(row, self._continues_item)
            text = _join_rows(rows)[len(row.text) - len(marked.text) :]
            lines.append(f"{' ' * indent}{marked.marker} {_escape(text)}")
            parents.append((row.left, len(marked.marker) + 1))
            row = self._next_item(rows[-1])
        return "\n".join(lines)

    def _next_item(self, last: Row) -> Row | None:
        row = self._following()
        if row is None or self._level(row) or self._is_code(row):
            return None
        return row if _distance(last, row) <= MAX_ITEM_GAP * self._pitch else None

    def _continues_item(self, rows: Sequence[Row], row: Row) -> bool:
        if (
            split_marker(row.text)
            or self._level(row)
            or self._is_code(row)
            or not self._is_close(rows[-1], row)
        ):
            return False
        hangs = row.left > rows[0].left + HANGING * row.size
        return hangs or (len(rows) == 1 and not self._ends_early(rows[-1], row)) or row.left == rows[-1].left

    # Paragraphs.

    def _continues_paragraph(self, rows: Sequence[Row], row: Row) -> bool:
        before = rows[-1]
        if self._is_code(row) or self._level(row) or not self._is_close(before, row):
            return False
        early = self._ends_early(before, row)
        if (marked := split_marker(row.text)) and (marked.is_sure or early or row.left > before.left + 1):
            return False
        if row.has_leader:
            return True
        if row.left > before.left + INDENT * row.size:
            return False
        return not (early and len(rows) > 1 and before.text.endswith(_SENTENCE_END))

    def _is_close(self, before: Row, row: Row) -> bool:
        return 0 < _distance(before, row) <= MAX_GAP * self._pitch

    def _ends_early(self, row: Row, following: Row) -> bool:
        """Whether the first word of the following row would have fit."""
        text, next_text = row.text, following.text
        if len(text) < MIN_FULL_CHARS or row.has_leader:
            return True
        if row.is_hyphenated:
            return False
        word = len(next_text.partition(" ")[0]) * (following.right - following.left) / max(1, len(next_text))
        return row.right + word + SLACK * row.size < self._right - SLACK * row.size

    def _join_lines(self, rows: Sequence[Row]) -> str:
        """Join the rows of a paragraph; those that end early stay lines."""
        text = _shorten_leader(rows[0])
        for before, row in pairwise(rows):
            space = "" if before.is_hyphenated else "\n" if self._ends_early(before, row) else " "
            text += space + _shorten_leader(row)
        return text


def _join_rows(rows: Sequence[Row]) -> str:
    return "".join(row.text + ("" if row.is_hyphenated else " ") for row in rows).rstrip()


def _shorten_leader(row: Row) -> str:
    return LEADER.sub(" … ", row.text) if row.has_leader else row.text


def _distance(above: Row, below: Row) -> float:
    return above.baseline - below.baseline


def _usual_distance(rows: Sequence[Row]) -> float:
    distances = Counter(
        round(_distance(above, below))
        for above, below in pairwise(rows)
        if 0 < _distance(above, below) <= 3 * above.size
    )
    return max(distances, key=lambda one: distances[one], default=0) or (rows[0].size * 1.2 if rows else 0.0)


def _write_code(rows: Sequence[Row]) -> str:
    left = min(row.left for row in rows)
    width = max((rows[0].right - rows[0].left) / max(1, len(rows[0].text)), 0.1)
    lines: list[str] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and _distance(before, row) > 1.7 * row.size:
            lines.append("")
        line = ""
        for fragment in row.fragments:
            column = min(round((fragment.left - left) / width), len(line) + MAX_INDENT)
            line = line.ljust(max(column, len(line) + 1) if line else column) + fragment.text
        lines.append(line.rstrip())
    return fence("\n".join(lines), "")
