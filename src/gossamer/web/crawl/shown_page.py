"""ShownPage: a page that a crawl has stored, as answers show it."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.web.pages.read_result import PageLink, PageMetadata


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
    content_hash: Annotated[str | None, Meta(description="SHA-256 of its text without white space.")]
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
    markdown: Annotated[
        str | UnsetType, Meta(description="If `formats` asks for it, as all that follow.")
    ] = UNSET
    text: str | UnsetType = UNSET
    html: str | UnsetType = UNSET
    raw_html: str | UnsetType = UNSET
    links: list[PageLink] | UnsetType = UNSET
    images: list[str] | UnsetType = UNSET
    metadata: PageMetadata | UnsetType = UNSET
    cursor: Annotated[
        str | UnsetType, Meta(description="In a stream of lines: the `cursor` to go on from.")
    ] = UNSET
