"""Tables: tell data from layout, and put the cells of a data table into columns."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from gossamer.web.html.elements.element import Element

MAX_COLUMNS: Final = 100
MAX_CELLS: Final = 50_000
_ROW_GROUPS: Final = frozenset(("thead", "tbody", "tfoot"))
_RULES: Final = {"left": ":---", "center": ":---:", "right": "---:"}
_ALIGNED: Final = re.compile(r"(?:^|[;\s])text-align\s*:\s*(left|center|right)", re.I)
_MAX_CELL_CHARS: Final = 1_000  # longer cells are prose, not data


class Grid(Struct, frozen=True):
    header: list[Element | None]  # empty if the table has none
    rows: list[list[Element | None]]
    caption: Element | None
    repeated: set[int]  # ids of cells that span a whole row, which are written once
    cut: bool


def rows_of(table: Element) -> list[Element]:
    rows: list[Element] = []
    feet: list[Element] = []
    for child in table.elements:
        if child.tag == "tr":
            rows.append(child)
        elif child.tag in _ROW_GROUPS:
            (feet if child.tag == "tfoot" else rows).extend(one for one in child.elements if one.tag == "tr")
    return rows + feet


def cells_of(row: Element) -> list[Element]:
    return [cell for cell in row.elements if cell.tag in ("td", "th")]


def is_layout(table: Element) -> bool:
    """Whether the table is only used for layout."""
    if table.get("role") in ("presentation", "none"):
        return True
    rows = rows_of(table)
    cells = [cell for row in rows for cell in cells_of(row)]
    if any(cell.tag == "th" for cell in cells):
        return (len(rows) < 2 and len(cells) < 2) or any(_is_page(cell) for cell in cells)
    if len(rows) < 2 or max(len(cells_of(row)) for row in rows) < 2:
        return True
    return any(_is_page(cell) or cell.text > _MAX_CELL_CHARS for cell in cells)


def _is_page(cell: Element) -> bool:
    if not cell.blocks:
        return False
    return any(
        one.tag in ("table", "h1", "h2", "article", "form") and one.text
        for one in cell.walk()
        if one is not cell
    )


def grid_of(table: Element) -> Grid:
    """Return rows as wide as the table, with spanning cells in every column and row that they cover."""
    rows: list[list[Element | None]] = []
    spans: dict[int, tuple[Element, int]] = {}  # by column: a cell and its rows left
    whole: set[int] = set()
    originals = cells = 0
    for row in rows_of(table):
        if cells > MAX_CELLS:
            return _finish(table, rows, originals, whole, cut=True)
        filled, used = _fill(cells_of(row), spans, whole)
        rows.append(filled)
        cells += len(filled)
        originals = max(originals, used)
    return _finish(table, rows, originals, whole, cut=False)


def _fill(
    cells: list[Element], spans: dict[int, tuple[Element, int]], whole: set[int]
) -> tuple[list[Element | None], int]:
    """Return one row, and the number of columns up to the last one in which a cell begins."""
    row: list[Element | None] = []
    used = 0
    waiting = list(reversed(cells))
    while (waiting or any(column >= len(row) for column in spans)) and len(row) < MAX_COLUMNS:
        column = len(row)
        if column in spans:
            cell, left = spans.pop(column)
            row.append(cell)
            if left > 1:
                spans[column] = (cell, left - 1)
            continue
        if not waiting:
            row.append(None)
            continue
        cell = waiting.pop()
        wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
        used = column + 1
        for _ in range(min(wide, MAX_COLUMNS - column)):
            if high > 1:
                spans[len(row)] = (cell, high - 1)
            row.append(cell)
        if len(cells) == 1 and wide > 1:
            whole.add(id(cell))
    return row, used


def _span(cell: Element, name: str) -> int:
    text = cell.get(name).strip()[:5]
    return max(1, min(int(text), 1_000)) if text.isascii() and text.isdigit() else 1


def _finish(
    table: Element, rows: list[list[Element | None]], width: int, whole: set[int], *, cut: bool
) -> Grid:
    rows = [(row + [None] * width)[:width] for row in rows]
    header: list[Element | None] = []
    if rows and _is_header(table, rows[0]):
        header = rows.pop(0)
    caption = next((one for one in table.elements if one.tag == "caption" and one.text), None)
    return Grid(header, rows, caption, whole, cut)


def _is_header(table: Element, row: list[Element | None]) -> bool:
    cells = [cell for cell in row if cell is not None]
    if not cells:
        return False
    above = cells[0].parent.parent if cells[0].parent else None
    return (above is not None and above.tag == "thead") or all(
        cell.tag == "th" or not cell.text for cell in cells
    )


def rules_of(grid: Grid) -> list[str]:
    """Return the rule below each column's header, which tells how the column is aligned."""
    columns = zip(*([grid.header] if grid.header else []), *grid.rows, strict=True)
    return [_RULES.get(_column_alignment(cells), "---") for cells in columns]


def _column_alignment(cells: Iterable[Element | None]) -> str:
    """Return the alignment of the cells that have one, if they agree."""
    found = {_alignment(cell) for cell in cells if cell is not None and cell.attributes}
    found.discard("")
    return found.pop() if len(found) == 1 else ""


def _alignment(cell: Element) -> str:
    style = cell.get("style")
    styled = _ALIGNED.search(style) if style else None
    return (styled[1] if styled else cell.get("align")).lower()
