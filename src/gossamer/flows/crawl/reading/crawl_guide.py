"""CrawlGuides: the llms.txt and llms-full.txt of a site, from the stored pages of a crawl.

Pages that are what was asked for are listed: not duplicates, not those that want to be in no index.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.reading.results import CrawlResults, PageWithContent, WantedContent
from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME, PageFilter, StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.web.markdown import llms
from gossamer.web.markdown.llms import GuidePage
from gossamer.web.url.url import Url

MAX_LISTED: Final = 5_000  # pages in llms.txt
MAX_LOOKED_AT: Final = 50_000  # pages of a crawl
MAX_FULL_CHARS: Final = 50_000_000  # of llms-full.txt
MAX_READ_AT_ONCE: Final = 200


class CrawlGuides(Struct, frozen=True):
    results: CrawlResults

    async def write(self, crawl: Crawl) -> str:
        pages: list[GuidePage] = []
        async for found in self._pages(crawl):
            pages += [_to_guide(stored.page) for stored in found]
            if len(pages) > MAX_LISTED:
                break
        title, summary = _introduce(crawl, pages[0] if pages else None)
        return llms.guide(title, summary, pages[:MAX_LISTED], is_cut=len(pages) > MAX_LISTED)

    async def write_full(self, crawl: Crawl) -> AsyncGenerator[str]:
        """Part by part, in the order in which the pages were stored. A caller that stops early must close
        it."""
        room = MAX_FULL_CHARS
        is_begun = False
        async for found in self._pages(crawl):
            if found and not is_begun:
                yield llms.head(*_introduce(crawl, _to_guide(found[0].page)))
                is_begun = True
            async with aclosing(self.results.read(found, WantedContent("markdown"))) as reading:
                async for stored in reading:
                    part = llms.full_part(_to_guide(stored.page), stored.content or "")
                    room -= len(part)
                    if room < 0:
                        yield llms.CUT
                        return
                    yield part
        if not is_begun:
            yield llms.head(*_introduce(crawl, None))

    async def _pages(self, crawl: Crawl) -> AsyncIterator[list[PageWithContent]]:
        """The first one is a seed, since a crawl begins there."""
        which, after, seen = PageFilter(crawl_id=crawl.id, outcome=USUAL_OUTCOME), None, 0
        while seen < MAX_LOOKED_AT:
            found = await self.results.listing_when_free(which, after, MAX_READ_AT_ONCE)
            if not found:
                return
            after, seen = found[-1].position, seen + len(found)
            yield [one for one in found if llms.is_listed(one.page.duplicate_of, one.page.directives)]


def _to_guide(page: StoredPage) -> GuidePage:
    return GuidePage(Url.parse(page.final_url), page.title, page.description)


def _introduce(crawl: Crawl, first: GuidePage | None) -> tuple[str, str]:
    """Title and summary."""
    if first is not None:
        return first.site_title, first.description
    return crawl.name or next(iter(crawl.spec.seeds), crawl.id), ""
