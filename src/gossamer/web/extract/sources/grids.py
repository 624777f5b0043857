"""Data tables of a page, as rows of named cells."""

from typing import Final

from msgspec import Struct

from gossamer.web.extract.record import MAX_VALUE_CHARS, Leaf
from gossamer.web.extract.schema.words import label_key
from gossamer.web.html.elements.element import Element
from gossamer.web.html.links import Addresses
from gossamer.web.html.tree import Tree
from gossamer.web.markdown.tables import Grid, grid_of, is_layout

MAX_TABLES: Final = 50
MAX_ROWS: Final = 1_000


class Cell(Struct, frozen=True):
    text: Leaf
    address: str = ""  # of its first link


class HeadedTable(Struct, frozen=True):
    """A table with a header."""

    title: str  # its caption, or the heading before it
    columns: tuple[str, ...]  # as `words.label_key` of the header
    rows: tuple[tuple[Cell | None, ...], ...]
    path: str

    def column(self, names: frozenset[str]) -> int | None:
        return next((place for place, name in enumerate(self.columns) if name in names), None)


def grids_of(tree: Tree, addresses: Addresses) -> list[HeadedTable]:
    found: list[HeadedTable] = []
    heading = ""
    number = 0
    for one in tree.order:
        if one.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            heading = one.plain()
        elif one.tag == "table":
            number += 1
            if len(found) < MAX_TABLES and not is_layout(one):
                rows = _rows(grid_of(one), f"table[{number}]", heading, addresses)
                found += [rows] if rows else []
    return found


def _rows(grid: Grid, path: str, heading: str, addresses: Addresses) -> HeadedTable | None:
    if not grid.header or len(grid.rows) < 1:
        return None
    names = [cell.plain() if cell else "" for cell in grid.header]
    rows = tuple(
        tuple(
            _cell(cell, f"{path} row {number} {name}", addresses)
            for cell, name in zip(row, names, strict=True)
        )
        for number, row in enumerate(grid.rows[:MAX_ROWS], start=1)
        if len({id(cell) for cell in row}) > 1  # a single cell across the row is a heading between rows
    )
    title = grid.caption.plain() if grid.caption else heading
    return HeadedTable(title, tuple(label_key(name) for name in names), rows, path)


def _cell(cell: Element | None, path: str, addresses: Addresses) -> Cell | None:
    if cell is None:
        return None
    link = cell.find("a")
    address = addresses.absolute(link.get("href")) if link else ""
    if not cell.text and not address:
        return None
    return Cell(Leaf(cell.plain()[:MAX_VALUE_CHARS], path.strip()), address)
