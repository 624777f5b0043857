"""Crawl results: what a crawl has stored, as it comes, and what each page says.

Pages are kept as they were fetched, many in one object, so what one says is read out of it when somebody
asks: again, and otherwise than before if need be, without fetching anything.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Literal

from gossamer import problems
from gossamer.flows.crawl.content import unpacked
from gossamer.flows.workshop import Workshop
from gossamer.problems import Problem, Unavailable
from gossamer.state import crawled_pages
from gossamer.state.blobs import Blobs
from gossamer.state.crawled_pages import PageFilter, PageRow, Position
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database
from gossamer.web.page import Page, is_text
from gossamer.web.reading import How

Shape = Literal["markdown", "text", "html", "raw"]
LOOK_SECONDS: Final = 0.5  # how often a follower looks for news
AT_ONCE: Final = 200  # pages that a follower is handed, or as many as
HANDFUL: Final = 1_000_000  # characters of what they say
_MEDIA_TYPES: Final[dict[Shape, str]] = {
    "markdown": "text/markdown; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
_ANYTHING: Final = "application/octet-stream"
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")  # RFC 6838 4.2
_CHARSET: Final = re.compile(r"[a-z0-9_.:-]{1,40}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Content:
    body: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A page that was stored; where it was asked for, with what it says, or why that cannot be had."""

    page: PageRow
    content: str | None = None
    unread: str = ""

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
        self, which: PageFilter, after: Position | None, limit: int, *, settled: bool = False
    ) -> list[Stored]:
        """In the order in which they were stored."""
        async with self._database.read() as connection:
            rows = await crawled_pages.listing(connection, which, after=after, limit=limit, settled=settled)
        return [Stored(row) for row in rows]

    async def read(self, found: Sequence[Stored], shape: Shape | None) -> AsyncGenerator[Stored]:
        """The same with what they say, one after the other: each may take long. To be closed by who stops
        early."""
        name, whole = None, None
        for stored in found:
            blob = None if shape is None else stored.page.blob
            if blob is not None and blob != name:  # those that were stored together are in one object
                name, whole = blob, await self._blobs.get(blob)
            yield stored if blob is None or shape is None else await self._with_content(stored, whole, shape)

    async def follow(
        self, which: PageFilter, after: Position | None = None, shape: Shape | None = None
    ) -> AsyncGenerator[list[Stored]]:
        """All that is stored from `after` on, until the crawl does not run any more. Now and then an empty
        list, for who wants to do something else; to be closed by who stops early."""
        while True:
            crawl = await self._crawls.get(which.crawl_id)  # before the pages: none comes after its end
            runs = crawl is not None and crawl.state == "running"
            found = await self.listing(which, after, AT_ONCE, settled=runs)
            async with aclosing(self.handfuls(found, shape)) as handfuls:
                async for some in handfuls:
                    yield some
            if found:
                after = found[-1].position
                continue
            yield []
            if not runs:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def handfuls(self, found: Sequence[Stored], shape: Shape | None) -> AsyncGenerator[list[Stored]]:
        """The same in lists, each before anybody has waited for it for long or it is a lot."""
        clock = asyncio.get_running_loop().time
        some: list[Stored] = []
        size, until = 0, clock() + LOOK_SECONDS
        async with aclosing(self.read(found, shape)) as reading:
            async for stored in reading:
                some.append(stored)
                size += len(stored.content or "")
                if size > HANDFUL or clock() > until:
                    yield some
                    some, size, until = [], 0, clock() + LOOK_SECONDS
        if some:
            yield some

    async def content(self, row: PageRow, shape: Shape) -> Content:
        """What a page says. Raises `Problem` for what is not kept and for what cannot be read."""
        whole = await self._blobs.get(row.blob) if row.blob else None
        if whole is None:
            raise Problem(problems.NOT_FOUND, "The content of this page is not kept.")
        page = _taken_out(whole, row)
        if shape == "raw":
            return Content(page.body, _declared(page))
        return Content((await self._said(page, shape)).encode(), _MEDIA_TYPES[shape])

    async def _with_content(self, stored: Stored, whole: bytes | None, shape: Shape) -> Stored:
        if whole is None:
            return replace(stored, unread="not_kept")
        try:
            return replace(stored, content=await self._said(_taken_out(whole, stored.page), shape))
        except Unavailable:
            raise
        except Problem as problem:  # an image, or more than can be read: without words, and no end of others
            details = problem.members.get("details") or {}
            return replace(stored, unread=details.get("reason") or problem.kind.code.lower())

    async def _said(self, page: Page, shape: Shape) -> str:
        reading = await self._workshop.read(page, How())
        return {"markdown": reading.markdown, "text": reading.text, "html": reading.html}[shape]


def _taken_out(whole: bytes, row: PageRow) -> Page:
    return unpacked(whole[row.blob_offset : row.blob_offset + row.blob_size])


def _declared(page: Page) -> str:
    """What a body is, in our words: a target's own may be anything, and it is a header of our answer."""
    if not _MEDIA_TYPE.fullmatch(page.media_type):
        return _ANYTHING
    if is_text(page.media_type) and _CHARSET.fullmatch(page.charset):
        return f"{page.media_type}; charset={page.charset}"
    return page.media_type
