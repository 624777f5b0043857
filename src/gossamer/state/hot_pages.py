"""The hot tier of rendered pages: pages of `Hot`, by edition."""

import asyncio
from collections.abc import Awaitable, Mapping

from gossamer.state.cached_page import EDITION_BYTES, CachedPage, edition_of
from gossamer.state.hot import Hot


class HotPages:
    def __init__(self, hot: Hot) -> None:
        self._hot = hot

    def ask(self, name: str) -> Awaitable[bytes | None]:
        """The page as it is framed. Asked for when this is called."""
        return self._hot.page(hot_name(name))

    def ask_edition(self, name: str, *, touch: bool = True) -> Awaitable[bytes | None]:
        """Only so much of it that its edition can be told."""
        return self._hot.page(hot_name(name), start=EDITION_BYTES, touch=touch)

    async def edition(self, name: str) -> int:
        """0: it is not there."""
        start = await self.ask_edition(name, touch=False)
        return edition_of(start) if start else 0

    async def keep(self, name: str, edition: int, page: CachedPage) -> bool:
        """False when a newer edition is there, or this one was dropped."""
        return await self._hot.keep_page(hot_name(name), page.framed(edition), edition=edition)

    async def drop(self, name: str, edition: int) -> bool:
        """This edition and all older ones; with 0 whichever is there."""
        return await self._hot.drop_page(hot_name(name), edition=edition)

    async def drop_all(self, editions: Mapping[str, int]) -> bool:
        """These editions and all older ones; whether any was there."""
        dropped = await asyncio.gather(*(self.drop(name, edition) for name, edition in editions.items()))
        return any(dropped)

    async def ping(self) -> None:
        await self._hot.ping()


def hot_name(name: str) -> str:
    """Under which key Hot has a page."""
    return f"render:{name}"
