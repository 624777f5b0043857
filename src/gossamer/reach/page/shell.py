"""Decides whether a page shows content or is still an empty shell, and whether something may still fill it.

A shell has little text, and an empty mount point of an application, an empty `main`, or a sign of loading.
Every page that `web/outcome` calls empty because it needs scripts is a shell. Text in navigation and at the
edges of the page does not count.
"""

from typing import Final

import msgspec

from gossamer.web.html.markup_scan import MOUNT_SELECTOR
from gossamer.web.outcome.page_view import FRAGMENT, UNFILLED
from gossamer.web.outcome.signs import LOADING_TITLES

# Seconds to wait for a shell in which nothing changes.
BARE: Final = 1.0  # if no timer, request, socket or worker is known that could fill it
PULSE: Final = 10.0  # if only intervals or the like are known
LATE: Final = 60.0  # seconds; a timer that is due later does not fill the page
LOADERS: Final = ", ".join(
    (
        "[aria-busy=true]",
        "[role=progressbar]:not([aria-valuenow])",
        *(f"[class*={word} i]" for word in ("skeleton", "shimmer", "spinner", "placeholder-glow")),
        *(f".{word}" for word in ("loader", "loading", "preloader", "ghost-loading")),
    )
)
_EDGES: Final = " .\u2026!\u3002\uff01:;,-\u2013"
GIVEN: Final = {
    "enough": FRAGMENT,
    "nodes": 5_000,
    "deepest": 300,
    "longest": 100,
    "mounts": MOUNT_SELECTOR,
    "loaders": LOADERS,
}


class PageContent(msgspec.Struct, frozen=True):
    letters: int  # of all text
    own: int  # outside of navigation and edges; counted only as far as it matters
    said: list[str]  # the pieces of that text
    mounted: int | None  # letters in the mount point of an application
    unfilled: bool  # a `main` is empty
    loader: bool
    media: bool
    still: float  # milliseconds since the document changed
    ready: bool  # false if the page says that it is not ready
    due: float | None  # milliseconds until the next timer
    pulse: bool  # an interval or a worker runs, which may never add content
    coming: bool  # a timer or worker will certainly act soon
    lowest: int  # pixels from the top of the page to the lowest element that loads when it is seen

    @property
    def is_shell(self) -> bool:
        if self.own >= FRAGMENT:
            return False
        blank = self.letters == 0 and not self.media
        unfilled = self.unfilled or (self.mounted is not None and self.mounted < UNFILLED)
        return blank or unfilled or self.loader or any(map(_says_loading, self.said))

    def may_be_filled(self, left: float, *, expected: bool, live: bool, calm: float) -> bool:
        """Whether to wait for content. `left` seconds are left; the network was silent for `calm` seconds."""
        if expected or self.coming or (self.due is not None and self.due / 1000 < left):
            return True
        return min(calm, self.still / 1000) < (PULSE if self.pulse or live else BARE)

    @property
    def is_late(self) -> bool:
        """Whether a timer would probably have filled it with more time."""
        return self.is_shell and self.due is not None and self.due / 1000 < LATE


def _says_loading(text: str) -> bool:
    return LOADING_TITLES.fullmatch(text.lower().strip(_EDGES)) is not None
