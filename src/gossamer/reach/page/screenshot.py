"""Takes screenshots: of a window, of a whole page, or of one element. One that is too large is refused."""

import binascii
import math
from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from gossamer.problems import CAPTURE_TOO_LARGE, CONTENT_TOO_LARGE, ELEMENT_NOT_FOUND, Problem
from gossamer.reach.page.tab import Tab
from gossamer.reach.page.visit import Capture, Screenshot
from gossamer.reach.page.waiting import LiveDocument

MAX_SIDE_PIXELS: Final = 16_384  # the maximum of a texture
MAX_PIXELS: Final = 42_000_000  # even noise of this size fits into one message of the browser
MAX_CAPTURE_BYTES: Final = 10_000_000


class Frame(msgspec.Struct):
    """A part of a page, in its own pixels."""

    x: float
    y: float
    width: float
    height: float


class _Picture(msgspec.Struct):
    data: msgspec.Raw  # base64 between quotes


def prepare(tab: Tab, shot: Screenshot, deadline: float) -> list[Coroutine[Any, Any, None]]:
    """The commands to run before navigation."""
    features = {"prefers-color-scheme": "dark" if shot.dark else "light", "prefers-reduced-motion": "reduce"}
    media = [{"name": name, "value": value} for name, value in features.items()]
    return [
        _check_window(shot),
        tab.session.tell("Emulation.setScrollbarsHidden", deadline, hidden=True),
        tab.session.tell("Emulation.setEmulatedMedia", deadline, features=media),
    ]


def reach(shot: Screenshot) -> float:
    """How far down the page a screenshot may reach beyond its window."""
    if not shot.full_page:
        return 0
    return min(MAX_SIDE_PIXELS / shot.scale, shot.max_height or MAX_SIDE_PIXELS)


async def take(tab: Tab, document: LiveDocument, shot: Screenshot, deadline: float) -> Capture:
    # A whole page is compressed better, which takes longer and halves its size, because messages are bounded.
    options: dict[str, Any] = {"format": shot.format, "optimizeForSpeed": not shot.full_page}
    if shot.quality is not None and shot.format != "png":
        options["quality"] = shot.quality
    cut = False
    if shot.full_page or shot.selector is not None:
        frame, cut = _bound(await _frame(document, shot, deadline), shot)
        options |= {"clip": {**msgspec.to_builtins(frame), "scale": 1}, "captureBeyondViewport": True}
    picture = await tab.session.ask(_Picture, "Page.captureScreenshot", deadline, **options)
    return Capture(_decode(picture.data), cut)


def too_heavy(what: str, hint: str) -> Problem:
    return Problem(
        CONTENT_TOO_LARGE,
        f"The {what} of the page has more than {MAX_CAPTURE_BYTES // 1_000_000} MB",
        hint=hint,
        details={"reason": "capture_too_large", "maxBytes": MAX_CAPTURE_BYTES},
    )


async def _frame(document: LiveDocument, shot: Screenshot, deadline: float) -> Frame:
    raw = await document.run("frame", deadline, shot.selector)
    frame = msgspec.json.decode(raw, type=Frame | None)
    if frame is None or frame.width < 1 or frame.height < 1:
        raise _unseen(shot)
    return frame


def _bound(frame: Frame, shot: Screenshot) -> tuple[Frame, bool]:
    """The whole pixels that the frame touches, and whether something was cut off."""
    left, top = (max(0, math.floor(round(edge, 2))) for edge in (frame.x, frame.y))
    width = math.ceil(round(frame.x + frame.width, 2)) - left
    height = math.ceil(round(frame.y + frame.height, 2)) - top
    if width < 1 or height < 1:
        raise _unseen(shot)
    widest = int(MAX_SIDE_PIXELS / shot.scale)
    if width > widest:
        raise _too_large("too_wide", f"{width:,} pixels wide", width=width, height=height, limit=widest)
    tallest = int(min(MAX_SIDE_PIXELS / shot.scale, MAX_PIXELS / (width * shot.scale**2)))
    wanted = min(height, shot.max_height or height)
    if wanted > tallest:
        raise _too_large("too_tall", f"{height:,} pixels tall", width=width, height=height, limit=tallest)
    return Frame(left, top, width, wanted), wanted < height


async def _check_window(shot: Screenshot) -> None:
    """Raise before the target is visited if the window is too large."""
    pixels = round(shot.width * shot.height * shot.scale**2)
    if pixels > MAX_PIXELS:
        raise _too_large("too_many_pixels", f"of {pixels:,} pixels", pixels=pixels, limit=MAX_PIXELS)


def _decode(data: msgspec.Raw) -> bytes:
    quoted = memoryview(data)
    if len(quoted) > MAX_CAPTURE_BYTES * 4 / 3 + 6:
        raise too_heavy("picture", "Ask for jpeg or webp, for a lower quality, or for less of the page.")
    return binascii.a2b_base64(quoted[1:-1])


def _unseen(shot: Screenshot) -> Problem:
    return Problem(
        ELEMENT_NOT_FOUND,
        "No element of the page that can be seen matches the selector",
        details={"selector": shot.selector},
    )


_HINTS: Final = {
    "too_tall": "Give `maxHeight`, at most `details.limit`, to have it cut there; or name an element.",
    "too_wide": "Name an element of the page, or lower `deviceScaleFactor`.",
    "too_many_pixels": "Lower `deviceScaleFactor`, or choose a smaller viewport.",
}


def _too_large(reason: str, size: str, **numbers: int) -> Problem:
    return Problem(
        CAPTURE_TOO_LARGE,
        f"What is to be captured is {size}; at most {numbers['limit']:,} can be",
        hint=_HINTS[reason],
        details={"reason": reason, **numbers},
    )
