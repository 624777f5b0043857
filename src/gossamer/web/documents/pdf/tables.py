"""Tables: rows in a run whose fragments stand in the same columns.

Columns are what is left when the fragments of all rows are laid over each other: at least two strips with
nothing between them. A row that bridges two of them ends the table.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from gossamer.web.documents.data import write_table
from gossamer.web.documents.pdf.fragments import Fragment
from gossamer.web.documents.pdf.layout import Row

MIN_ROWS: Final = 3  # with more than one cell
MAX_ROWS: Final = 1_000
MAX_COLUMNS: Final = 40
MAX_GAP: Final = 3.0  # sizes between the baselines of two rows
MAX_TIGHT: Final = 0.6  # of the distance between rows: between the lines of a cell
MIN_WIDE_SHARE: Final = 0.15  # of all distances are those between rows, where cells have several lines
SAME_DISTANCE: Final = 1.05
SAME_SIZE: Final = 1.15
PROSE_CHARS: Final = 25  # of a line

_Columns = list[tuple[float, float]]  # from the left to the right


class PdfTable(msgspec.Struct):
    rows: list[list[list[Fragment]]]  # row, column, lines

    @property
    def markdown(self) -> str:
        return write_table([[_join(cell) for cell in row] for row in self.rows])


def find_tables(rows: Sequence[Row]) -> list[Row | PdfTable]:
    """Replace the rows of each table by the table."""
    found: list[Row | PdfTable] = []
    at = 0
    while at < len(rows):
        run, columns = _grow(rows, at)
        if _is_table(run, columns):
            found.append(_fill(run, columns))
        else:
            run = run or [rows[at]]
            found += run
        at += len(run)
    return found


def _grow(rows: Sequence[Row], at: int) -> tuple[list[Row], _Columns]:
    """Return the rows from here that fit into common columns, if the first has more than one."""
    run: list[Row] = []
    columns: _Columns = []
    for row in rows[at : at + MAX_ROWS]:
        if not _may_follow(row, run):
            break
        widened = _widen(columns, row)
        if widened is None:
            break
        run.append(row)
        columns = widened
    while run and len(run[-1].fragments) == 1 and not _is_continued(run, columns):
        run.pop()
    return run, columns


def _may_follow(row: Row, run: Sequence[Row]) -> bool:
    if row.is_fixed or row.has_leader:
        return False
    if not run:
        return len(row.fragments) > 1
    before = run[-1]
    if len(row.fragments) == 1 and max(row.size, before.size) > SAME_SIZE * min(row.size, before.size):
        return False
    return before.baseline - row.baseline <= MAX_GAP * max(before.size, row.size)


def _widen(columns: _Columns, row: Row) -> _Columns | None:
    """Lay a row over the columns; None if that joins two of them, or there are too many."""
    widened = list(columns)
    for fragment in row.fragments:
        touched = [column for column in widened if column[0] < fragment.right and fragment.left < column[1]]
        if len(touched) > 1:
            return None
        if touched:
            widened.remove(touched[0])
        bounds = [(fragment.left, fragment.right), *touched]
        widened.append((min(left for left, _ in bounds), max(right for _, right in bounds)))
    return sorted(widened) if 1 < len(widened) <= MAX_COLUMNS else None


def _is_continued(run: Sequence[Row], columns: _Columns) -> bool:
    """Whether the last row, of one fragment, goes on with a cell of the row above it."""
    if len(run) < 2:
        return False
    spacing = _Spacing(run[:-1])
    return spacing.is_one_row(_cells(run[-1], columns), _distance(run[-2], run[-1]))


def _is_table(run: Sequence[Row], columns: _Columns) -> bool:
    whole = [row for row in run if len(row.fragments) > 1]
    if len(whole) < MIN_ROWS or len(whole) * 2 < len(run):
        return False
    used = [0] * len(columns)
    for row in run:
        for fragment in row.fragments:
            used[_column(columns, fragment)] += 1
    return sum(count >= 2 for count in used) >= 2 and not _is_prose(run, columns)


def _is_prose(run: Sequence[Row], columns: _Columns) -> bool:
    """Whether these are columns of prose, each written to its end before the next."""
    by_column: list[list[Fragment]] = [[] for _ in columns]
    for row in run:
        for fragment in row.fragments:
            by_column[_column(columns, fragment)].append(fragment)
    written = all(
        max(one.order for one in before) < min(one.order for one in after)
        for before, after in pairwise(by_column)
    )
    return written and all(median(len(one.text) for one in column) >= PROSE_CHARS for column in by_column)


def _column(columns: _Columns, fragment: Fragment) -> int:
    return next(at for at, (_, right) in enumerate(columns) if fragment.left < right)


def _fill(run: Sequence[Row], columns: _Columns) -> PdfTable:
    spacing = _Spacing(run)
    rows: list[list[list[Fragment]]] = []
    for at, row in enumerate(run):
        cells = _cells(row, columns)
        if rows and spacing.is_one_row(cells, _distance(run[at - 1], row)):
            for above, cell in zip(rows[-1], cells, strict=True):
                above += cell
        else:
            rows.append(cells)
    return PdfTable(rows)


def _cells(row: Row, columns: _Columns) -> list[list[Fragment]]:
    cells: list[list[Fragment]] = [[] for _ in columns]
    for fragment in row.fragments:
        cells[_column(columns, fragment)].append(fragment)
    return cells


class _Spacing:
    """Tells the further lines of a row from the next row."""

    def __init__(self, run: Sequence[Row]) -> None:
        distances = sorted(_distance(above, below) for above, below in pairwise(run))
        self._usual = distances[len(distances) // 2] if distances else 0.0
        widest = distances[-1] if distances else 0.0
        wide = [distance for distance in distances if distance > widest * MAX_TIGHT]
        has_both = len(wide) < len(distances) and len(wide) >= max(2, MIN_WIDE_SHARE * len(distances))
        self._next_row = wide[0] if has_both else None

    def is_one_row(self, cells: Sequence[Sequence[Fragment]], distance: float) -> bool:
        """Whether these are further lines of the cells above."""
        if self._next_row is not None:
            return distance < self._next_row
        return not cells[0] and sum(map(bool, cells)) == 1 and distance <= self._usual * SAME_DISTANCE


def _distance(above: Row, below: Row) -> float:
    return above.baseline - below.baseline


def _join(lines: Iterable[Fragment]) -> str:
    return "".join(line.text + ("" if line.hyphenated else " ") for line in lines).rstrip()
