"""Crawl results: the pages that a crawl has stored, and the content of each.

Pages are stored as they were fetched, many in one blob. A page is parsed when its content is asked for, so a
caller can have it in another format later, and nothing is fetched again.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.crawl.content import PICTURE_TYPE, unpack_row
from gossamer.flows.crawl.reading.site_memories import SiteMemories
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.parsers.ruled_reading import read_by_rule
from gossamer.problems import Busy, Problem, Unavailable
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawled_pages
from gossamer.state.crawl.crawled_pages import PageFilter, Position, StoredPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.reading import tenant_pages, trail
from gossamer.state.crawl.reading.trail import Trail
from gossamer.state.db.database import Database
from gossamer.web.html.links import Link
from gossamer.web.pages.page import Page, is_text
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.sites.rule_set import NO_RULE, PageRule, RuleSet
from gossamer.web.url.url import Url

Shape = Literal["markdown", "text", "html", "raw"]
POLL_SECONDS: Final = 0.5  # how often a follower looks for new pages
MAX_PAGES_AT_ONCE: Final = 200  # that a follower reads from the database
MAX_RULE_SETS: Final = 1_000  # that are remembered
MAX_CHUNK_CHARS: Final = 1_000_000  # of content; a chunk ends after the page that exceeds it
_MEDIA_TYPES: Final[dict[Shape, str]] = {
    "markdown": "text/markdown; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
_ANY_TYPE: Final = "application/octet-stream"
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")  # RFC 6838 4.2
_CHARSET: Final = re.compile(r"[a-z0-9_.:-]{1,40}", re.IGNORECASE)


class StoredContent(Struct, frozen=True):
    body: bytes
    media_type: str


class WantedContent(Struct, frozen=True):
    """What to read from stored pages: the content in one format, all parts that the options name, or both."""

    shape: Shape | None = None
    options: ReadingOptions | None = None

    def __bool__(self) -> bool:
        return self.shape is not None or self.options is not None


NOTHING: Final = WantedContent()


class PageWithContent(Struct, frozen=True):
    """A stored page, with its content if the caller asked for it."""

    page: StoredPage
    content: str | None = None
    reading: Reading | None = None  # everything else that the caller asked for
    unread: str = ""  # why there is no content

    @property
    def position(self) -> Position:
        return Position(self.page.crawled_at, self.page.url_hash, self.page.crawl_id)

    @property
    def chars(self) -> int:
        """About how much content it has."""
        texts = (self.reading.markdown, self.reading.html, self.reading.raw_html) if self.reading else ()
        return sum(len(text or "") for text in (self.content, *texts))


class CrawlResults(Struct, frozen=True):
    database: Database
    crawls: Crawls
    blobs: Blobs
    parsers: ParserPool
    memories: SiteMemories
    _rules: dict[str, RuleSet] = field(default_factory=dict)  # of crawls

    async def get(self, crawl_id: str, page_id: str) -> StoredPage | None:
        async with self.database.read() as connection:
            return await crawled_pages.get(connection, crawl_id, page_id)

    async def listing(
        self, which: PageFilter, after: Position | None, limit: int, *, settled: bool = False
    ) -> list[PageWithContent]:
        """Pages of a crawl in the order in which they were stored, or of all crawls of a tenant."""
        async with self.database.scan() as connection:
            if which.crawl_id:
                rows = await crawled_pages.listing(
                    connection, which, after=after, limit=limit, settled=settled
                )
            else:
                rows = await tenant_pages.listing(connection, which, after=after, limit=limit)
        return [PageWithContent(row) for row in rows]

    async def history(self, tenant: str, url_hash: str, limit: int) -> list[PageWithContent]:
        """The pages of one URL in all crawls of a tenant, the newest first."""
        async with self.database.read() as connection:
            rows = await tenant_pages.history(connection, tenant, url_hash, limit=limit)
        return [PageWithContent(row) for row in rows]

    async def listing_when_free(
        self, which: PageFilter, after: Position | None, limit: int, *, settled: bool = False
    ) -> list[PageWithContent]:
        """Like `listing`, for a caller that has sent a part of its answer already: it waits while the
        database is busy."""
        while True:
            try:
                return await self.listing(which, after, limit, settled=settled)
            except Busy:
                await asyncio.sleep(POLL_SECONDS)

    async def read(
        self, found: Sequence[PageWithContent], wanted: WantedContent
    ) -> AsyncGenerator[PageWithContent]:
        """The pages with their content, one by one, because each may take long. A caller that stops early
        must close it."""
        name, whole = None, None
        for stored in found:
            blob = stored.page.blob if wanted else None
            if blob is not None and blob != name:  # pages that were stored together share a blob
                name, whole = blob, await self.blobs.get(blob)
            if not wanted or (blob is None and not stored.page.content_hash):
                yield stored
            else:
                yield await self._with_content(stored, whole if blob is not None else None, wanted)

    async def follow(
        self, which: PageFilter, after: Position | None = None, wanted: WantedContent = NOTHING
    ) -> AsyncGenerator[list[PageWithContent]]:
        """All pages stored after `after`, until the crawl stops running; of a tenant, those stored by now.
        Yields an empty list now and then, so that the caller can do something else. A caller that stops early
        must close it."""
        while True:
            # Before the pages: none is stored after its end.
            crawl = await self.crawls.get(which.crawl_id) if which.crawl_id else None
            runs = crawl is not None and crawl.state == "running"
            found = await self.listing_when_free(which, after, MAX_PAGES_AT_ONCE, settled=runs)
            async with aclosing(self.chunks(found, wanted)) as chunks:
                async for chunk in chunks:
                    yield chunk
            if found:
                after = found[-1].position
                continue
            yield []
            if not runs:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def chunks(
        self, found: Sequence[PageWithContent], wanted: WantedContent
    ) -> AsyncGenerator[list[PageWithContent]]:
        """The pages with their content, in lists. A list ends when it is long or has taken a while."""
        clock = asyncio.get_running_loop().time
        chunk: list[PageWithContent] = []
        size, until = 0, clock() + POLL_SECONDS
        async with aclosing(self.read(found, wanted)) as reading:
            async for stored in reading:
                chunk.append(stored)
                size += stored.chars
                if size > MAX_CHUNK_CHARS or clock() > until:
                    yield chunk
                    chunk, size, until = [], 0, clock() + POLL_SECONDS
        if chunk:
            yield chunk

    async def content(self, row: StoredPage, shape: Shape) -> StoredContent:
        """The content of a page. Raises `Problem` if it is not stored or cannot be read."""
        page = await self.load(row)
        if shape == "raw":
            return StoredContent(page.body, _media_type(page))
        reading = await self._read(row, page, ReadingOptions())
        return StoredContent(_content(reading, shape).encode(), _MEDIA_TYPES[shape])

    async def links(self, row: StoredPage) -> Sequence[Link]:
        """What a page links to. Raises `Problem` if it is not stored or cannot be read."""
        options = ReadingOptions(main_content=False, markdown=False, html=False)
        return (await self.parsers.read(await self.load(row), options)).links

    async def picture(self, row: StoredPage) -> StoredContent:
        """The screenshot of a page. Raises `Problem` if there is none."""
        body = await self.blobs.get(row.screenshot) if row.screenshot else None
        if body is None:
            raise Problem(
                problems.NOT_FOUND,
                "No picture of this page is kept.",
                hint="Start a crawl with `screenshots`, or ask for one with POST /screenshot.",
            )
        return StoredContent(body, PICTURE_TYPE)

    async def trail(self, row: StoredPage) -> Trail:
        """How the crawl found the page."""
        async with self.database.read() as connection:
            return await trail.look(connection, row.crawl_id, row.url_hash)

    async def load(self, row: StoredPage) -> Page:
        """The page as it was crawled. Raises `Problem` if its content is not kept."""
        whole = await self.blobs.get(row.blob) if row.blob else None
        if whole is None:
            raise Problem(problems.NOT_FOUND, "The content of this page is not kept.")
        return unpack_row(whole, row)

    async def _read(self, row: StoredPage, page: Page, options: ReadingOptions) -> Reading:
        """Read a page, without what recurs on the pages of its host if its main content is wanted."""
        if options.main_content:
            options = replace(options, memory=await self.memories.get(row.crawl_id, row.host))
        rule = await self._rule_of(row) if options.main_content and not options.include else NO_RULE
        return await read_by_rule(self.parsers, page, options, rule)

    async def _rule_of(self, row: StoredPage) -> PageRule:
        """The rules of a crawl do not change."""
        known = self._rules.get(row.crawl_id)
        if known is None:
            crawl = await self.crawls.get(row.crawl_id)
            if len(self._rules) >= MAX_RULE_SETS:
                self._rules.clear()
            known = self._rules[row.crawl_id] = RuleSet() if crawl is None else crawl.spec.rule_set
        return known.at(Url.parse(row.url)) if known.rules else NO_RULE

    async def _with_content(
        self, stored: PageWithContent, whole: bytes | None, wanted: WantedContent
    ) -> PageWithContent:
        if whole is None:
            return replace(stored, unread="not_kept")
        try:
            page = unpack_row(whole, stored.page)
            reading = await self._read(stored.page, page, wanted.options or ReadingOptions())
        except Unavailable:
            raise
        except Problem as problem:  # an image, or too large to read: the other pages follow
            return replace(stored, unread=problem.reason or problem.kind.code.lower())
        return replace(
            stored,
            content=None if wanted.shape is None else _content(reading, wanted.shape),
            reading=None if wanted.options is None else reading,
        )


def _content(reading: Reading, shape: Shape) -> str:
    return {"markdown": reading.markdown, "text": reading.text, "html": reading.html}[shape]


def _media_type(page: Page) -> str:
    """The media type for our answer's header. The target's own may be anything, so it is checked."""
    if not _MEDIA_TYPE.fullmatch(page.media_type):
        return _ANY_TYPE
    if is_text(page.media_type) and _CHARSET.fullmatch(page.charset):
        return f"{page.media_type}; charset={page.charset}"
    return page.media_type
