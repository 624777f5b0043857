"""A visit to a page with a browser: what is asked for, and what comes of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from gossamer.problems import RENDER_FAILED, Problem
from gossamer.web.page import Page
from gossamer.web.url import Url

Step = Callable[[str, int], Awaitable[None]]  # what is being done, and how far it is in percent
Reason = Literal["render_timeout", "network_error", "page_error", "worker_error"]
Format = Literal["png", "jpeg", "webp"]
Paper = Literal["A0", "A1", "A2", "A3", "A4", "A5", "A6", "Letter", "Legal", "Tabloid", "Ledger"]
NO_PAGE: Final = "no_page"  # the `cause` where a browser can show nothing: a file to keep, an empty answer
NO_ANSWER: Final = "no_answer"  # the `cause` where time was up before the target had said a word

_HINTS: Final[dict[Reason, str]] = {
    "render_timeout": "Give a longer timeout, or check that the page gets done in a browser.",
    "network_error": "Check that the address is right and can be reached from the Internet.",
    "page_error": "Open the page in a browser to see what it does.",
    "worker_error": "Try again; if it stays, the server's log says more.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture of the page."""

    width: int = 1280
    height: int = 720
    scale: float = 1.0
    full_page: bool = False
    selector: str | None = None  # only this element
    max_height: int | None = None  # of a whole page or an element: what is taller is cut there, on purpose
    format: Format = "png"
    quality: int | None = None
    dark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Print:
    """The page on paper, as PDF."""

    paper: Paper = "A4"
    landscape: bool = False
    background: bool = True
    scale: float = 1.0
    margins: tuple[float, float, float, float] = (0.4, 0.4, 0.4, 0.4)  # inches: top, right, bottom, left
    pages: str = ""  # `1-3, 5`; all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    url: Url
    caller: str = ""  # in whose name; callers take turns where places are short
    timeout: float = 30.0  # seconds for everything, the wait for a place included
    wait_for: str | None = None  # a CSS selector
    follow: bool = True  # where the page leads its visitor; else that it does so is what comes of it
    headers: tuple[tuple[str, str], ...] = ()  # for the origin of the URL, and no other
    user_agent: str | None = None
    capture: Shot | Print | None = None
    max_bytes: int = 50_000_000  # to and from the web
    max_requests: int = 1_000
    max_document: int = 10_000_000  # bytes, decoded; of a page that is read, rather than looked at


@dataclass(frozen=True, slots=True)
class Timings:
    queue_ms: int
    navigate_ms: int
    wait_ms: int
    capture_ms: int


@dataclass(frozen=True, slots=True)
class Capture:
    """A picture or a PDF."""

    body: bytes
    cut: bool = False  # at the height that was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    page: Page
    capture: Capture | None
    console: tuple[str, ...]  # the page's errors
    bytes: int  # received
    requests: int
    refused: int  # requests that were not let out
    settled: bool  # the page was seen to be done, rather than out of time
    timings: Timings


def failed(reason: Reason, detail: str, **details: str) -> Problem:
    return Problem(RENDER_FAILED, detail, hint=_HINTS[reason], details={"reason": reason, **details})
