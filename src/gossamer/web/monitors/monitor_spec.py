"""MonitorSpec: what is watched, and what counts as a change of it."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from gossamer.problems import validation_error
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE, NoiseOptions
from gossamer.web.monitors.rules.change_rule import (
    AppearanceRule,
    ChangeRules,
    FieldsRule,
    NumberRule,
    SelectorRule,
    StatusRule,
    TextRule,
    check_rules,
)
from gossamer.web.pages.page_request import (
    MAX_TIMEOUT,
    PageOptions,
    PageRequest,
    PageUrl,
    Rendering,
    Selector,
    Selectors,
    SentHeaders,
)
from gossamer.web.render.visitor import Device
from gossamer.web.search.question import Question, Recency
from gossamer.web.url.url import Url

MAX_URLS: Final = 100
MAX_CRAWL_PAGES: Final = 1_000
MAX_RESULTS: Final = 50
MAX_CONFIRM_SECONDS: Final = 300
MAX_QUERY_CHARS: Final = 500


class _Monitored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", tag_field="kind"):
    """What all that can be watched has in common."""


class MonitoredPage(_Monitored, frozen=True, tag="page"):
    """One page."""

    url: PageUrl

    @property
    def urls(self) -> tuple[str, ...]:
        return (self.url,)


class MonitoredList(_Monitored, frozen=True, tag="list"):
    """Some pages, each compared with itself."""

    urls: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_URLS)]


class MonitoredCrawl(_Monitored, frozen=True, tag="crawl"):
    """The pages that a crawl has stored: which of them appear, disappear and change."""

    crawl_id: Annotated[str, Meta(min_length=26, max_length=26)]
    max_pages: Annotated[int, Meta(ge=1, le=MAX_CRAWL_PAGES)] = 200


class MonitoredSearch(_Monitored, frozen=True, tag="search"):
    """The results of a search: which of them appear and disappear."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    site: Annotated[Annotated[str, Meta(max_length=255)] | None, Meta(description="Only this host.")] = None
    recency: Recency | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = 10

    @property
    def question(self) -> Question:
        """Raises `Problem` for a site that is none."""
        return Question.parse(self.query, site=self.site, recency=self.recency, limit=self.limit)


Monitored = MonitoredPage | MonitoredList | MonitoredCrawl | MonitoredSearch


class LookOptions(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
):
    """How a page is looked at."""

    render: Annotated[Rendering, Meta(description="Whether to use a browser: never, auto or always.")] = (
        "never"
    )
    whole_page: Annotated[
        bool, Meta(description="Compare everything that can be read, not only the main content.")
    ] = False
    include: Annotated[Selectors, Meta(description="CSS selectors: keep only what matches.")] = ()
    exclude: Annotated[Selectors, Meta(description="CSS selectors: drop what matches.")] = ()
    wait_for_selector: Annotated[
        Selector | UnsetType, Meta(description="For the browser: wait until an element matches.")
    ] = UNSET
    timeout: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)] | UnsetType, Meta(description="Milliseconds.")
    ] = UNSET
    device: Device = "desktop"
    locale: Annotated[
        Annotated[str, Meta(max_length=35)] | UnsetType, Meta(description="Such as `de-CH`.")
    ] = UNSET
    headers: SentHeaders = field(default_factory=dict)

    def request(self, url: str) -> PageRequest:
        """Raises `Problem` for what does not fit together."""
        options = PageOptions(
            formats=("text",),
            render=self.render,
            include=self.include,
            exclude=self.exclude,
            wait_for_selector=self.wait_for_selector,
            timeout=self.timeout,
            device=self.device,
            locale=self.locale,
            headers=self.headers,
        )
        request = options.settled(None).at(url)
        request.check()
        return request


class MonitorSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What is watched, and what counts as a change of it."""

    watch: Annotated[Monitored, Meta(description="A page, a list, a crawl or a search.")]
    rules: ChangeRules = (TextRule(),)
    noise: NoiseOptions = ALL_NOISE
    look: LookOptions = LookOptions()
    confirm_after: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_CONFIRM_SECONDS,
            description="Look a second time after this many seconds, and tell a change only if it is still "
            "there; 0 tells it at once.",
        ),
    ] = 0
    fail_after: Annotated[
        int,
        Meta(ge=1, le=100, description="Tell that it is failing after this many failed checks in a row."),
    ] = 3

    def check(self) -> None:
        """Raise `Problem` for a monitor that cannot work, before anything is done for it."""
        check_rules(self.rules)
        if isinstance(self.watch, MonitoredSearch):
            _ = self.watch.question
        if isinstance(self.watch, MonitoredPage | MonitoredList):
            for url in self.watch.urls:
                self.look.request(url)
        elif wrong := next((rule for rule in self.rules if isinstance(rule, _OF_PAGES)), None):
            name = wrong.__struct_config__.tag
            raise validation_error(
                f"A rule of kind `{name}` needs a page or a list to watch.",
                hint="A crawl or a search takes rules of the kinds text, keywords and number with `after`.",
            )
        if self.appearance is not None and self.look.render == "never":
            raise validation_error(
                "The appearance of a page needs a browser - at `$.look.render`.", hint="Say `always`."
            )

    @property
    def watches_status(self) -> bool:
        """Whether errors are what is watched for."""
        return any(isinstance(rule, StatusRule) for rule in self.rules)

    @property
    def appearance(self) -> AppearanceRule | None:
        return next((rule for rule in self.rules if isinstance(rule, AppearanceRule)), None)

    @property
    def selectors(self) -> tuple[str, ...]:
        """Those whose text the rules need."""
        found = [rule.selector for rule in self.rules if isinstance(rule, SelectorRule | NumberRule)]
        return tuple(dict.fromkeys(selector for selector in found if selector is not None))

    @property
    def is_page(self) -> bool:
        return isinstance(self.watch, MonitoredPage | MonitoredList)

    def without_secrets(self) -> "MonitorSpec":
        """As it is stored and shown: without what may open somebody's account."""
        return replace(self, look=replace(self.look, headers={}))

    def with_headers(self, headers: dict[str, str]) -> "MonitorSpec":
        return replace(self, look=replace(self.look, headers=headers))


_OF_PAGES: Final = (SelectorRule, FieldsRule, StatusRule, AppearanceRule)
WatchKind = Literal["page", "list", "crawl", "search"]


def address_of(watch: Monitored) -> str:
    """What is watched, in a line."""
    if isinstance(watch, MonitoredPage):
        return Url.parse(watch.url).href
    if isinstance(watch, MonitoredList):
        return f"{watch.urls[0]} and {len(watch.urls) - 1} more" if len(watch.urls) > 1 else watch.urls[0]
    return f"crawl {watch.crawl_id}" if isinstance(watch, MonitoredCrawl) else f"search: {watch.query}"
