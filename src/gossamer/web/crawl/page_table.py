"""The pages of a crawl as a table: comma-separated values, a row for each page."""

import csv
import io
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from gossamer.web.crawl.shown_page import ShownPage

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula
READ_FORMATS: Final = ("markdown", "text", "html", "rawHtml", "links", "images", "metadata")
_NO_COLUMNS: Final = ("content", "contentError", "contentUrl", "screenshotUrl", "cursor", *READ_FORMATS)
_COLUMNS: Final = [name for name in ShownPage.__struct_encode_fields__ if name not in _NO_COLUMNS]


def csv_head() -> str:
    return _to_csv([_COLUMNS])


def csv_lines(pages: Iterable[ShownPage]) -> str:
    rows = map(msgspec.to_builtins, pages)
    return _to_csv([harmless(row[name]) for name in _COLUMNS] for row in rows)


def _to_csv(rows: Iterable[Iterable[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()


def harmless(value: Any) -> Any:
    """Titles come from other people: none may run as a formula in a spreadsheet."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
