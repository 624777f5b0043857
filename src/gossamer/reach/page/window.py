"""The window that shows a page to its visitor."""

from typing import Any, Final

from msgspec import Struct

from gossamer.reach.page.visit import Screenshot, Visit

MAX_HEIGHT: Final = 20_000  # pixels


class BrowserWindow(Struct, frozen=True):
    width: int
    height: int
    scale: float = 1.0
    mobile: bool = False

    @property
    def metrics(self) -> dict[str, Any]:
        """As the browser takes it."""
        return {
            "width": self.width,
            "height": self.height,
            "deviceScaleFactor": self.scale,
            "mobile": self.mobile,
        }


# For reading: as wide as most screens, and taller, so that parts which load when they are seen do so.
READING: Final = BrowserWindow(1280, 2400)
READING_MOBILE: Final = BrowserWindow(412, 2400, 2.0, mobile=True)
# For pictures: what a visitor sees at once.
SEEN: Final = BrowserWindow(1280, 720)
SEEN_MOBILE: Final = BrowserWindow(412, 915, 2.0, mobile=True)


def window_of(visit: Visit) -> BrowserWindow:
    mobile = visit.visitor.is_mobile
    if isinstance(visit.capture, Screenshot):
        shot = visit.capture
        return BrowserWindow(shot.width, shot.height, shot.scale, mobile)
    if visit.takes_screenshots:
        return SEEN_MOBILE if mobile else SEEN
    return READING_MOBILE if mobile else READING
