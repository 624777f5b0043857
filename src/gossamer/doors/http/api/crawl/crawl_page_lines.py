"""A stored page as an object, a line of JSON, or a row of a table."""

import csv
import io
from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_ID
from gossamer.doors.http.core import timestamps
from gossamer.flows.crawl.reading.results import PageWithContent
from gossamer.state.crawl.crawled_pages import Position, StoredPage

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula


class ShownPage(msgspec.Struct, rename="camel"):
    """A page that a crawl has stored."""

    page_id: Annotated[str, Meta(description="SHA-256 of the URL in its canonical form.")]
    crawl_id: str
    url: str
    final_url: Annotated[str, Meta(description="Where it redirects to, else the same.")]
    host: Annotated[str, Meta(description="With its port.")]
    status_code: Annotated[int | None, Meta(description="`null` if there was no answer.")]
    outcome: Annotated[str, Meta(description="`ok`, or what it is instead of the page.")]
    error: Annotated[str | None, Meta(description="Why there was no answer.")]
    content_type: str | None
    content_length: Annotated[int, Meta(description="Bytes of the body.")]
    content_hash: Annotated[str | None, Meta(description="SHA-256 of its text.")]
    duplicate_of: Annotated[str | None, Meta(description="The page with the same text, or nearly the same.")]
    title: str | None
    description: str | None
    language: str | None
    canonical: Annotated[str | None, Meta(description="The address that the page declares for itself.")]
    directives: Annotated[list[str], Meta(description="What the page asks of robots, such as `noindex`.")]
    links_count: Annotated[int, Meta(description="Different URLs that it links to.")]
    depth: Annotated[int, Meta(description="Links away from a seed.")]
    via: Annotated[str, Meta(description="`fetch`, or `render` by a browser.")]
    crawled_at: Annotated[str, Meta(description="When it was stored.")]
    duration_ms: Annotated[int, Meta(description="How long the answer took.")]
    content_url: Annotated[str | None, Meta(description="Where its content is; `null` if no body is kept.")]
    screenshot_url: Annotated[
        str | None, Meta(description="Where a picture of it is; `null` if none is kept.")
    ]
    content: Annotated[str | UnsetType, Meta(description="Its content, if `content` asks for it.")] = UNSET
    content_error: Annotated[
        str | UnsetType,
        Meta(
            description="Why `content` is missing: `unreadable_content`, `not_kept`, `damaged_content`, "
            "`answer_too_large`, …"
        ),
    ] = UNSET
    cursor: Annotated[
        str | UnsetType, Meta(description="In a stream of lines: the `cursor` to go on from.")
    ] = UNSET


_NO_COLUMNS: Final = ("content", "contentError", "contentUrl", "screenshotUrl", "cursor")
_COLUMNS: Final = [name for name in ShownPage.__struct_encode_fields__ if name not in _NO_COLUMNS]


_SAME: Final = [name for name in ShownPage.__struct_fields__ if name in StoredPage.__struct_fields__]


def to_api(stored: PageWithContent) -> ShownPage:
    page = stored.page
    here = f"/api/crawls/{page.crawl_id}/pages/{page.url_hash}"
    known: dict[str, Any] = {name: _or_none(getattr(page, name)) for name in _SAME}
    known |= {
        "page_id": page.url_hash,
        "directives": page.directives.split(",") if page.directives else [],
        "crawled_at": timestamps.from_ms(page.crawled_at),
        "content_url": f"{here}/content" if page.blob else None,
        "screenshot_url": f"{here}/screenshot" if page.screenshot else None,
        "content": UNSET if stored.content is None else stored.content,
        "content_error": stored.unread or UNSET,
    }
    return ShownPage(**known)


def _or_none(value: Any) -> Any:
    return None if value == "" else value


def json_line(stored: PageWithContent) -> bytes:
    page = to_api(stored)
    page.cursor = cursor_of(stored.position)
    return msgspec.json.encode(page) + b"\n"


def csv_head() -> str:
    return _to_csv([_COLUMNS])


def csv_lines(found: Iterable[PageWithContent]) -> str:
    rows = (msgspec.to_builtins(to_api(stored)) for stored in found)
    return _to_csv([_harmless(row[name]) for name in _COLUMNS] for row in rows)


def _to_csv(rows: Iterable[Iterable[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()


def _harmless(value: Any) -> Any:
    """Titles come from other people: none may run as a formula in a spreadsheet."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def cursor_of(position: Position) -> str:
    return "-".join(map(str, position))


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
    screenshot_url=None,
)
EXAMPLE_LINE: Final = msgspec.json.encode(EXAMPLE_PAGE).decode() + "\n"
