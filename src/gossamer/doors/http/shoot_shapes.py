"""What may be asked of a screenshot or a PDF, and the shapes of the answers."""

import re
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http.caching import CacheMetadata, CacheOptions
from gossamer.doors.http.read_options import SHORTEST_RENDER, Selector, SentHeaders
from gossamer.reach.shot import TALLEST
from gossamer.reach.visit import Format, Paper, Print, Shot
from gossamer.web.outcome import Outcome

LONGEST_TIMEOUT: Final = 30_000
_INCHES: Final = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "px": 1 / 96}
_LENGTH: Final = re.compile(r"([0-9.]+)([a-z]+)")

Length = Annotated[
    str,
    Meta(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3})?(in|cm|mm|px)$", description="With its unit: in, cm, mm, px."),
]


class CaptureOptions(CacheOptions, kw_only=True):
    """What a screenshot and a PDF have in common."""

    wait_for_selector: Annotated[
        Selector | UnsetType,
        Meta(description="The page is done when something matches; without it, when it has become quiet."),
    ] = UNSET
    timeout: Annotated[
        int, Meta(ge=SHORTEST_RENDER, le=LONGEST_TIMEOUT, description="Milliseconds for everything.")
    ] = 10_000
    headers: SentHeaders = msgspec.field(default_factory=dict)


class Viewport(msgspec.Struct, forbid_unknown_fields=True):
    """The window that the page is shown in, in its own pixels."""

    width: Annotated[int, Meta(ge=320, le=3840)] = 1280
    height: Annotated[int, Meta(ge=240, le=2160)] = 720


class ScreenshotRequest(CaptureOptions):
    """Of which page, and how."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
    viewport: Viewport = msgspec.field(default_factory=Viewport)
    selector: Annotated[
        Selector | UnsetType, Meta(description="Only the first element that matches, whatever its size.")
    ] = UNSET
    full_page: Annotated[bool, Meta(description="All of the page, not only what fits the viewport.")] = False
    max_height: Annotated[
        Annotated[int, Meta(ge=1, le=TALLEST)] | UnsetType,
        Meta(description="Where a full page or an element is cut, in pixels of the page."),
    ] = UNSET
    format: Annotated[
        Format | UnsetType, Meta(description="Else what `Accept` likes best, and PNG where it does not say.")
    ] = UNSET
    quality: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | UnsetType, Meta(description="Of jpeg and webp.")
    ] = UNSET
    device_scale_factor: Annotated[
        float, Meta(ge=1, le=3, description="Pixels of the picture for each of the page's.")
    ] = 1.0
    dark_mode: Annotated[bool, Meta(description="As who prefers dark colours sees it.")] = False

    def shot(self, liked: Format) -> Shot:
        return Shot(
            width=self.viewport.width,
            height=self.viewport.height,
            scale=self.device_scale_factor,
            full_page=self.full_page,
            selector=self.selector or None,
            max_height=self.max_height or None,
            format=self.format or liked,
            quality=self.quality or None,
            dark=self.dark_mode,
        )


class Margins(msgspec.Struct, forbid_unknown_fields=True):
    """Around every page of paper."""

    top: Length = "1cm"
    right: Length = "1cm"
    bottom: Length = "1cm"
    left: Length = "1cm"


class PdfRequest(CaptureOptions):
    """Of which page, and on what paper."""

    url: Annotated[str, Meta(description="The address of the page.", examples=["https://example.com/"])]
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

    def print(self) -> Print:
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


class Dimensions(msgspec.Struct):
    """Of the picture itself, in its own pixels."""

    width: int
    height: int


class CaptureAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """What a screenshot and a PDF tell of their page."""

    url: str
    final_url: str
    status_code: Annotated[int, Meta(description="The target's own status.")]
    outcome: Annotated[Outcome, Meta(description="`ok` only if this is the page that was asked for.")]
    outcome_reason: Annotated[str | UnsetType, Meta(description="Which rule, where it is not `ok`.")] = UNSET
    title: str
    tier: Literal["pro"] = "pro"
    captured_at: str
    capture_time: Annotated[int, Meta(description="Milliseconds.")]
    request_id: str
    cache: CacheMetadata | UnsetType = UNSET


class ScreenshotAnswer(CaptureAnswer):
    """The picture, and what it shows."""

    image: Annotated[bytes, Meta(description="The file, as base64.")]
    format: Format
    dimensions: Dimensions
    truncated: Annotated[bool | UnsetType, Meta(description="It was cut at `maxHeight`.")] = UNSET


class PdfAnswer(CaptureAnswer):
    """The PDF, and what is in it."""

    pdf: Annotated[bytes, Meta(description="The file, as base64.")]
    format: Paper
    pages: int | UnsetType = UNSET


def _inches(length: str) -> float:
    number, unit = _LENGTH.fullmatch(length).groups()  # type: ignore[union-attr]  # as `Length` has it
    return round(float(number) * _INCHES[unit], 4)
