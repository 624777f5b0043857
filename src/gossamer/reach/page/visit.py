"""A visit to a page with a browser: its request and its result."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import UNSET, Struct

from gossamer.problems import RENDER_FAILED, Problem
from gossamer.web.pages.capture_answer import Paper as Paper
from gossamer.web.pages.capture_answer import PictureFormat
from gossamer.web.pages.page import Page
from gossamer.web.render.actions import ActionReport, PageAction, ScreenshotAction
from gossamer.web.render.cookies import PageCookie
from gossamer.web.render.request import RenderErrorCode
from gossamer.web.render.visit_figures import Awaited as Awaited
from gossamer.web.render.visit_figures import VisitFigures
from gossamer.web.render.visitor import ANYBODY, BlockedKind, Visitor
from gossamer.web.url.url import Url

Step = Callable[[str, int], Awaitable[None]]  # a description of the step, and the progress in percent
Format = PictureFormat
NO_PAGE: Final = "no_page"  # the `cause` where a browser can show nothing: a file to keep, an empty answer
NO_ANSWER: Final = "no_answer"  # the `cause` where time was up before the target had said a word

# The browser's names for what a page loads.
_RESOURCES: Final[Mapping[BlockedKind, str]] = {
    "fonts": "Font",
    "images": "Image",
    "media": "Media",
    "stylesheets": "Stylesheet",
}
_UNREAD: Final = frozenset({"Font", "Image", "Media"})  # not needed for reading a page
_HINTS: Final = {
    RenderErrorCode.RENDER_TIMEOUT: "Give a longer timeout, or check that the page gets done in a browser.",
    RenderErrorCode.NETWORK_ERROR: "Check that the address is right and can be reached from the Internet.",
    RenderErrorCode.PAGE_ERROR: "Open the page in a browser to see what it does.",
    RenderErrorCode.WORKER_ERROR: "Try again; if it stays, the server's log says more.",
}


class PageTrouble(StrEnum):
    """Why a visit gives a page up. It is the `cause` of the problem."""

    OUT_OF_MEMORY = "out_of_memory"
    TOO_BUSY = "too_busy"
    CRASHED = "crashed"
    CLOSED = "closed"
    TOO_MANY_REQUESTS = "too_many_requests"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    REDIRECT_LOOP = "redirect_loop"
    TOO_LARGE = "too_large"


_TROUBLES: Final = {
    PageTrouble.OUT_OF_MEMORY: "The page takes too much memory",
    PageTrouble.TOO_BUSY: "The page keeps the browser too busy",
    PageTrouble.CRASHED: "The page crashed",
    PageTrouble.CLOSED: "The page closed itself",
    PageTrouble.TOO_MANY_REQUESTS: "The page makes too many requests",
    PageTrouble.TOO_MANY_REDIRECTS: "The page redirects too often",
    PageTrouble.REDIRECT_LOOP: "The page sends its visitors on in a circle",
    PageTrouble.TOO_LARGE: "The document is too large",
}


class Screenshot(Struct, frozen=True, kw_only=True):
    """A picture of the page."""

    width: int = 1280
    height: int = 720
    scale: float = 1.0
    full_page: bool = False
    selector: str | None = None  # only this element
    max_height: int | None = None  # a taller page or element is cut there
    format: Format = "png"
    quality: int | None = None
    dark: bool = False


class Print(Struct, frozen=True, kw_only=True):
    """The page on paper, as PDF."""

    paper: Paper = "A4"
    landscape: bool = False
    background: bool = True
    scale: float = 1.0
    margins: tuple[float, float, float, float] = (0.4, 0.4, 0.4, 0.4)  # inches: top, right, bottom, left
    pages: str = ""  # `1-3, 5`; empty for all


class Visit(Struct, frozen=True, kw_only=True):
    url: Url
    caller: str = ""  # the tenant; callers alternate in the queue
    timeout: float = 30.0  # seconds in total, including the wait in the queue
    wait_for: str | None = None  # a CSS selector
    follow: bool = True  # whether to follow redirects; otherwise the redirect is the result
    headers: tuple[tuple[str, str], ...] = ()  # sent only to the origin of the URL
    user_agent: str | None = None
    visitor: Visitor = ANYBODY
    actions: tuple[PageAction, ...] = ()  # what is done on the page before it is read or captured
    cookies: tuple[PageCookie, ...] = ()
    return_cookies: bool = False
    block: frozenset[BlockedKind] = frozenset()  # what is not loaded
    capture: Screenshot | Print | None = None
    needs_capture: bool = True  # otherwise a page that cannot be captured is the result all the same
    max_bytes: int = 50_000_000  # to and from the web
    max_requests: int = 1_000
    max_document: int = 10_000_000  # decoded bytes, if the page is read and not captured

    @property
    def needs_pictures(self) -> bool:
        """Whether images, fonts and media are loaded: only if there is a picture of the page."""
        return self.capture is not None or self.takes_screenshots

    @property
    def is_seen(self) -> bool:
        """Whether the page must be drawn: for a picture, and for steps, whose clicks hit what is drawn."""
        return self.needs_pictures or bool(self.actions)

    @property
    def takes_screenshots(self) -> bool:
        """Whether one of the steps does."""
        return any(isinstance(action, ScreenshotAction) for action in self.actions)

    @property
    def unloaded(self) -> frozenset[str]:
        """The kinds of resources that are not loaded, by the browser's names."""
        blocked = frozenset(_RESOURCES[kind] for kind in self.block if kind in _RESOURCES)
        return blocked if self.needs_pictures else blocked | _UNREAD


class Timings(Struct, frozen=True):
    queue_ms: int
    navigate_ms: int
    wait_ms: int
    capture_ms: int


class Capture(Struct, frozen=True):
    """A picture or a PDF."""

    body: bytes
    cut: bool = False  # at `max_height`
    missing_scripts: tuple[str, ...] = ()  # scripts that no font has, so that their letters are boxes


class VisitResult(Struct, frozen=True, kw_only=True):
    page: Page
    capture: Capture | None
    console: tuple[str, ...]  # the page's errors
    bytes: int  # received
    requests: int
    refused: int  # requests that the proxy refused
    timings: Timings
    actions: tuple[ActionReport, ...] = ()
    cookies: tuple[PageCookie, ...] | None = None  # None if they were not asked for
    awaited: Awaited | None = None  # None if the page was done in time

    @property
    def settled(self) -> bool:
        return self.awaited is None

    @property
    def figures(self) -> VisitFigures:
        return VisitFigures(
            queue_time=self.timings.queue_ms,
            navigate_time=self.timings.navigate_ms,
            wait_time=self.timings.wait_ms,
            capture_time=self.timings.capture_ms,
            requests=self.requests,
            refused=self.refused,
            received=self.bytes,
            awaited=self.awaited or UNSET,
            console=self.console,
        )


def render_failed(code: RenderErrorCode, detail: str, **details: Any) -> Problem:
    given = {name: value for name, value in details.items() if value is not None}
    return Problem(RENDER_FAILED, detail, hint=_HINTS.get(code), details={"reason": code.value, **given})


def given_up(trouble: PageTrouble) -> Problem:
    return render_failed(RenderErrorCode.PAGE_ERROR, _TROUBLES[trouble], cause=trouble.value)
