"""Links into a stored page, looked up when somebody asks for them.

They are in the links that were kept with the pages. The bodies of pages without kept links are read, one blob
after the other. A look ends after a while, or with enough links, and says how far it got.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from itertools import groupby
from typing import Final

from msgspec import Struct, field

from gossamer.flows.crawl.content import unpack_row
from gossamer.flows.crawl.reading.kept_links import KeptLinks
from gossamer.flows.crawl.reading.results import CrawlResults, PageWithContent
from gossamer.flows.crawl.seeds import tracking_of, visitors_of
from gossamer.problems import Problem, Unavailable
from gossamer.state.crawl.crawled_pages import PageFilter, Position, StoredPage
from gossamer.web.crawl.graph.link_search import LinkSearch
from gossamer.web.crawl.graph.link_section import LinkSection
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.html.links import Link
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

MAX_FOUND: Final = 50
SECONDS: Final = 3.0
LOOKS_AT_ONCE: Final = 2  # in one process; the others wait as long as they have time
ROWS_AT_ONCE: Final = 200


class LinkIn(Struct, frozen=True):
    """A page that links to the one that was asked about."""

    page: StoredPage
    link: Link


class LinksIn(Struct):
    """What was found so far, and how far that is."""

    found: list[LinkIn] = field(default_factory=list)
    looked_at: int = 0  # pages
    unread: int = 0  # pages of these that may have a link and could not be read
    last: Position | None = None  # of the last page that was looked at
    is_over: bool = False  # no page is left

    @property
    def is_complete(self) -> bool:
        return self.is_over and not self.unread


class LinksInFinder(Struct, frozen=True):
    results: CrawlResults
    kept: KeptLinks
    seconds: float = SECONDS
    most: int = MAX_FOUND
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOOKS_AT_ONCE))

    async def look(self, target: StoredPage, spec: CrawlSpec, after: Position | None = None) -> LinksIn:
        """Look at the pages of the target's crawl, or at those that were stored after a position."""
        url, keeps = Url.parse(target.url), not spec.ignore_trailing_slash
        names = tracking_of if spec.traps == "off" else visitors_of
        search = LinkSearch.of(url, names(spec.ignored_at(url)), keep_slash=keeps)
        seen = LinksIn(last=after)
        with suppress(TimeoutError):  # then what was found by now is the answer
            async with asyncio.timeout(self.seconds), self.places:
                await self._look(target, search, seen)
        return seen

    async def _look(self, target: StoredPage, search: LinkSearch, seen: LinksIn) -> None:
        async with aclosing(self._looks(target, search, seen.last)) as looks:
            async for look in looks:
                await self._examine(look, search, seen)
                if len(seen.found) == self.most:
                    return
        seen.is_over = True

    async def _examine(self, look: "_Look", search: LinkSearch, seen: LinksIn) -> None:
        try:
            link = look.link
            if look.page is not None:
                link = search.find(await self._links(look.page))
            if link is not None:
                seen.found.append(LinkIn(look.row, link))
        except Unavailable:
            raise
        except Problem:  # it takes too much work to read
            seen.unread += 1
        seen.unread += look.is_gone
        seen.looked_at += 1
        seen.last = PageWithContent(look.row).position

    async def _links(self, page: Page) -> tuple[Link, ...]:
        return await self.results.parsers.find_links(page)

    async def _looks(
        self, target: StoredPage, search: LinkSearch, after: Position | None
    ) -> AsyncGenerator["_Look"]:
        """All pages in the order in which they were stored. Those of one blob are looked at together."""
        which = PageFilter(crawl_id=target.crawl_id)
        while rows := await self.results.listing(which, after, ROWS_AT_ONCE):
            blobs = list({stored.page.blob for stored in rows if stored.page.blob is not None})
            sections = await self.kept.in_blobs(target.crawl_id, blobs)
            for blob, together in groupby([stored.page for stored in rows], key=lambda row: row.blob):
                if blob is not None and blob in sections:
                    look_at = partial(_look_at_links, sections[blob], list(together), search)
                else:
                    whole = None if blob is None else await self.results.blobs.get(blob)
                    look_at = partial(_look_into, whole, list(together), target.url_hash, search)
                for look in await asyncio.to_thread(look_at):
                    if look.row.url_hash == target.url_hash:
                        look = _Look(look.row)  # that a page links to itself tells nobody anything
                    yield look
            after = rows[-1].position


class _Look(Struct, frozen=True):
    """One page: with its link, or with its body if it may have one."""

    row: StoredPage
    page: Page | None = None
    link: Link | None = None  # if that is known already
    is_gone: bool = False  # or damaged


def _look_into(whole: bytes | None, rows: list[StoredPage], own: str, search: LinkSearch) -> list[_Look]:
    """Takes a few milliseconds for a blob: not for the event loop's thread."""
    looks = []
    for row in rows:
        if row.blob is None or row.url_hash == own:
            looks.append(_Look(row))
            continue
        page = None if whole is None else _unpack_or_none(whole, row)
        worth = page if page is not None and search.may_be_on(page) else None
        looks.append(_Look(row, worth, is_gone=page is None))
    return looks


def _look_at_links(section: LinkSection, rows: list[StoredPage], search: LinkSearch) -> list[_Look]:
    """Only the different links are compared, not those of every page."""
    leading = {number for number, url in enumerate(section.urls) if search.leads_there(url)}
    found: dict[str, Link] = {}
    for stored in section.pages if leading else ():
        number = next((number for number in stored.links if number in leading), None)
        if number is not None:
            link = section.link(number)
            found[stored.url_hash.hex()] = Link(link.url, link.text, link.rel)
    return [_Look(row, link=found.get(row.url_hash)) for row in rows]


def _unpack_or_none(whole: bytes, row: StoredPage) -> Page | None:
    try:
        return unpack_row(whole, row)
    except Problem:
        return None
