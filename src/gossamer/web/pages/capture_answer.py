"""What a screenshot and a PDF of a page are answered with."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from gossamer.web.pages.cache_options import CacheMetadata
from gossamer.web.pages.read_result import PageResult

PictureFormat = Literal["png", "jpeg", "webp"]
Paper = Literal["A0", "A1", "A2", "A3", "A4", "A5", "A6", "Letter", "Legal", "Tabloid", "Ledger"]


class CapturedPage(PageResult, frozen=True, kw_only=True):
    """What `CaptureResult` and its answers have in common."""

    elapsed_ms: Annotated[int, Meta(description="Milliseconds.")] = field(name="captureTime")
    missing_scripts: Annotated[
        tuple[str, ...],
        Meta(description="Scripts of the page whose letters are boxes here, because no font has them."),
    ] = ()


class Dimensions(Struct, frozen=True):
    """Of the picture itself, in its own pixels."""

    width: int
    height: int


class CaptureAnswer(CapturedPage, frozen=True, kw_only=True):
    """What a screenshot and a PDF say about their page."""

    tier: Literal["pro"]
    captured_at: str
    request_id: str
    cache: CacheMetadata | UnsetType = UNSET


class ScreenshotAnswer(CaptureAnswer, frozen=True, kw_only=True):
    """The picture, and what it shows."""

    image: Annotated[bytes, Meta(description="The file, as base64.")]
    format: PictureFormat
    dimensions: Dimensions
    truncated: Annotated[bool, Meta(description="The picture was cut at `maxHeight`.")] = False


class PdfAnswer(CaptureAnswer, frozen=True, kw_only=True):
    """The PDF, and facts about it."""

    pdf: Annotated[bytes, Meta(description="The file, as base64.")]
    format: Paper
    pages: int | UnsetType = UNSET
