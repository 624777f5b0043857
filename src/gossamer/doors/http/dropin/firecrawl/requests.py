"""What Firecrawl's clients send, in both versions. Unknown fields are accepted, as its own server does."""

from typing import Any

from msgspec import Struct, field


class VisitorLocation(Struct):
    """Where a visitor seems to be."""

    country: str | None = None
    languages: list[str] | None = None


class ScrapeOptions(Struct, kw_only=True, rename="camel"):
    """What is asked of a page. Clients for Python send many defaults that no user has asked for."""

    formats: list[str | dict[str, Any]] | None = None
    only_main_content: bool | None = None
    include_tags: list[str] | None = None
    exclude_tags: list[str] | None = None
    headers: dict[str, str] | None = None
    wait_for: float | None = None  # milliseconds, as all times here
    timeout: float | None = None
    mobile: bool | None = None
    fast_mode: bool | None = None
    block_ads: bool | None = None
    actions: list[dict[str, Any]] | None = None
    location: VisitorLocation | None = None
    max_age: float | None = None
    store_in_cache: bool | None = None
    proxy: str | None = None
    json_options: dict[str, Any] | None = None  # of v1
    extract: dict[str, Any] | None = None  # of v1


class ScrapeBody(ScrapeOptions, kw_only=True):
    """POST /scrape."""

    url: str


class BatchBody(ScrapeOptions, kw_only=True):
    """POST /batch/scrape."""

    urls: list[str]
    webhook: Any = None
    append_to_id: str | None = None
    ignore_invalid_urls: bool | None = field(name="ignoreInvalidURLs", default=None)
    max_concurrency: int | None = None


class CrawlBody(Struct, kw_only=True, rename="camel"):
    """POST /crawl."""

    url: str
    limit: int | None = None
    max_discovery_depth: int | None = None
    max_depth: int | None = None  # of v1
    include_paths: list[str] | None = None
    exclude_paths: list[str] | None = None
    regex_on_full_url: bool | None = field(name="regexOnFullURL", default=None)
    crawl_entire_domain: bool | None = None
    allow_backward_links: bool | None = None  # of v1
    allow_external_links: bool | None = None
    allow_subdomains: bool | None = None
    sitemap: str | None = None
    ignore_sitemap: bool | None = None  # of v1
    ignore_query_parameters: bool | None = None
    ignore_robots_txt: bool | None = None
    delay: float | None = None  # seconds
    max_concurrency: int | None = None
    prompt: str | None = None
    webhook: Any = None
    scrape_options: ScrapeOptions | None = None


class MapBody(Struct, kw_only=True, rename="camel"):
    """POST /map."""

    url: str
    search: str | None = None
    sitemap: str | None = None
    ignore_sitemap: bool | None = None  # of v1
    sitemap_only: bool | None = None  # of v1
    include_subdomains: bool | None = None
    ignore_query_parameters: bool | None = None
    limit: int | None = None
    timeout: float | None = None


class SearchBody(Struct, kw_only=True, rename="camel"):
    """POST /search."""

    query: str
    limit: int | None = None
    lang: str | None = None  # of v1
    tbs: str | None = None
    sources: list[str | dict[str, Any]] | None = None
    include_domains: list[str] | None = None
    exclude_domains: list[str] | None = None
    scrape_options: ScrapeOptions | None = None


class ExtractBody(Struct, kw_only=True, rename="camel"):
    """POST /extract."""

    urls: list[str] | None = None
    prompt: str | None = None
    schema: dict[str, Any] | None = None
    system_prompt: str | None = None
    show_sources: bool | None = None
    enable_web_search: bool | None = None
    scrape_options: ScrapeOptions | None = None


class DocumentsQuery(Struct):
    """Where a page of documents begins."""

    cursor: str | None = None
