"""A page that a crawl has stored, as it is shown: as an object, a line of JSON, or a row of a table."""

import csv
import io
from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http import moments
from gossamer.doors.http.crawl_shapes import EXAMPLE_ID
from gossamer.flows.crawl.results import Stored
from gossamer.state.crawled_pages import Position

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet reckon


class ShownPage(msgspec.Struct, rename="camel"):
    """A page that a crawl has stored."""

    page_id: Annotated[str, Meta(description="SHA-256 of the URL in its canonical form.")]
    crawl_id: str
    url: str
    final_url: Annotated[str, Meta(description="Where it redirects to, else the same.")]
    host: Annotated[str, Meta(description="With its port.")]
    status_code: Annotated[int | None, Meta(description="`null`: there was no answer.")]
    outcome: Annotated[str, Meta(description="`ok`, or what it is instead of the page.")]
    error: Annotated[str | None, Meta(description="Why there was no answer.")]
    content_type: str | None
    content_length: Annotated[int, Meta(description="Bytes of the body.")]
    content_hash: Annotated[str | None, Meta(description="SHA-256 of its text.")]
    duplicate_of: Annotated[str | None, Meta(description="The page whose text is the same, or nearly.")]
    title: str | None
    description: str | None
    language: str | None
    canonical: Annotated[str | None, Meta(description="The address that the page gives for itself.")]
    directives: Annotated[list[str], Meta(description="What the page asks of robots, as `noindex`.")]
    links_count: Annotated[int, Meta(description="Different URLs that it links to.")]
    depth: Annotated[int, Meta(description="Links away from a seed.")]
    via: Annotated[str, Meta(description="`fetch`, or `render` by a browser.")]
    crawled_at: Annotated[str, Meta(description="When it was stored.")]
    duration_ms: Annotated[int, Meta(description="How long the answer took.")]
    content_url: Annotated[str | None, Meta(description="What it says; `null` when no body is kept.")]
    content: Annotated[str | UnsetType, Meta(description="What it says, where `content` asks for it.")] = (
        UNSET
    )
    content_error: Annotated[
        str | UnsetType,
        Meta(description="Why `content` is missing: `unreadable_content`, `not_kept`, `answer_too_large`, …"),
    ] = UNSET
    cursor: Annotated[str | UnsetType, Meta(description="In a stream of lines: what comes after it.")] = UNSET


_NO_COLUMNS: Final = ("content", "contentError", "contentUrl", "cursor")
_COLUMNS: Final = [name for name in ShownPage.__struct_encode_fields__ if name not in _NO_COLUMNS]


def shown_page(stored: Stored) -> ShownPage:
    page = stored.page
    return ShownPage(
        page_id=page.url_hash,
        crawl_id=page.crawl_id,
        url=page.url,
        final_url=page.final_url,
        host=page.host,
        status_code=page.status_code,
        outcome=page.outcome,
        error=page.error or None,
        content_type=page.content_type or None,
        content_length=page.content_length,
        content_hash=page.content_hash or None,
        duplicate_of=page.duplicate_of or None,
        title=page.title or None,
        description=page.description or None,
        language=page.language or None,
        canonical=page.canonical or None,
        directives=page.directives.split(",") if page.directives else [],
        links_count=page.links_count,
        depth=page.depth,
        via=page.via,
        crawled_at=moments.stored(page.crawled_at),
        duration_ms=page.duration_ms,
        content_url=f"/api/crawls/{page.crawl_id}/pages/{page.url_hash}/content" if page.blob else None,
        content=UNSET if stored.content is None else stored.content,
        content_error=stored.unread or UNSET,
    )


def json_line(stored: Stored) -> bytes:
    page = shown_page(stored)
    page.cursor = cursor_of(stored.position)
    return msgspec.json.encode(page) + b"\n"


def csv_head() -> str:
    return _written([_COLUMNS])


def csv_lines(found: Iterable[Stored]) -> str:
    rows = (msgspec.to_builtins(shown_page(stored)) for stored in found)
    return _written([_harmless(row[name]) for name in _COLUMNS] for row in rows)


def _written(rows: Iterable[Iterable[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()


def _harmless(value: Any) -> Any:
    """Titles are others' words: none of them is to be a formula in a spreadsheet."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def cursor_of(position: Position) -> str:
    return f"{position.crawled_at}-{position.url_hash}"


_EXAMPLE_ID: Final = "100680ad546ce6a577f42f52df33b4cfdca756859e664b8d7de329b150d09ce9"
EXAMPLE_PAGE: Final = ShownPage(
    page_id=_EXAMPLE_ID,
    crawl_id=EXAMPLE_ID,
    url="https://example.com/",
    final_url="https://example.com/",
    host="example.com:443",
    status_code=200,
    outcome="ok",
    error=None,
    content_type="text/html",
    content_length=1256,
    content_hash="dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f",
    duplicate_of=None,
    title="Example Domain",
    description=None,
    language="en",
    canonical=None,
    directives=[],
    links_count=1,
    depth=0,
    via="fetch",
    crawled_at="2026-01-01T12:00:00.000Z",
    duration_ms=84,
    content_url=f"/api/crawls/{EXAMPLE_ID}/pages/{_EXAMPLE_ID}/content",
)
EXAMPLE_LINE: Final = msgspec.json.encode(EXAMPLE_PAGE).decode() + "\n"
