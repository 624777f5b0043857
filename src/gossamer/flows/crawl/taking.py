"""Pages that are taken apart elsewhere, because nobody knows how long that takes.

A worker has one event loop for all its hosts, and no page may stop it: what is not quick for certain is done
by a process that can be stopped.
"""

from dataclasses import dataclass
from typing import Final

from gossamer.flows.crawl.visit import is_to_be_tried_again
from gossamer.flows.workshop import Workshop
from gossamer.reach.http import REDIRECTS
from gossamer.state.frontier import Task
from gossamer.web import sitemap
from gossamer.web.page import Page
from gossamer.web.parts import Parts, is_quick
from gossamer.web.sitemap import Entries

ERROR: Final = 400
_SIGNS: Final = (b"<urlset", b"<sitemapindex")
_GZIP: Final = b"\x1f\x8b"

Taken = Parts | Entries


@dataclass(frozen=True, slots=True)
class Taking:
    workshop: Workshop
    agent: str

    async def of(self, task: Task, page: Page, most_links: int) -> Taken:
        if is_sitemap(task, page):
            return await self.workshop.entries(page)
        return await self.workshop.take_apart(page, agent=self.agent, most_links=most_links)


def is_at_hand(task: Task, page: Page) -> bool:
    """Whether it is quick, or not looked into at all."""
    if is_redirect(page) or is_to_be_tried_again(task, page.status):
        return True
    if is_sitemap(task, page):
        return sitemap.is_quick(page.body)
    return task.as_sitemap or is_quick(page)


def is_redirect(page: Page) -> bool:
    return page.status in REDIRECTS or bool(page.redirects)


def is_sitemap(task: Task, page: Page) -> bool:
    if page.status >= ERROR:
        return False
    if task.as_sitemap:
        return True
    if page.body.startswith(_GZIP):
        return "sitemap" in page.url
    return page.media_type.endswith("xml") and any(sign in page.body[:2048] for sign in _SIGNS)
