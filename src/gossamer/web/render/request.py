"""The request for a render, and the result of a render job."""

from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta

from gossamer.web.render.visitor import Device, DeviceOption

MAX_TIMEOUT_SECONDS: Final = 60.0  # for a caller; a second attempt after a timeout has twice as much
MAX_WAIT_SECONDS: Final = 60
MAX_WARM_PAGES: Final = 10_000
MAX_WARM_URLS: Final = 1_000  # in one request

Bot = Literal["default", "chatgpt", "claude", "perplexity", "gemini"]
Seconds = Annotated[int, Meta(ge=0, le=315_360_000)]
Milliseconds = Annotated[int, Meta(ge=1, le=int(MAX_TIMEOUT_SECONDS * 1000))]


ForBot = Annotated[Bot, Meta(description="The bot to render for, where the site treats bots differently.")]
KeepScripts = Annotated[bool, Meta(description="Leave the scripts in the page.")]


class RenderErrorCode(StrEnum):
    """Why a render failed."""

    RENDER_TIMEOUT = "render_timeout"  # the page was not done in time
    NETWORK_ERROR = "network_error"  # the page could not be reached
    PAGE_ERROR = "page_error"  # the page itself is the reason
    WORKER_ERROR = "worker_error"  # a browser ended, or none was free
    CANCELED = "canceled"


def page_variant(bot: Bot, *, keep_scripts: bool, device: Device = "desktop") -> str:
    """Names the options that make a rendered page another one in the cache."""
    return f"{bot}{'+mobile' if device == 'mobile' else ''}{'+scripts' if keep_scripts else ''}"


VARIANTS: Final = tuple(
    page_variant(bot, keep_scripts=keep, device=device)
    for bot in get_args(Bot)
    for keep in (False, True)
    for device in get_args(Device)
)


class RenderRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,  # so that an older version can read the jobs that do not use what is new
):
    """The page to render, and its maximum age."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
    wait_for_selector: Annotated[
        Annotated[str, Meta(min_length=1, max_length=500)] | None,
        Meta(description="A CSS selector: the page is done when an element matches it."),
    ] = None
    timeout: Annotated[Milliseconds, Meta(description="Milliseconds for the page to load.")] = 30_000
    wait: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_WAIT_SECONDS)],
        Meta(description="Seconds to hold the request while the page is rendered; 0 answers at once."),
    ] = 0
    max_age: Annotated[
        Seconds | None, Meta(description="Accept a cached page up to this many seconds old.")
    ] = None
    stale_while_revalidate: Annotated[
        Seconds,
        Meta(
            description="Serve a page up to this many seconds past `maxAge` while a fresh render is queued."
        ),
    ] = 0
    stale_if_error: Annotated[
        Seconds,
        Meta(description="Serve a page up to this many seconds past `maxAge` when the fresh render fails."),
    ] = 0
    bot: ForBot = "default"
    keep_scripts: KeepScripts = False
    device: DeviceOption = "desktop"
    site_freshness: Annotated[
        bool,
        Meta(description="If the site is registered, its freshness is used in place of the one asked for."),
    ] = False

    @property
    def variant(self) -> str:
        return page_variant(self.bot, keep_scripts=self.keep_scripts, device=self.device)

    def is_fresh(self, age: float) -> bool:
        return self.max_age is None or age <= self.max_age

    def may_be_revalidated(self, age: float) -> bool:
        return self.max_age is not None and age <= self.max_age + self.stale_while_revalidate

    def may_replace_failed(self, age: float) -> bool:
        """Whether a page of this age may be served because a fresh one could not be rendered."""
        return self.max_age is not None and age <= self.max_age + self.stale_if_error


class RenderResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a render job."""

    url: str  # as it was visited
    normalized_url: str  # shared by all spellings of this address
    variant: str
    final_url: str  # after redirects
    size: int  # bytes of HTML
    render_time: int  # milliseconds
    etag: str


class WarmRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The pages to render in advance: a list, or a sitemap."""

    urls: Annotated[
        list[Annotated[str, Meta(max_length=2_048)]],
        Meta(max_length=MAX_WARM_URLS, description="The addresses of the pages."),
    ] = []
    sitemap: Annotated[str, Meta(max_length=2_048, description="The address of a sitemap or an index.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_WARM_PAGES, description="Render at most this many pages.")] = (
        1_000
    )
    max_age: Annotated[
        Seconds | None, Meta(description="Also render cached pages that are older than this many seconds.")
    ] = None
    timeout: Annotated[Milliseconds, Meta(description="Milliseconds for each page to load.")] = 30_000
    bot: ForBot = "default"
    keep_scripts: KeepScripts = False
    device: DeviceOption = "desktop"
