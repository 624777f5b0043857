"""The configuration of a crawl, as Crawl4AI's clients write it, and what it asks of our API.

An object is `{"type": "CrawlerRunConfig", "params": {…}}` with the values that differ from its defaults, and
a mapping within it is `{"type": "dict", "value": {…}}`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from gossamer.problems import Problem, validation_error
from gossamer.web.url.sent_headers import SENDABLE_HEADERS

T = TypeVar("T")
MAX_URLS: Final = 100
MAX_SECONDS: Final = 60.0  # that our API gives a page
MIN_SECONDS: Final = 5.0  # that a browser needs
_COOKIE_FIELDS: Final = ("name", "value", "domain", "path", "secure")
_NO_EXTRACTION: Final = ("", "NoExtractionStrategy")


class Crawl4aiRequest(Struct, kw_only=True):
    """The body of `/crawl` and its like."""

    urls: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_URLS)]
    browser_config: dict[str, Any] = field(default_factory=dict)
    crawler_config: dict[str, Any] = field(default_factory=dict)
    hooks: dict[str, Any] | None = None


class ConfigObject(Struct):
    """A part of a configuration, with its class."""

    type: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any) -> Self:
        if not isinstance(value, dict):
            return cls()
        return cls(str(value.get("type", "")), _plain(value.get("params", {})) or {})


class BrowserPart(Struct):
    """What of a `BrowserConfig` our API knows."""

    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[dict[str, Any]] = field(default_factory=list)


class CrawlerPart(Struct):
    """What of a `CrawlerRunConfig` our API knows."""

    css_selector: str | None = None
    target_elements: list[str] | None = None
    excluded_tags: list[str] | None = None
    excluded_selector: str | None = None
    exclude_external_links: bool = False
    wait_for: str | None = None
    js_code: str | list[str] | None = None
    delay_before_return_html: Annotated[float, Meta(ge=0, le=600)] = 0.0
    page_timeout: Annotated[float, Meta(ge=0, le=10_000_000)] | None = None  # milliseconds
    cache_mode: Any = None
    locale: str | None = None
    timezone_id: str | None = None
    screenshot: bool = False
    pdf: bool = False
    markdown_generator: Any = None
    extraction_strategy: Any = None
    deep_crawl_strategy: Any = None


class CrawlConfig(Struct, frozen=True):
    """What is asked of each page of a request."""

    browser: BrowserPart
    crawler: CrawlerPart

    @classmethod
    def of(cls, body: Crawl4aiRequest) -> Self:
        """Raises `Problem` for what cannot be done, before anything is done."""
        if body.hooks and body.hooks.get("code"):
            raise validation_error(
                "Hooks are not supported: this server runs no code of its callers.",
                hint="Use `js_code`, which runs in the page.",
            )
        config = cls(
            _convert(body.browser_config, BrowserPart, "browser_config"),
            _convert(body.crawler_config, CrawlerPart, "crawler_config"),
        )
        config._check()
        return config

    @property
    def extraction(self) -> ConfigObject | None:
        given = ConfigObject.of(self.crawler.extraction_strategy)
        return None if given.type in _NO_EXTRACTION else given

    @property
    def is_filtered(self) -> bool:
        """Whether only the main content is wanted."""
        return bool(ConfigObject.of(self.crawler.markdown_generator).params.get("content_filter"))

    @property
    def render(self) -> str:
        crawler = self.crawler
        asked = crawler.wait_for or crawler.js_code or crawler.delay_before_return_html or crawler.timezone_id
        return "always" if asked else "auto"

    def page_request(self) -> dict[str, Any]:
        """What `/fetch` is asked, but for the URL."""
        crawler = self.crawler
        include = [
            *([crawler.css_selector] if crawler.css_selector else ()),
            *(crawler.target_elements or ()),
        ]
        excluded = [crawler.excluded_selector] if crawler.excluded_selector else []
        return {
            "formats": ["markdown", "html", "rawHtml", "links", "metadata"],
            "mainContent": self.is_filtered,
            "include": include,
            "exclude": [*(crawler.excluded_tags or ()), *excluded],
            "render": self.render,
            **self.visit(),
            **({"actions": steps} if (steps := self._steps()) else {}),
        }

    def visit(self, *, most: float = MAX_SECONDS) -> dict[str, Any]:
        """How a page is visited, to be read or to be captured."""
        crawler = self.crawler
        asked: dict[str, Any] = {
            "cache": _name_of(crawler.cache_mode) in ("enabled", "read_only", "write_only"),
            "headers": self._headers(),
        }
        if self.browser.cookies:
            asked["cookies"] = [
                {name: cookie[name] for name in _COOKIE_FIELDS if name in cookie}
                for cookie in self.browser.cookies
            ]
        if crawler.page_timeout:
            asked["timeout"] = round(min(max(crawler.page_timeout, MIN_SECONDS * 1000), most * 1000))
        if crawler.wait_for:
            asked["waitForSelector"] = crawler.wait_for.removeprefix("css:").strip()
        optional = {"locale": crawler.locale, "timezone": crawler.timezone_id}
        return asked | {name: value for name, value in optional.items() if value}

    def _headers(self) -> dict[str, str]:
        """The default configuration sends headers of a browser that Gossamer is not."""
        return {
            name: value for name, value in self.browser.headers.items() if name.lower() in SENDABLE_HEADERS
        }

    def _steps(self) -> list[dict[str, Any]]:
        given = self.crawler.js_code or []
        scripts = [given] if isinstance(given, str) else given
        steps: list[dict[str, Any]] = [{"type": "evaluate", "script": script} for script in scripts]
        if self.crawler.delay_before_return_html > 0:
            milliseconds = min(30_000, max(1, round(1000 * self.crawler.delay_before_return_html)))
            steps.append({"type": "wait", "milliseconds": milliseconds, "timeout": milliseconds})
        return steps

    def _check(self) -> None:
        if self.crawler.deep_crawl_strategy is not None:
            raise _unsupported("deep_crawl_strategy", "Crawl sites with POST /api/crawls.")
        if (self.crawler.wait_for or "").startswith("js:"):
            raise _unsupported("wait_for with js:", "Wait for an element: css:.loaded.")


def _unsupported(name: str, hint: str) -> Problem:
    return validation_error(f"`{name}` is not supported.", hint=hint)


def _convert(config: Mapping[str, Any], shape: type[T], name: str) -> T:
    plain = _plain(config.get("params", config))
    try:
        return msgspec.convert(plain, shape, strict=False)
    except msgspec.ValidationError as error:
        raise validation_error(f"{error} in `{name}`.", hint="See the options in the docs.") from None


def _plain(value: Any) -> Any:
    """Mappings and lists without the marks of their type."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "dict" and isinstance(value.get("value"), dict):
        return {name: _plain(item) for name, item in value["value"].items()}
    return {name: _plain(item) for name, item in value.items()}


def _name_of(mode: Any) -> str:
    """A value of an enumeration comes as `{"type": "CacheMode", "params": "enabled"}`."""
    return str(mode.get("params", "") if isinstance(mode, dict) else mode or "").lower()
