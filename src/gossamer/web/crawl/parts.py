"""All that a crawl needs of a page, so that another process can parse it."""

from typing import Final

from msgspec import Struct

from gossamer.web.crawl.crawl_view import CrawlView, view_page
from gossamer.web.documents.kind import is_html
from gossamer.web.outcome.judging import judge
from gossamer.web.outcome.outcome import Judgement
from gossamer.web.outcome.page_view import NOTE, PLENTY
from gossamer.web.pages.page import Page

LARGE: Final = 500_000  # bytes; a larger body takes long whatever its type


class PageParts(Struct, frozen=True):
    view: CrawlView
    believed: Judgement  # with a short check of the text, which is enough for most pages
    examined: Judgement  # with a thorough check


def take_apart(page: Page, *, agent: str, max_links: int) -> PageParts:
    seen = view_page(page, agent=agent, max_links=max_links)
    return PageParts(seen, judge_briefly(page, seen), judge_fully(page, seen))


def judge_briefly(page: Page, seen: CrawlView) -> Judgement:
    return judge(page, title=seen.title, text=seen.text, enough=NOTE)


def judge_fully(page: Page, seen: CrawlView) -> Judgement:
    return judge(page, title=seen.title, text=seen.text, enough=PLENTY)


def is_quick(page: Page) -> bool:
    """Whether the page can be parsed in the event loop, even if it is hostile."""
    if len(page.body) > LARGE:
        return False
    return not is_html(page.media_type, page.body, page.final_url) or page.is_light
