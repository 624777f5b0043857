"""Data for people: indented JSON, and CSV and TSV as a Markdown table."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

MAX_ROWS: Final = 1000
MAX_COLUMNS: Final = 50
MAX_CELL_CHARS: Final = 500
MAX_INDENTED_DEPTH: Final = 32  # deeper, the indentation would outgrow the data

# JSON.

# A value whose members are not decoded.
Outer = dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool


def decode_outer(body: bytes) -> Outer | None:
    """Decode a JSON value without the content of its members; None if it is not JSON."""
    shapes: dict[bytes, Any] = {b"{": dict[str, msgspec.Raw], b"[": list[msgspec.Raw]}
    try:
        value: Outer = msgspec.json.decode(body, type=shapes.get(body[:1], str | int | float | bool))
    except (msgspec.DecodeError, RecursionError):
        return None
    return value


def decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def may_be_feed(outer: Outer) -> bool:
    return isinstance(outer, dict) and "version" in outer and "items" in outer


def indent(body: bytes, text: str, most: int) -> str:
    """Indent JSON; numbers and the order of members do not change."""
    if len(body) > most or _depth(text) > MAX_INDENTED_DEPTH:
        return text
    try:
        return msgspec.json.format(body, indent=2).decode()
    except (msgspec.DecodeError, RecursionError):
        return text


_NESTING: Final = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"?|[\[{]|[\]}]", re.DOTALL)


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in _NESTING.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def title_of(outer: Outer) -> str:
    if not isinstance(outer, dict):
        return ""
    for name in ("title", "name"):
        value = bytes(outer.get(name) or b"")
        if value.startswith(b'"') and len(value) < 400:
            return " ".join(msgspec.json.decode(value, type=str).split())
    return ""


def outline(outer: Outer) -> str:
    """Summarise a value that is too long to be shown whole."""
    if isinstance(outer, list):
        return f"A list of {len(outer):,} items, of which the first are shown."
    if isinstance(outer, dict):
        names = ", ".join(f"`{name[:60]}`" for name in list(outer)[:50])
        return f"An object with {len(outer):,} members, of which the first are shown: {names}"
    return "A single value, of which the beginning is shown."


# Tables.


class DataTable(Struct, frozen=True):
    markdown: str
    complete: bool


def table(text: str, media_type: str, most: int) -> DataTable | None:
    """Return the first rows and columns, in at most `most` characters; None if it is not a table."""
    try:
        rows, complete = _rows(text, _delimiter(text, media_type), most)
    except csv.Error:
        return None
    return DataTable(_write_table(rows), complete)


def _delimiter(text: str, media_type: str) -> str:
    if media_type == "text/tab-separated-values":
        return "\t"
    first = text.lstrip("\n")[:10_000].partition("\n")[0]
    return max(",;\t|", key=first.count)


def _rows(text: str, delimiter: str, room: int) -> tuple[list[list[str]], bool]:
    rows: list[list[str]] = []
    complete = True
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if not any(cell.strip() for cell in row):
            continue
        cells = [_cell(cell) for cell in row[:MAX_COLUMNS]]
        room -= sum(map(len, cells)) + 3 * MAX_COLUMNS
        if len(rows) == MAX_ROWS or room < 0:
            return rows, False
        complete = complete and len(row) <= MAX_COLUMNS and all(len(cell) <= MAX_CELL_CHARS for cell in row)
        rows.append(cells)
    return rows, complete


def _cell(text: str) -> str:
    short = text if len(text) <= MAX_CELL_CHARS else text[:MAX_CELL_CHARS] + "…"
    return _escape_cell(short)


def _escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def write_table(rows: Sequence[Sequence[str]]) -> str:
    """Write the rows as Markdown; the first is the head."""
    return _write_table([[_escape_cell(cell) for cell in row] for row in rows])


def _write_table(rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    head, *body = (row + [""] * (width - len(row)) for row in rows)
    return "\n".join(_line(row) for row in (head, ["---"] * width, *body))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
