# ruff: noqa: S608 - what is put into these statements are other parts of them
"""A page that was crawled, as it is written down; `crawled_pages` reads it."""

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

from gossamer.state.given import given, storable

_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledPage:
    """What came of a URL, whether there was an answer or not."""

    final_url: str
    status_code: int | None = None
    content_type: str = ""
    content_length: int = 0
    content_hash: str = ""
    simhash: int | None = None  # 64 bits; kept as a number with a sign
    duplicate_of: str | None = None  # the hash of the URL of another page of the crawl
    title: str = ""
    description: str = ""
    language: str = ""
    canonical: str = ""
    directives: str = ""
    links_count: int = 0
    via: str = "fetch"
    duration_ms: int = 0
    error: str = ""
    outcome: str = ""
    blob: str | None = None
    blob_offset: int = 0
    blob_size: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "simhash", signed(self.simhash))

    def as_row(self) -> tuple[Any, ...]:
        """Only what both databases can hold."""
        return tuple([storable(value) if type(value) is str else value for value in _values(self)])


_OWN: Final = tuple(each.name for each in fields(CrawledPage))
_values: Final = attrgetter(*_OWN)
_KINDS: Final = {
    **dict.fromkeys(_OWN, "text"),
    "status_code": "smallint",
    "links_count": "int",
    "duration_ms": "int",
    **dict.fromkeys(("content_length", "simhash", "blob_offset", "blob_size"), "bigint"),
}

# With what the frontier knows of the URL.
INSERT: Final = given(
    f"""
INSERT INTO crawled_pages (crawl_id, url_hash, url, host, depth, crawled_at, {", ".join(_OWN)})
SELECT crawl_id, url_hash, url, host, depth, {{now}}, {", ".join(_OWN)} FROM {{given}} WHERE true""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "url": "text",
        "host": "text",
        "depth": "smallint",
        **_KINDS,
    },
)


def unsigned(number: int) -> int:
    """The bits of a database's number."""
    return number % (2 * _SIGN)


def signed(bits: int | None) -> int | None:
    """As a database's number of 64 bits."""
    return bits - 2 * _SIGN if bits is not None and bits >= _SIGN else bits
