"""Sitemaps of a crawl that is kept fresh: whether one is as it was, what it says of its pages, and when it is
read again."""

import hashlib
import time
from typing import Final

from gossamer.flows.crawl.plan import CrawlPlan
from gossamer.flows.crawl.seeds import new_url
from gossamer.flows.crawl.visiting.visit import Visited
from gossamer.problems import Problem
from gossamer.state.crawl.refresh.fresh_pages import PageVisit
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.refresh.page_change import GONE_STATUSES, NOT_MODIFIED, PageChange
from gossamer.web.crawl.refresh.sitemap_hints import PageHint, read_frequency, read_time
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS
from gossamer.web.pages.page import Page
from gossamer.web.robots.sitemap import Entries
from gossamer.web.url.url import Url

LOOKED_BACK_MS: Final = 7 * DAY_MS  # since sitemaps may be written late
_ERROR: Final = 400


def is_known_sitemap(task: CrawlTask, page: Page) -> bool:
    """Whether the answer is the sitemap that was read before."""
    if not task.as_sitemap or task.known is None or page.status >= _ERROR:
        return False
    return bool(task.known.mark.content_hash) and task.known.mark.content_hash == _hash(page)


def newest_first(entries: Entries) -> list[str]:
    """The URLs of a sitemap that is read again. There may be room for few, and most are known."""
    return [entry.url for entry in sorted(entries.entries, key=lambda entry: entry.modified, reverse=True)]


def read_hints(task: CrawlTask, plan: CrawlPlan, entries: Entries) -> list[PageHint]:
    """What a sitemap says of pages on its own host. It has no say about others. What it said long before it
    was read the last time is known."""
    hints: dict[str, PageHint] = {}
    now, since = round(time.time() * 1_000), _known_since(task)
    for entry in () if entries.is_index else entries.entries:
        said = read_time(entry.modified, now) if entry.modified else None
        if since and (said is None or said.last < since):
            continue
        prior = read_frequency(entry.frequency)
        if (said is not None or prior is not None) and (found := _identify(entry.url, task, plan)):
            hints[found] = PageHint(found, said, prior)
    return list(hints.values())


def _known_since(task: CrawlTask) -> int:
    """0: nothing is known of what it says."""
    if task.known is None or not task.known.mark.content_hash:
        return 0
    return task.known.history.visited_at - LOOKED_BACK_MS


def _identify(text: str, task: CrawlTask, plan: CrawlPlan) -> str:
    """The hash of a page on the host of the sitemap; empty if it is none."""
    try:
        url = Url.parse(text)
    except Problem:
        return ""
    if url.site != task.host:
        return ""
    named = url if plan.traps is None else plan.traps.of(url.site).identify(url).named
    return new_url(named, plan.spec).url_hash


def sitemap_visit(visited: Visited, answer: Page | None, randomness: float) -> PageVisit:
    """The visit to a sitemap. It is read again as often as it changes, once a day at least. Of the first
    reading nothing is remembered: the pages of which it tells are not stored yet."""
    spec = visited.plan.spec
    change = _compare(visited.task, answer)
    is_read = answer is not None and answer.status < _ERROR
    least = max(spec.refresh_least * 1_000, HOUR_MS)
    most = spec.refresh_most * 1_000
    return PageVisit(
        change=change,
        least_ms=least,
        most_ms=min(most, DAY_MS) if is_read else most,
        bytes=0 if answer is None else answer.wire_bytes or len(answer.body),
        randomness=randomness,
        content_hash=_hash(answer) if answer is not None and change is PageChange.CHANGED else None,
    )


def _compare(task: CrawlTask, answer: Page | None) -> PageChange:
    if answer is None:
        return PageChange.FAILED
    if answer.status == NOT_MODIFIED:
        return PageChange.NOT_MODIFIED
    if answer.status in GONE_STATUSES:
        return PageChange.GONE
    if answer.status >= _ERROR:
        return PageChange.FAILED
    if task.known is None:
        return PageChange.NEW
    return PageChange.UNCHANGED if is_known_sitemap(task, answer) else PageChange.CHANGED


def _hash(page: Page) -> str:
    return hashlib.sha256(page.body).hexdigest()
