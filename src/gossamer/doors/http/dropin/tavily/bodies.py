"""What clients of Tavily send. Keys that are not here change nothing."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

MAX_RESULTS = 20
MAX_URLS = 20

TextFormat = Literal["markdown", "text"]
Seconds = Annotated[float, Meta(gt=0)]


class TavilySearch(Struct, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=400)]
    max_results: Annotated[int, Meta(ge=0, le=MAX_RESULTS)] = 5
    time_range: Literal["day", "week", "month", "year", "d", "w", "m", "y"] | None = None
    days: Annotated[int, Meta(ge=1)] | None = None
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    include_answer: Any = None
    include_raw_content: bool | TextFormat | None = None
    include_images: bool | None = None
    include_favicon: bool | None = None
    language: str | None = None


class TavilyExtract(Struct, kw_only=True):
    urls: str | tuple[str, ...]
    extract_depth: Literal["basic", "advanced"] = "basic"
    format: TextFormat = "markdown"
    timeout: Seconds = 30.0
    include_images: bool | None = None
    include_favicon: bool | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        return (self.urls,) if isinstance(self.urls, str) else tuple(dict.fromkeys(self.urls))


class TavilyMap(Struct, kw_only=True):
    url: str
    max_depth: Annotated[int, Meta(ge=1, le=100)] = 1
    max_breadth: Annotated[int, Meta(ge=1)] = 20
    limit: Annotated[int, Meta(ge=1, le=50_000)] = 50
    select_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    allow_external: bool | None = None
    timeout: Seconds = 150.0


class TavilyCrawl(TavilyMap, kw_only=True):
    extract_depth: Literal["basic", "advanced"] = "basic"
    format: TextFormat = "markdown"
    include_images: bool | None = None
