"""The addresses of a site's audit: chosen, sorted, and written as CSV."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from gossamer.web.audit.report import PageLine

COLUMNS: Final = ("url", "status", "problem", "finalUrl", "title", "clicks", "words", "score", "findings")
LAST: Final = 1_000_000  # sorts what is not known behind everything else
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


class AddressQuery(msgspec.Struct):
    """Which addresses to show, and in which order."""

    text: str = ""  # in the address or the title
    finding: str = ""  # the id of a finding
    status: str = ""  # "2", "3", "4", "5", or "none" for addresses without an answer
    sort: str = "urgent"
    cursor: str = ""  # the position of the first one


def _or_last(value: int | None) -> int:
    return LAST if value is None else value


_ORDERS: Final[Mapping[str, Callable[[PageLine], Any]]] = {
    "urgent": lambda line: (_or_last(line.score), -len(line.findings), line.url),
    "findings": lambda line: (-len(line.findings), line.url),
    "url": lambda line: line.url,
    "status": lambda line: (_or_last(line.status), line.url),
    "clicks": lambda line: (_or_last(line.clicks), line.url),
    "words": lambda line: (_or_last(line.words), line.url),
}
ORDER_NAMES: Final = {
    "urgent": "Lowest score first",
    "findings": "Most findings first",
    "url": "Address",
    "status": "Status",
    "clicks": "Clicks from the start",
    "words": "Fewest words first",
}
STATUS_NAMES: Final = {
    "": "All",
    "2": "2xx, found",
    "3": "3xx, redirected",
    "4": "4xx, not found",
    "5": "5xx, failed",
    "none": "No answer",
}


def choose(lines: Sequence[PageLine], query: AddressQuery) -> list[PageLine]:
    """Those that match, in the order that was asked for; in the order of urgency by default."""
    found = [line for line in lines if _matches(line, query)]
    return sorted(found, key=_ORDERS.get(query.sort, _ORDERS["urgent"]))


def _matches(line: PageLine, query: AddressQuery) -> bool:
    text = query.text.lower()
    if text and text not in line.url.lower() and text not in line.title.lower():
        return False
    if query.finding and query.finding not in line.findings:
        return False
    if query.status == "none":
        return line.status is None
    return not query.status or str(line.status or "").startswith(query.status)


def to_csv(lines: Sequence[PageLine]) -> str:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(COLUMNS)
    for line in lines:
        cells = msgspec.to_builtins(line)
        cells["findings"] = " ".join(line.findings)
        writer.writerow([_cell(cells[name]) for name in COLUMNS])
    return table.getvalue()


def _cell(value: object) -> str:
    """Spreadsheets run what looks like a formula, and titles are written by strangers."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
