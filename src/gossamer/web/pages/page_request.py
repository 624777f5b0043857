"""PageRequest: what a caller asks of one page, from the door to the fetcher."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Final, Literal, Self, get_args

from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from gossamer.problems import Problem, validation_error
from gossamer.web.content.brief import DEFAULT_TOKENS, MAX_QUERY_CHARS, MAX_TOKENS, MIN_TOKENS
from gossamer.web.pages.fetch_spec import FetchSpec, HeaderPairs
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.pages.visit_options import VisitOptions
from gossamer.web.render.actions import PageAction, check_actions
from gossamer.web.render.cookies import PageCookie, check_cookies, cookie_header
from gossamer.web.render.visitor import BlockedKind, Device, Visitor
from gossamer.web.url.sent_headers import SENDABLE_HEADERS, check_headers, has_credentials
from gossamer.web.url.url import Url

MAX_TIMEOUT: Final = 60_000  # milliseconds
MIN_RENDER_TIMEOUT: Final = 5_000  # a browser may take this long to start
ATTEMPTS: Final = 3

Rendering = Literal["never", "auto", "always"]
FetchTier = Literal["basic", "pro"]
Format = Literal["markdown", "llm", "html", "rawHtml", "text", "links", "images", "metadata"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

SentHeaders = Annotated[
    dict[str, Annotated[str, Meta(max_length=8000)]],
    Meta(
        max_length=20,
        description="Sent to the page's own origin only. "
        f"One of these: {', '.join(sorted(SENDABLE_HEADERS))}.",
    ),
]
PageUrl = Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
Selector = Annotated[str, Meta(min_length=1, max_length=500)]
LlmQuery = Annotated[
    str,
    Meta(
        max_length=MAX_QUERY_CHARS,
        description="What you look for: the format `llm` keeps the parts of the page with these words first.",
    ),
]
WantsSummary = Annotated[
    bool,
    Meta(description="Whether the server's language model is to summarise the text of the format `llm`."),
]
Selectors = Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=50)]

# How each tier may get a page; the first is the default. `/fetch` itself has no tier.
_RENDERS: Final[Mapping[FetchTier | None, tuple[Rendering, ...]]] = {
    None: ("never", "auto", "always"),
    "basic": ("never",),
    "pro": ("always",),
}
_TIMEOUTS: Final[Mapping[Rendering, int]] = {"never": 10_000, "auto": 30_000, "always": 30_000}


class Target:
    """What every request for a page has in common, once it is decoded."""

    __slots__ = ()

    url: str
    headers: dict[str, str]
    timeout: int | UnsetType  # milliseconds
    render: Rendering | UnsetType
    wait_for_selector: str | UnsetType
    actions: tuple[PageAction, ...]
    cookies: tuple[PageCookie, ...]
    return_cookies: bool
    device: Device
    locale: str | UnsetType
    timezone: str | UnsetType
    block: tuple[BlockedKind, ...]

    @cached_property
    def address(self) -> Url:
        """Raises `Problem` if the URL cannot be used."""
        return Url.parse(self.url)

    @property
    def rendering(self) -> Rendering:
        return self.render or "never"

    @property
    def seconds(self) -> float:
        """The time for everything, retries included."""
        return (self.timeout or _TIMEOUTS[self.rendering]) / 1000

    @property
    def wait_for(self) -> str | None:
        """A CSS selector for the browser."""
        return self.wait_for_selector or None

    @property
    def visitor(self) -> Visitor:
        return Visitor(device=self.device, locale=self.locale or "", timezone=self.timezone or "")

    @property
    def header_pairs(self) -> HeaderPairs:
        return tuple(self.headers.items())

    def check(self) -> None:
        """Raise `Problem` for a URL or a header that cannot be used, before anything is done for it."""
        url = self.address
        check_headers(self.headers)
        check_actions(self.actions)
        check_cookies(self.cookies, url)
        if self.cookies and any(name.lower() == "cookie" for name in self.headers):
            raise invalid_field(
                "cookies", "The header `cookie` and `cookies` say the same in two ways", "Give one of them."
            )

    def respelled(self, url: str, headers: dict[str, str]) -> Self:
        """The same request in another spelling of its URL and headers."""
        return replace(self, url=url, headers=headers)  # type: ignore[type-var]  # every Target is a Struct

    def within(self, seconds: float, attempts: int = ATTEMPTS, tenant: str = "") -> FetchSpec:
        """As the fetcher takes it."""
        sent = cookie_header(self.cookies, self.address)
        return FetchSpec(
            url=self.address,
            headers=(*self.header_pairs, ("cookie", sent)) if sent else self.header_pairs,
            timeout=seconds,
            attempts=attempts,
            visitor=self.visitor,
            tenant=tenant,
        )


class PageOptions(VisitOptions, frozen=True, kw_only=True):
    """What is asked of a page, whichever page it is."""

    formats: Annotated[
        tuple[Format, ...], Meta(min_length=1, max_length=8, description="What to answer with.")
    ] = ("markdown", "metadata")
    main_content: Annotated[
        bool, Meta(description="Only the main content, without navigation and the like; else the full page.")
    ] = True
    include: Annotated[Selectors, Meta(description="CSS selectors: keep only what matches.")] = ()
    exclude: Annotated[Selectors, Meta(description="CSS selectors: drop what matches.")] = ()
    max_tokens: Annotated[
        int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="The most tokens that the format `llm` may have.")
    ] = DEFAULT_TOKENS
    query: LlmQuery = ""
    headers: SentHeaders = field(default_factory=dict)
    timeout: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)] | UnsetType,
        Meta(
            description="Milliseconds for everything, retries included. The default is 10,000, or 30,000 if "
            f"a browser may be used. If one must be used, at least {MIN_RENDER_TIMEOUT:,}."
        ),
    ] = UNSET
    render: Annotated[
        Rendering | UnsetType,
        Meta(
            description="Whether to use a browser: `never`, `auto` (if the page is an empty shell without "
            "one) or `always`. The basic tier never uses one, the pro tier always does."
        ),
    ] = UNSET
    wait_for_selector: Annotated[
        Selector | UnsetType, Meta(description="For the browser: wait until an element matches.")
    ] = UNSET

    return_visit: Annotated[
        bool,
        Meta(description="If a browser is used: answer with the figures of its visit, too."),
    ] = False

    @property
    def is_private(self) -> bool:
        """Figures are those of this visit, not of one before."""
        return super().is_private or self.return_visit

    def at(self, url: str) -> "PageRequest":
        """These options for one page."""
        return PageRequest(url, **{name: getattr(self, name) for name in PageOptions.__struct_fields__})

    def settled(self, tier: FetchTier | None) -> Self:
        """The same options with a rendering and a timeout. Raises `Problem` for those that do not fit."""
        render = self._rendering(tier)
        if render == "never":
            self._refuse_browsing()
        elif self.actions:  # whatever the page is without a browser, steps need one
            render = "always"
        return replace(self, render=render, timeout=self._timeout(render))

    def with_format(self, chosen: Literal["markdown", "llm"] | None, *, bare: bool = False) -> Self:
        """With another format for `content`. A bare answer needs `content`: it is markdown by default."""
        if chosen is not None:
            others = [name for name in self.formats if name not in ("markdown", "llm")]
            return replace(self, formats=(chosen, *others))
        if bare and not {"markdown", "llm"} & set(self.formats):
            return replace(self, formats=("markdown", *self.formats))
        return self

    def _refuse_browsing(self) -> None:
        """Raise for an option that only a browser can serve."""
        needs = (
            ("waitForSelector", self.wait_for_selector, "Only a browser can wait for something to appear"),
            ("actions", self.actions, "Only a browser can take steps on a page"),
            ("timezone", self.timezone, "Only a browser has a time zone"),
        )
        for name, given, detail in needs:
            if given:
                raise invalid_field(name, detail, "Ask /fetch/pro, or /fetch with `render`.")

    def _rendering(self, tier: FetchTier | None) -> Rendering:
        allowed = _RENDERS[tier]
        if self.render is UNSET:
            return allowed[0]
        if self.render not in allowed:
            raise invalid_field(
                "render",
                f"The {tier} tier takes {allowed[0]!r}, not {self.render!r}",
                "Leave it out, or ask /fetch, which takes never, auto and always.",
            )
        return self.render

    def _timeout(self, render: Rendering) -> int:
        if self.timeout is UNSET:
            return _TIMEOUTS[render]
        if render == "always" and self.timeout < MIN_RENDER_TIMEOUT:
            raise invalid_field(
                "timeout",
                f"A page that must be rendered takes at least {MIN_RENDER_TIMEOUT:,} milliseconds",
                f"Give {MIN_RENDER_TIMEOUT:,} to {MAX_TIMEOUT:,}.",
            )
        return self.timeout


class PageRequest(PageOptions, Target, frozen=True):
    """Which page to fetch, and what is asked of it."""

    url: PageUrl
    summary: WantsSummary = False

    def check(self) -> None:
        super().check()
        if self.summary and "llm" not in self.formats:
            raise invalid_field(
                "summary", "A summary is made of the format `llm`", "Add `llm` to the formats."
            )

    def parameters(self, model: str = "") -> dict[str, object]:
        """Everything that the answer depends on, as it is sent. `model` is the one that summarises."""
        return {
            "url": self.url,
            "formats": sorted(set(self.formats)),
            "mainContent": self.main_content,
            "include": self.include,
            "exclude": self.exclude,
            "headers": self.header_pairs,
            "render": self.rendering,
            "waitFor": self.wait_for,
            "maxTokens": self._llm_tokens,
            **({"query": self.llm_query} if self.llm_query else {}),
            **({"summary": model} if self.summary else {}),
            **self.visit_parameters(),
        }

    def reading_options(self, max_text: int) -> ReadingOptions:
        """What to read from the page. If the text is not asked for, at most `max_text` characters of it."""
        return ReadingOptions(
            main_content=self.main_content,
            include=self.include,
            exclude=self.exclude,
            max_tokens=self._llm_tokens,
            query=self.llm_query,
            max_text=None if "text" in self.formats else max_text,
            markdown="markdown" in self.formats,
            html="html" in self.formats,
            raw_html="rawHtml" in self.formats,
            links="links" in self.formats,
            resources="images" in self.formats,
        )

    @property
    def is_public(self) -> bool:
        """Whether the result may be found by a search: the whole page, read without credentials."""
        whole = not self.include and not self.exclude
        return whole and not self.is_private and not has_credentials(self.headers)

    @property
    def _llm_tokens(self) -> int | None:
        return self.max_tokens if "llm" in self.formats else None

    @property
    def llm_query(self) -> str:
        return " ".join(self.query.split()) if "llm" in self.formats else ""


def invalid_field(name: str, detail: str, hint: str) -> Problem:
    """The problem with one field of a request's body."""
    return validation_error(f"{detail} - at `$.{name}`.", hint=hint)
