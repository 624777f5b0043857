"""Parses pages in another process if that may take long.

A worker has one event loop for all its hosts, and no page may block it. A page that is not certainly quick is
parsed by a process that can be killed.
"""

from typing import Final

from msgspec import Struct

from gossamer.flows.crawl.visiting.sitemap_reading import is_known_sitemap
from gossamer.flows.crawl.visiting.visit import is_to_be_tried_again
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.reach.http.client import REDIRECTS
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.parts import PageParts, is_quick
from gossamer.web.pages.page import Page
from gossamer.web.robots import sitemap
from gossamer.web.robots.sitemap import Entries

ERROR: Final = 400
_SIGNS: Final = (b"<urlset", b"<sitemapindex")
_GZIP: Final = b"\x1f\x8b"

ParsedPage = PageParts | Entries


class PageParser(Struct, frozen=True):
    parsers: ParserPool
    agent: str

    async def parse(self, task: CrawlTask, page: Page, max_links: int) -> ParsedPage:
        if is_sitemap(task, page):
            return await self.parsers.read_sitemap(page)
        return await self.parsers.take_apart(page, agent=self.agent, max_links=max_links)


def is_quick_here(task: CrawlTask, page: Page) -> bool:
    """Whether the page is quick to parse, or is not parsed at all."""
    if is_redirect(page) or is_to_be_tried_again(task, page.status) or is_known_sitemap(task, page):
        return True
    if is_sitemap(task, page):
        return sitemap.is_quick(page.body)
    return task.as_sitemap or is_quick(page)


def is_redirect(page: Page) -> bool:
    return page.status in REDIRECTS or bool(page.redirects)


def is_sitemap(task: CrawlTask, page: Page) -> bool:
    if page.status >= ERROR:
        return False
    if task.as_sitemap:
        return True
    if page.body.startswith(_GZIP):
        return "sitemap" in page.url
    return page.media_type.endswith("xml") and any(sign in page.body[:2048] for sign in _SIGNS)
