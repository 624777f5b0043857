"""Near pages: those that this process has at hand, by their edition, bounded by the bytes of their bodies.

They are only ever served after the hot tier has said which edition it has, so what is deleted or replaced
there is so here at once. They save carrying the body over and taking it apart, for every hit.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from gossamer.state.cached_page import CachedPage

OVERHEAD: Final = 2_000  # bytes that a page costs beside its body, about
TOUCH_SECONDS: Final = 1.0  # the hot tier is told so often that a page is in use


@dataclass(slots=True)
class NearPage:
    edition: int
    page: CachedPage
    touched_at: float = 0.0

    def is_to_be_touched(self, now: float) -> bool:
        if now - self.touched_at < TOUCH_SECONDS:
            return False
        self.touched_at = now
        return True


class NearPages:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[str, NearPage] = OrderedDict()

    def get(self, name: str) -> NearPage | None:
        near = self._pages.get(name)
        if near is not None:
            self._pages.move_to_end(name)
        return near

    def keep(self, name: str, edition: int, page: CachedPage) -> None:
        self.drop(name)
        self._pages[name] = NearPage(edition, page)
        self._bytes += len(page.body) + OVERHEAD
        while self._bytes > self._max_bytes:
            _, oldest = self._pages.popitem(last=False)
            self._bytes -= len(oldest.page.body) + OVERHEAD

    def drop(self, name: str) -> None:
        near = self._pages.pop(name, None)
        if near is not None:
            self._bytes -= len(near.page.body) + OVERHEAD
