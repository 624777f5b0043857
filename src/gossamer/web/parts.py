"""A page taken apart: all that a crawl needs of it, so that it need not be parsed where the crawl is."""

from dataclasses import dataclass
from typing import Final

from gossamer.web.glance import Glance, glance
from gossamer.web.kind import is_html
from gossamer.web.outcome import NOTE, PLENTY, Judgement, judge
from gossamer.web.page import Page

LARGE: Final = 500_000  # bytes of a body that takes long whatever it is


@dataclass(frozen=True, slots=True)
class Parts:
    glance: Glance
    believed: Judgement  # taken at its word, as most are
    examined: Judgement  # looked into


def take_apart(page: Page, *, agent: str, most_links: int) -> Parts:
    seen = glance(page, agent=agent, most_links=most_links)
    return Parts(seen, believed(page, seen), examined(page, seen))


def believed(page: Page, seen: Glance) -> Judgement:
    return judge(page, title=seen.title, text=seen.text, enough=NOTE)


def examined(page: Page, seen: Glance) -> Judgement:
    return judge(page, title=seen.title, text=seen.text, enough=PLENTY)


def is_quick(page: Page) -> bool:
    """Whether it can be parsed where others wait for it, whoever wrote it."""
    if len(page.body) > LARGE:
        return False
    return not is_html(page.media_type, page.body, page.final_url) or page.is_light
