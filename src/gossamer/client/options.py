"""The options of each call, as keyword arguments with types.

The server declares and checks the same options, under the names that JSON uses: `max_tokens` is `maxTokens`.
A test compares both.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from gossamer.web.crawl.scope import Reach
from gossamer.web.crawl.spec import Refreshing
from gossamer.web.memory.memory_entry import MemoryFormat
from gossamer.web.pages.capture_answer import Paper, PictureFormat
from gossamer.web.pages.map_request import SitemapUse
from gossamer.web.pages.page_request import Format, Rendering
from gossamer.web.render.actions import BrowserAction
from gossamer.web.render.cookies import PageCookie
from gossamer.web.render.request import Bot
from gossamer.web.render.visitor import BlockedKind, Device
from gossamer.web.search.question import Recency


class CacheKeywords(TypedDict, total=False):
    cache: bool | None  # answer from the cache if possible, and keep the answer there
    cache_ttl: int  # seconds
    max_age: int | None  # seconds


class VisitKeywords(CacheKeywords, total=False):
    actions: Sequence[BrowserAction | Mapping[str, Any]]  # steps in the browser
    cookies: Sequence[PageCookie | Mapping[str, Any]]
    return_cookies: bool
    device: Device
    locale: str
    timezone: str
    block: Sequence[BlockedKind]


class PageKeywords(VisitKeywords, total=False):
    formats: Sequence[Format]
    main_content: bool
    include: Sequence[str]  # CSS selectors
    exclude: Sequence[str]
    max_tokens: int
    query: str  # which parts of the page the format llm keeps first
    headers: Mapping[str, str]
    timeout: int  # milliseconds
    render: Rendering
    wait_for_selector: str
    return_visit: bool  # what the browser's visit took


class FetchKeywords(PageKeywords, total=False):
    summary: bool  # by the server's language model, of the format llm


class ExtractKeywords(VisitKeywords, total=False):
    schema: Mapping[str, Any] | None  # JSON Schema
    fields: Sequence[str] | Mapping[str, str] | None
    instructions: str  # for a language model
    model: bool
    render: Rendering
    timeout: int  # milliseconds
    headers: Mapping[str, str]


class SearchKeywords(CacheKeywords, total=False):
    limit: int
    site: str | None
    recency: Recency | None
    language: str | None


class MapKeywords(CacheKeywords, total=False):
    search: str | None  # only links with one of these words
    limit: int
    sitemap: SitemapUse
    include_subdomains: bool
    ignore_query: bool
    timeout: int  # milliseconds


class CaptureKeywords(VisitKeywords, total=False):
    wait_for_selector: str
    timeout: int  # milliseconds
    headers: Mapping[str, str]


class ViewportSize(TypedDict, total=False):
    width: int
    height: int


class ScreenshotKeywords(CaptureKeywords, total=False):
    viewport: ViewportSize
    selector: str
    full_page: bool
    max_height: int
    format: PictureFormat
    quality: int
    device_scale_factor: float
    dark_mode: bool


class MarginSizes(TypedDict, total=False):
    top: str
    right: str
    bottom: str
    left: str


class PdfKeywords(CaptureKeywords, total=False):
    format: Paper
    landscape: bool
    print_background: bool
    scale: float
    margins: MarginSizes
    page_ranges: str


class RenderKeywords(TypedDict, total=False):
    wait_for_selector: str | None
    timeout: int  # milliseconds
    max_age: int | None  # seconds
    stale_while_revalidate: int
    stale_if_error: int
    bot: Bot
    device: Device
    keep_scripts: bool
    site_freshness: bool


class WebhookKeywords(TypedDict, total=False):
    url: Required[str]
    events: Sequence[Literal["started", "page", "completed", "failed", "canceled"]]
    headers: Mapping[str, str]
    metadata: Mapping[str, str]
    shape: str


class NewWebhookKeywords(TypedDict, total=False):
    events: Sequence[str]
    description: str
    headers: Mapping[str, str]


class WebhookChangeKeywords(NewWebhookKeywords, total=False):
    url: str
    enabled: bool


class BatchKeywords(PageKeywords, total=False):
    tier: Literal["basic", "pro", "auto"]
    webhook: WebhookKeywords | None  # whom to tell of its results


class CrawlKeywords(TypedDict, total=False):
    name: str
    scope: Reach
    include: Sequence[str]
    exclude: Sequence[str]
    max_pages: int
    max_depth: int
    max_urls_per_page: int
    delay: float | None  # seconds
    render: Rendering
    screenshots: bool
    sitemaps: bool
    ignore_parameters: Sequence[str]
    ignore_trailing_slash: bool
    traps: Literal["auto", "off"]
    trap_exceptions: Sequence[str]
    refresh: Refreshing
    refresh_budget: int
    refresh_least: int  # seconds
    refresh_most: int
    headers: Mapping[str, str]
    rules: Sequence[Mapping[str, Any]]  # of some hosts and paths, as of a site
    webhook: WebhookKeywords | None  # whom to tell of its pages


class RefreshKeywords(TypedDict, total=False):
    refresh: Refreshing
    refresh_budget: int
    refresh_least: int  # seconds
    refresh_most: int


class AuditKeywords(TypedDict, total=False):
    max_links: int
    max_pages: int
    timeout: int  # milliseconds
    crawl_id: str  # whose stored pages are audited


class ScheduleKeywords(TypedDict, total=False):
    task: Mapping[str, Any]  # with its kind, and as its own endpoint takes it
    timing: Mapping[str, Any]  # cron or every, timezone, jitter, catchUp
    name: str


class ValueKeywords(TypedDict, total=False):
    format: MemoryFormat
    title: str
    tags: Sequence[str]
    ttl: int | None  # seconds
    if_version: int | None  # 0: only if there is no such entry


class RememberedPageKeywords(TypedDict, total=False):
    max_age: int  # seconds: take a page that is stored here
    render: Rendering
    title: str
    tags: Sequence[str]
    ttl: int | None  # seconds
    if_version: int | None


class TrialKeywords(TypedDict, total=False):
    rules: Sequence[Mapping[str, Any]]
    noise: Mapping[str, Any]
    look: Mapping[str, Any]
    seconds_apart: int


class MonitorKeywords(TypedDict, total=False):
    name: str
    timing: Mapping[str, Any]  # cron or every, timezone, jitter, catchUp
    rules: Sequence[Mapping[str, Any]]  # each with its kind
    noise: Mapping[str, Any]
    look: Mapping[str, Any]
    confirm_after: int  # seconds
    fail_after: int  # checks
    paused: bool


class MonitorChangeKeywords(MonitorKeywords, total=False):
    watch: Mapping[str, Any]
    muted: bool


class SiteKeywords(TypedDict, total=False):
    name: str
    settings: Mapping[str, Any]  # as the API takes them


class RecacheKeywords(TypedDict, total=False):
    urls: Sequence[str]
    prefix: str
    sitemap: str


class RuleTrialKeywords(TypedDict, total=False):
    html: str | None
    crawl_id: str | None  # whose page is taken
    rules: Sequence[Mapping[str, Any]] | None  # by default, those of the site


def body_of(call: str, keywords: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of these options. An option that does not exist is an error before anything is sent."""
    known = keywords.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
    return {_camel(name): value for name, value in options.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
