"""A stored page as an object or a line of JSON."""

from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec
from msgspec import UNSET

from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_ID
from gossamer.doors.http.core import timestamps
from gossamer.flows.crawl.reading.results import PageWithContent
from gossamer.state.crawl.crawled_pages import Position, StoredPage
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.pages.read_result import PageLink, PageMetadata
from gossamer.web.pages.reading import Reading

_SAME: Final = [name for name in ShownPage.__struct_fields__ if name in StoredPage.__struct_fields__]


def to_api(stored: PageWithContent, formats: Collection[str] = ()) -> ShownPage:
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
    if stored.reading is not None:
        known |= _read_formats(stored.reading, formats)
    return ShownPage(**known)


def _read_formats(reading: Reading, formats: Collection[str]) -> dict[str, Any]:
    ways: dict[str, Callable[[], Any]] = {
        "markdown": lambda: reading.markdown,
        "text": lambda: reading.text,
        "html": lambda: reading.html,
        "raw_html": lambda: reading.raw_html or "",
        "links": lambda: [PageLink.of(link) for link in reading.links],
        "images": lambda: list(reading.images),
        "metadata": lambda: PageMetadata.of(reading.metadata),
    }
    return {
        name: make() for name, make in ways.items() if ("rawHtml" if name == "raw_html" else name) in formats
    }


def _or_none(value: Any) -> Any:
    return None if value == "" else value


def to_line(stored: PageWithContent, formats: Collection[str] = ()) -> ShownPage:
    """As one of many in a stream, which can go on from each."""
    page = to_api(stored, formats)
    page.cursor = cursor_of(stored.position)
    return page


def json_line(page: ShownPage) -> bytes:
    return msgspec.json.encode(page) + b"\n"


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
