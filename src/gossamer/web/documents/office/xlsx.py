"""XLSX: every sheet as a table, with the values as they were last computed."""

from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import islice
from typing import Any, Final

from gossamer.web.documents.office.converted import Converted, HtmlWriter, escape, table
from gossamer.web.documents.office.package import Package, refuse

MAX_CELLS: Final = 50_000  # of a document
MAX_COLUMNS: Final = 200


def convert_xlsx(package: Package) -> Converted:
    import openpyxl  # only a reader that meets such a document loads it

    package.refuse_entities()
    try:
        book = openpyxl.load_workbook(package.whole(), read_only=True, data_only=True, keep_links=False)
    except Exception:  # noqa: BLE001  (it raises whatever a damaged document leads to)
        raise refuse("The document is damaged and cannot be read") from None
    try:
        html, count = _write(book), len(book.sheetnames)
    except Exception:  # noqa: BLE001
        raise refuse("The document is damaged and cannot be read") from None
    finally:
        book.close()
    return Converted(
        html=html.html,
        **package.core_properties(),
        page_count=count,
        complete=html.complete,
    )


def _write(book: Any) -> HtmlWriter:
    html, left = HtmlWriter(), MAX_CELLS
    for sheet in book.worksheets:
        rows = list(islice(_rows(sheet), left + 1))
        if not rows or sheet.sheet_state != "visible":
            continue
        width = max(map(len, rows))
        fitting = [row + [""] * (width - len(row)) for row in rows[: left // width]]
        left -= width * len(fitting)
        if not html.add(f"<h2>{escape(sheet.title)}</h2>{table(fitting)}") or len(fitting) < len(rows):
            html.complete = False
            break
    return html


def _rows(sheet: Any) -> Iterator[list[str]]:
    """The rows that have something, without empty cells at their ends."""
    for row in sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS):
        cells = [_shown(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"{value:.15g}"
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return escape(str(value))
