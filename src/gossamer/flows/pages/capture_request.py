"""CaptureRequest: a request for a screenshot or a PDF, from the door to the browser."""

import re
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.flows.pages.obtain import visit_of
from gossamer.reach.page.screenshot import MAX_SIDE_PIXELS
from gossamer.reach.page.visit import Format, Paper, Print, Screenshot, Visit
from gossamer.reach.page.window import SEEN, SEEN_MOBILE
from gossamer.web.pages.page_request import MIN_RENDER_TIMEOUT, PageUrl, Selector, SentHeaders, Target
from gossamer.web.pages.visit_options import VisitOptions

MAX_CAPTURE_TIMEOUT: Final = 30_000  # milliseconds
_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "px": 1 / 96}
_LENGTH: Final = re.compile(r"([0-9.]+)([a-z]+)")

Length = Annotated[
    str,
    Meta(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3})?(in|cm|mm|px)$", description="With its unit: in, cm, mm, px."),
]


class CaptureRequest(VisitOptions, Target, frozen=True, kw_only=True):
    """What a screenshot and a PDF have in common."""

    wait_for_selector: Annotated[
        Selector | UnsetType,
        Meta(description="Wait until an element matches. Without it, wait until the page is quiet."),
    ] = UNSET
    timeout: Annotated[
        int, Meta(ge=MIN_RENDER_TIMEOUT, le=MAX_CAPTURE_TIMEOUT, description="Milliseconds for everything.")
    ] = 10_000
    headers: SentHeaders = msgspec.field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        raise NotImplementedError

    @property
    def media_type(self) -> str:
        raise NotImplementedError

    @property
    def capture(self) -> Screenshot | Print:
        raise NotImplementedError

    def visit(self, tenant: str = "") -> Visit:
        return visit_of(self, tenant, self.seconds, self.capture)

    def parameters(self) -> dict[str, object]:
        """Everything that the answer depends on, as it is sent."""
        return {
            "url": self.url,
            "capture": msgspec.to_builtins(self.capture),
            "waitForSelector": self.wait_for,
            "headers": self.header_pairs,
            **self.visit_parameters(),
        }


class Viewport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The window that shows the page, in pixels of the page."""

    width: Annotated[int, Meta(ge=320, le=3840)] = 1280
    height: Annotated[int, Meta(ge=240, le=2160)] = 720


class ScreenshotRequest(CaptureRequest, frozen=True):
    """Of which page to take a picture, and how."""

    url: PageUrl
    viewport: Annotated[
        Viewport | UnsetType,
        Meta(description="The window. By default 1280 by 720 pixels, on a mobile device 412 by 915."),
    ] = UNSET
    selector: Annotated[
        Selector | UnsetType,
        Meta(description="Capture only the first element that matches, whatever its size."),
    ] = UNSET
    full_page: Annotated[bool, Meta(description="All of the page, not only what fits the viewport.")] = False
    max_height: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_SIDE_PIXELS)] | UnsetType,
        Meta(description="Cut a full page or an element at this height, in pixels of the page."),
    ] = UNSET
    format: Annotated[
        Format | UnsetType,
        Meta(description="Without it, the format that `Accept` prefers; PNG if it names none."),
    ] = UNSET
    quality: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | UnsetType, Meta(description="Of jpeg and webp.")
    ] = UNSET
    device_scale_factor: Annotated[
        Annotated[float, Meta(ge=1, le=3)] | UnsetType,
        Meta(description="Pixels of the picture for each of the page's. By default 1, on a mobile device 2."),
    ] = UNSET
    dark_mode: Annotated[
        bool, Meta(description="Show the page as to a visitor who prefers dark colours.")
    ] = False

    @property
    def endpoint(self) -> str:
        return "screenshot"

    @property
    def media_type(self) -> str:
        return f"image/{self.format or 'png'}"

    @property
    def capture(self) -> Screenshot:
        format_, window = self.format or "png", SEEN_MOBILE if self.device == "mobile" else SEEN
        viewport = self.viewport or Viewport(window.width, window.height)
        return Screenshot(
            width=viewport.width,
            height=viewport.height,
            scale=self.device_scale_factor or window.scale,
            full_page=self.full_page,
            selector=self.selector or None,
            max_height=self.max_height or None,
            format=format_,
            quality=None if format_ == "png" else self.quality or None,
            dark=self.dark_mode,
        )


class Margins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Around every page of paper."""

    top: Length = "1cm"
    right: Length = "1cm"
    bottom: Length = "1cm"
    left: Length = "1cm"


class PdfRequest(CaptureRequest, frozen=True):
    """Which page to print, and on what paper."""

    url: PageUrl
    format: Annotated[Paper, Meta(description="The size of the paper.")] = "A4"
    landscape: bool = False
    print_background: Annotated[bool, Meta(description="With background colours and pictures.")] = True
    scale: Annotated[float, Meta(ge=0.1, le=2)] = 1.0
    margins: Margins = msgspec.field(default_factory=Margins)
    page_ranges: Annotated[
        str,
        Meta(
            max_length=200,
            pattern=r"^ *([0-9]{1,5} *(- *([0-9]{1,5} *)?)?(, *[0-9]{1,5} *(- *([0-9]{1,5} *)?)?)*)?$",
            description="Which pages, `1-3, 5`; all of them if empty.",
        ),
    ] = ""

    @property
    def endpoint(self) -> str:
        return "pdf"

    @property
    def media_type(self) -> str:
        return "application/pdf"

    @property
    def capture(self) -> Print:
        sides = (self.margins.top, self.margins.right, self.margins.bottom, self.margins.left)
        top, right, bottom, left = (_inches(side) for side in sides)
        return Print(
            paper=self.format,
            landscape=self.landscape,
            background=self.print_background,
            scale=self.scale,
            margins=(top, right, bottom, left),
            pages=self.page_ranges.replace(" ", ""),
        )


def _inches(length: str) -> float:
    number, unit = _LENGTH.fullmatch(length).groups()  # type: ignore[union-attr]  # as `Length` has it
    return round(float(number) * _INCHES[unit], 4)
