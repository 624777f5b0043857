"""ShownVersion: a version of a page, as answers show it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

VersionFormat = Literal["markdown", "text", "html", "raw"]


class ShownVersion(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a page was at a time."""

    number: Annotated[int, Meta(description="Counts from 1; the newest is what the page is now.")]
    change: Annotated[str, Meta(description="`new`, `changed`, `moved` or `gone`.")]
    stored_at: str
    status_code: int | None
    title: str
    content_length: Annotated[int, Meta(description="Bytes of the body.")]
    has_content: Annotated[bool, Meta(description="Whether its content is still stored.")]


class PageVersionList(Struct, frozen=True):
    """The versions of a page, newest first."""

    versions: list[ShownVersion]
