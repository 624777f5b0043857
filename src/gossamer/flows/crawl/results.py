"""Crawl results: what a crawl has stored, as it comes, and what each page says.

Pages are kept as they were fetched, many in one object, so what one says is read out of it when somebody
asks: again, and otherwise than before if need be, without fetching anything.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gossamer import problems
from gossamer.flows.crawl.content import unpacked
from gossamer.flows.workshop import Workshop
from gossamer.problems import Problem
from gossamer.state import crawled_pages
from gossamer.state.blobs import Blobs
from gossamer.state.crawled_pages import PageFilter, PageRow, Position
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database
from gossamer.web.page import Page
from gossamer.web.reading import How

Shape = Literal["markdown", "text", "html", "raw"]
LOOK_SECONDS: Final = 0.5  # how often a follower looks for news
AT_ONCE: Final = 200  # pages that a follower is handed
_MEDIA_TYPES: Final[dict[Shape, str]] = {
    "markdown": "text/markdown; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Content:
    body: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A page that was stored; with what it says, where that was asked for and can be had."""

    page: PageRow
    content: str | None = None

    @property
    def position(self) -> Position:
        return Position(self.page.crawled_at, self.page.url_hash)


class CrawlResults:
    def __init__(self, database: Database, crawls: Crawls, blobs: Blobs, workshop: Workshop) -> None:
        self._database = database
        self._crawls = crawls
        self._blobs = blobs
        self._workshop = workshop

    async def get(self, crawl_id: str, page_id: str) -> PageRow | None:
        async with self._database.read() as connection:
            return await crawled_pages.get(connection, crawl_id, page_id)

    async def listing(
        self,
        which: PageFilter,
        after: Position | None,
        limit: int,
        shape: Shape | None = None,
        *,
        settled: bool = False,
    ) -> list[Stored]:
        """In the order in which they were stored."""
        async with self._database.read() as connection:
            rows = await crawled_pages.listing(connection, which, after=after, limit=limit, settled=settled)
        if shape is None:
            return [Stored(row) for row in rows]
        return await self._with_content(rows, shape)

    async def follow(
        self, which: PageFilter, after: Position | None = None, shape: Shape | None = None
    ) -> AsyncGenerator[list[Stored]]:
        """All that is stored from `after` on, until the crawl does not run any more. Now and then an empty
        list, for who wants to do something else; to be closed by who stops early."""
        while True:
            crawl = await self._crawls.get(which.crawl_id)  # before the pages: none comes after its end
            runs = crawl is not None and crawl.state == "running"
            found = await self.listing(which, after, AT_ONCE, shape, settled=runs)
            yield found
            if found:
                after = found[-1].position
            elif runs:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return

    async def content(self, row: PageRow, shape: Shape) -> Content:
        """What a page says. Raises `Problem` for what is not kept and for what cannot be read."""
        whole = await self._blobs.get(row.blob) if row.blob else None
        if whole is None:
            raise Problem(problems.NOT_FOUND, "The content of this page is not kept.")
        page = _taken_out(whole, row)
        if shape == "raw":
            return Content(page.body, page.header("content-type") or page.media_type)
        return Content((await self._said(page, shape)).encode(), _MEDIA_TYPES[shape])

    async def _with_content(self, rows: Sequence[PageRow], shape: Shape) -> list[Stored]:
        """Those that were stored together are in one object, one after the other."""
        found: list[Stored] = []
        name, whole = None, None
        for row in rows:
            if row.blob is not None and row.blob != name:
                name, whole = row.blob, await self._blobs.get(row.blob)
            found.append(Stored(row, await self._text(whole, row, shape)))
        return found

    async def _text(self, whole: bytes | None, row: PageRow, shape: Shape) -> str | None:
        if whole is None or row.blob is None:
            return None
        try:
            return await self._said(_taken_out(whole, row), shape)
        except Problem:  # an image, or more than can be read: one page without words is no end of the others
            return None

    async def _said(self, page: Page, shape: Shape) -> str:
        reading = await self._workshop.read(page, How())
        return {"markdown": reading.markdown, "text": reading.text, "html": reading.html}[shape]


def _taken_out(whole: bytes, row: PageRow) -> Page:
    return unpacked(whole[row.blob_offset : row.blob_offset + row.blob_size])
