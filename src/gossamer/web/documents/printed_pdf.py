"""Printed PDFs: count the pages of a PDF that a browser has printed.

Such a PDF has one plain table of objects (ISO 32000-1, 7.5.4), and its dictionaries begin with the entries
that are read here, before anything that a web page can influence. `pdf` reads all other PDFs.
"""

import re
from typing import Final

_START: Final = re.compile(rb"startxref\s+(\d{1,10})\s+%%EOF\s*\Z")
_TABLE: Final = re.compile(rb"xref\s+0 (\d{1,7})\s*\n(?=\d{10} \d{5} f)")
_ROOT: Final = re.compile(rb"\s*trailer\s*<<[^()]*?/Root (\d{1,7}) 0 R")
_CATALOG: Final = re.compile(rb"\d+ 0 obj\s*<<\s*/Type /Catalog\s*/Pages (\d{1,7}) 0 R")
_PAGES: Final = re.compile(rb"\d+ 0 obj\s*<<\s*/Type /Pages\s*/Count (\d{1,7})\s")
_ENTRY: Final = 20  # bytes
_END: Final = 100  # bytes at the end of the file


def page_count(pdf: bytes) -> int | None:
    """Return the number of pages; None if the file is not a printed PDF."""
    start = _START.search(pdf, max(0, len(pdf) - _END))
    table = _TABLE.match(pdf, int(start[1])) if start else None
    if table is None:
        return None
    root = _ROOT.match(pdf, table.end() + _ENTRY * int(table[1]))
    catalog = _object(pdf, table, root, _CATALOG)
    pages = _object(pdf, table, catalog, _PAGES)
    return int(pages[1]) if pages else None


def _object(
    pdf: bytes, table: re.Match[bytes], named: re.Match[bytes] | None, shape: re.Pattern[bytes]
) -> re.Match[bytes] | None:
    """Return the object with the number that a match names, if it has the expected shape."""
    if named is None or int(named[1]) >= int(table[1]):
        return None
    entry = table.end() + _ENTRY * int(named[1])
    offset = pdf[entry : entry + 10]
    return shape.match(pdf, int(offset)) if offset.isdigit() else None
