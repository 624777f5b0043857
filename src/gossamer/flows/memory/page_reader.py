"""Reads pages that are remembered by their address: from the cache, from a crawl, or from the web.

Only the page that was asked for is remembered. If the site shows something else in its place, the caller is
told what, and what was remembered before stays.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.read import Reader
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem, Unavailable
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.tenants.activity import Via
from gossamer.web.memory.memory_entry import PageOrigin, PageSource
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import PageRequest, Rendering
from gossamer.web.pages.read_result import ReadResult
from gossamer.web.pages.timestamps import iso
from gossamer.web.url.url import crawl_form, digest

CACHE_SECONDS: Final = 3_600  # for which a page that was fetched is kept in the cache
MAX_CRAWLS: Final = 3  # of the newest that have stored the page


class ReadPage(Struct, frozen=True):
    """A page as it is remembered."""

    title: str
    markdown: str
    source: PageSource


class MemoryPageReader(Struct, frozen=True):
    reader: Reader
    crawls: CrawlResults
    clock: Callable[[], float]

    async def read(self, url: str, caller: Caller, *, max_age: int, render: Rendering) -> ReadPage:
        """Raises `Problem` if the page cannot be read, or is not the one that was asked for."""
        request = PageRequest(url, formats=("markdown", "metadata"), render=render).settled(None)
        request.check()
        caching = Caching(caller.tenant_id, CACHE_SECONDS, max_age)
        if max_age and await self.reader.has(request, caching, caller):
            read, part = await self.reader.read_cached(request, caller, caching)
            return _checked(request, read, "cache" if part.hit else "web")
        if (
            max_age
            and caller.via is not Via.WALLET
            and (stored := await self._crawled(request, caller, max_age))
        ):
            return stored
        return _checked(request, await self.reader.read(request, caller), "web")

    async def _crawled(self, request: PageRequest, caller: Caller, max_age: int) -> ReadPage | None:
        """The page as a crawl of the tenant has stored it, if it is recent enough."""
        url_hash = digest(crawl_form(request.address))
        for found in await self.crawls.history(caller.tenant_id, url_hash, MAX_CRAWLS):
            page = found.page
            if page.outcome == Outcome.OK and page.crawled_at / 1000 >= self.clock() - max_age:
                try:
                    content = await self.crawls.content(page, "markdown")
                except Unavailable:
                    raise
                except Problem:  # it is not kept any more, or cannot be read
                    continue
                return _stored(request, page, content.body.decode())
        return None


def _stored(request: PageRequest, page: StoredPage, markdown: str) -> ReadPage:
    source = PageSource(request.address.href, page.final_url, iso(page.crawled_at / 1000), "crawl")
    return ReadPage(page.title, markdown, source)


def _checked(request: PageRequest, read: ReadResult, origin: PageOrigin) -> ReadPage:
    if read.outcome is not Outcome.OK or not read.markdown:
        outcome = read.outcome if read.outcome is not Outcome.OK else Outcome.EMPTY
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"{request.address.href[:200]} answered with status {read.status}, and the outcome is "
            f"`{outcome}`: this is not the page that was asked for, so it was not remembered.",
            hint="Look at it with POST /fetch, or try `render`.",
            details={"reason": outcome.value, "cause": read.reason or None, "statusCode": read.status},
        )
    source = PageSource(request.address.href, read.final_url, iso(read.fetched_at), origin)
    return ReadPage(read.title, read.markdown, source)
