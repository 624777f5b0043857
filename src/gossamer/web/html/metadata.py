"""Metadata: what a page says about itself."""

from typing import Any

from msgspec import Struct, field


class Metadata(Struct, frozen=True):
    title: str = ""
    description: str | None = None
    author: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    language: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    image: str | None = None
    favicon: str | None = None
    keywords: tuple[str, ...] = ()
    robots: str | None = None
    feeds: tuple[str, ...] = ()
    open_graph: dict[str, str] = field(default_factory=dict)
    twitter: dict[str, str] = field(default_factory=dict)
    json_ld: list[dict[str, Any]] = field(default_factory=list)
