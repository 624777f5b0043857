"""What a crawl is asked to do.

Each option is declared here, once. The body of `POST /api/crawls`, the stored crawl, the `options` of an
answer, the OpenAPI document, the flags of `gossamer crawl` and the table in `docs/api.md` all follow from it.
"""

from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gossamer.web.crawl.scope import Reach
from gossamer.web.sites.rule_set import RuleSet
from gossamer.web.sites.site_rule import MAX_RULES, SiteRule
from gossamer.web.url.sent_headers import SENDABLE_HEADERS, has_credentials
from gossamer.web.url.url import Url
from gossamer.web.webhooks.webhook import WebhookRequest

MAX_PAGES: Final = 100_000_000
MAX_DEPTH: Final = 100
MAX_URLS_PER_PAGE: Final = 1_000
MAX_DELAY: Final = 3_600.0  # seconds
MAX_SEEDS: Final = 1_000
MAX_REFRESH_BUDGET: Final = 1_000_000  # of a host, a day
MIN_REFRESH_SECONDS: Final = 300
MAX_REFRESH_SECONDS: Final = 366 * 86_400

Rendering = Literal["never", "auto", "always"]
TrapCare = Literal["auto", "off"]
Refreshing = Literal["auto", "off"]
Pattern = Annotated[str, Meta(min_length=1, max_length=500, extra={"metavar": "PATTERN"})]
ParameterName = Annotated[str, Meta(min_length=1, max_length=100, extra={"metavar": "NAME"})]


class CrawlOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a crawl goes, and how fast."""

    scope: Annotated[
        Reach,
        Meta(
            description="Which links to follow: to the seeds' `host`s, to their `domain`s with all "
            "subdomains, to pages below the seeds' folders (`prefix`), or to `any` page."
        ),
    ] = "host"
    include: Annotated[
        tuple[Pattern, ...],
        Meta(
            max_length=50,
            description="Follow only URLs that match one of these patterns. `*` matches anything. A pattern "
            "that begins with a slash is compared with path and query, any other with the whole URL.",
        ),
    ] = ()
    exclude: Annotated[
        tuple[Pattern, ...], Meta(max_length=50, description="Follow no URL that matches one of these.")
    ] = ()
    max_pages: Annotated[int, Meta(ge=1, le=MAX_PAGES, description="Store at most this many pages.")] = 1_000
    max_depth: Annotated[
        int, Meta(ge=0, le=MAX_DEPTH, description="Follow links at most this far from a seed.")
    ] = 10
    max_urls_per_page: Annotated[
        int, Meta(ge=0, le=MAX_URLS_PER_PAGE, description="Follow at most this many links of one page.")
    ] = MAX_URLS_PER_PAGE
    delay: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_DELAY)] | None,
        Meta(
            description="Seconds between two requests to one host; by default the setting `crawl_delay`. "
            "Over HTTP, only admins may ask for less. A longer crawl-delay in robots.txt always wins."
        ),
    ] = None
    render: Annotated[
        Rendering,
        Meta(
            description="Use a browser: `never`, `auto` (for pages that are empty without one) or `always`."
        ),
    ] = "never"
    screenshots: Annotated[
        bool,
        Meta(description="Keep a picture of each page. This needs a browser, so every page is rendered."),
    ] = False
    sitemaps: Annotated[
        bool, Meta(description="Also begin with the pages that the hosts' sitemaps list.")
    ] = True
    ignore_parameters: Annotated[
        tuple[ParameterName, ...],
        Meta(
            max_length=50,
            description="Treat URLs that differ only in these query parameters as one page. This is always "
            "done for parameters that track visitors, such as `utm_*`. A `*` at the end matches anything.",
        ),
    ] = ()
    ignore_trailing_slash: Annotated[bool, Meta(description="Treat `/a` and `/a/` as one page.")] = False
    traps: Annotated[
        TrapCare,
        Meta(
            description="`auto`: recognise session ids, endless calendars, combinations of filters and paths "
            "that run in circles, and do not follow them. `off`: follow everything."
        ),
    ] = "auto"
    trap_exceptions: Annotated[
        tuple[Pattern, ...],
        Meta(max_length=50, description="URLs that match one of these patterns are never taken for traps."),
    ] = ()

    refresh: Annotated[
        Refreshing,
        Meta(
            description="`auto`: when the crawl is done, visit its pages again, each as often as it changes, "
            "and keep the versions they had. `off`: visit every page once."
        ),
    ] = "off"
    refresh_budget: Annotated[
        int,
        Meta(ge=1, le=MAX_REFRESH_BUDGET, description="Visit at most this many pages of a host again a day."),
    ] = 1_000
    refresh_least: Annotated[
        int,
        Meta(
            ge=MIN_REFRESH_SECONDS,
            le=MAX_REFRESH_SECONDS,
            description="Seconds between two visits to a page, at least.",
        ),
    ] = 3_600
    refresh_most: Annotated[
        int,
        Meta(
            ge=MIN_REFRESH_SECONDS,
            le=MAX_REFRESH_SECONDS,
            description="Seconds between two visits to a page, at most, budget permitting.",
        ),
    ] = 30 * 86_400

    @property
    def keeps_fresh(self) -> bool:
        return self.refresh == "auto"

    @property
    def rendering(self) -> Rendering:
        """When a browser is used, all options considered."""
        return "always" if self.screenshots else self.render


class CrawlSpec(CrawlOptions, frozen=True, kw_only=True, dict=True):
    """What a crawl is asked to do: its options, where it begins, the headers it sends, and its rules."""

    seeds: Annotated[tuple[str, ...], Meta(description="Pages to begin with.")] = ()
    headers: Annotated[
        dict[str, Annotated[str, Meta(max_length=8000)]],
        Meta(
            max_length=20,
            description="Headers to send to the seeds' own hosts only; their values are never shown. "
            f"Allowed are {', '.join(sorted(SENDABLE_HEADERS))}.",
        ),
    ] = {}

    rules: Annotated[
        tuple[SiteRule, ...],
        Meta(
            max_length=MAX_RULES,
            description="How some pages are crawled and read. Those of your sites and of the server follow.",
        ),
    ] = ()

    @property
    def is_private(self) -> bool:
        """Whether the crawl sends credentials, so that its pages may be for its owner alone."""
        return has_credentials(self.headers) or any(rule.has_credentials for rule in self.rules)

    @property
    def may_render(self) -> bool:
        """Whether some page may be visited with a browser."""
        return self.rendering != "never" or any(rule.render not in (None, "never") for rule in self.rules)

    @cached_property
    def rule_set(self) -> RuleSet:
        return RuleSet.of(self.rules, (Url.parse(seed).origin for seed in self.seeds) if self.rules else ())

    def ignored_at(self, url: Url) -> tuple[str, ...]:
        """The query parameters that do not make another page of this URL."""
        if not self.rules:
            return self.ignore_parameters
        return (*self.ignore_parameters, *self.rule_set.ignored(url))

    def __repr__(self) -> str:
        """Header values may be secret, so only their names are shown."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__} | {
            "headers": list(self.headers)
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class NewCrawl(CrawlSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to begin, and how far to go."""

    seeds: Annotated[
        tuple[str, ...], Meta(min_length=1, max_length=MAX_SEEDS, description="Pages to begin with.")
    ]
    name: Annotated[str, Meta(max_length=200, description="A note for people.")] = ""
    webhook: Annotated[
        WebhookRequest | None, Meta(description="Whom to tell that it started, stores pages, and ended.")
    ] = None

    @property
    def spec(self) -> CrawlSpec:
        return msgspec.convert(self, CrawlSpec, from_attributes=True)
