"""The result of one URL of a crawl.

A redirect is not followed. Its target is another URL of the crawl, perhaps of another host, whose turn comes
when that host may be asked. What is tried again:

    no answer, 429, 5xx     after 1 s, 2 s and 4 s, and up to half a second more; then it has failed
    render limit reached    when the tenant may render again, as often as it takes
    anything else           never: it is what the page is
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.crawl.content import PagePicture
from gossamer.flows.crawl.plan import CrawlPlan
from gossamer.problems import Problem
from gossamer.reach.http.failures import is_transient, reason_of
from gossamer.reach.http.retry import is_transient_status
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh.fresh_pages import PageVisit
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.crawl.waiting import RENDER_LIMIT
from gossamer.state.tenants.limits import LimitStatus
from gossamer.web.crawl.graph.link_note import LinkNote
from gossamer.web.crawl.refresh.sitemap_hints import PageHint
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page

MAX_ATTEMPTS: Final = 4  # the first, and three more
FIRST_PAUSE: Final = 1.0  # seconds
JITTER: Final = 0.5


class VisitEnd(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    AGAIN = "pending"


class Visited(Struct):
    """The result of a URL, and what was found there."""

    task: CrawlTask
    plan: CrawlPlan
    end: VisitEnd = VisitEnd.COMPLETED
    reason: str = ""
    pause: float = 0.0  # seconds until it is tried again
    counts: bool = True  # as an attempt
    row: CrawledPage | None = None
    page: Page | None = None  # whose content is kept
    picture: PagePicture | None = None  # of the same page
    judgement: Judgement | None = None
    urls: list[NewUrl] = field(default_factory=list)
    links: Sequence[str] = ()  # all that the page has
    notes: Sequence[LinkNote] = ()  # of these, in the same order
    headers: HeaderPairs = ()  # of a redirect, whose body is not kept
    answer: Page | None = None  # what a page of a crawl that is kept fresh answered
    visit: PageVisit | None = None  # and what that means
    hints: list[PageHint] = field(default_factory=list)  # what a sitemap says of pages on its host
    keys: list[int] = field(default_factory=list)  # by which the URLs are known once they are written
    waiting: Mapping[int, int] = field(default_factory=dict)  # keys of results that are written before this

    @property
    def needs_script(self) -> bool:
        return self.judgement is not None and self.judgement.reason == "script_needed"


def again(task: CrawlTask, plan: CrawlPlan, reason: str, randomness: float) -> Visited:
    pause = FIRST_PAUSE * 2.0 ** (task.attempt - 1) + JITTER * randomness
    return Visited(task, plan, VisitEnd.AGAIN, reason, pause)


def put_off(task: CrawlTask, plan: CrawlPlan, full: LimitStatus) -> Visited:
    """No request was sent: the tenant may not render more now."""
    wait = full.tally.reset_at - full.tally.stamp / 1_000_000
    return Visited(task, plan, VisitEnd.AGAIN, RENDER_LIMIT, max(FIRST_PAUSE, wait), counts=False)


def blocked(task: CrawlTask, plan: CrawlPlan, reason: str) -> Visited:
    return Visited(task, plan, VisitEnd.BLOCKED, reason)


def unanswered(task: CrawlTask, plan: CrawlPlan, problem: Problem, randomness: float) -> Visited:
    reason = reason_of(problem) or problem.kind.name
    if is_transient(problem) and task.attempt < MAX_ATTEMPTS:
        return again(task, plan, reason, randomness)
    return _failed(task, plan, reason)


def unreadable(task: CrawlTask, plan: CrawlPlan, page: Page, problem: Problem) -> Visited:
    """The page was fetched, but parsing it failed or took too long."""
    failed = _failed(task, plan, reason_of(problem) or problem.kind.name)
    if failed.row is not None:
        failed.row = replace(
            failed.row,
            final_url=page.final_url,
            status_code=page.status,
            content_type=page.media_type,
            content_length=len(page.body),
            via=page.via,
            duration_ms=page.elapsed_ms,
        )
    return failed


def broken(task: CrawlTask, plan: CrawlPlan) -> Visited:
    """A defect of ours, which is in the log."""
    return _failed(task, plan, "defect")


def _failed(task: CrawlTask, plan: CrawlPlan, reason: str) -> Visited:
    row = CrawledPage(final_url=task.url, error=reason, outcome=Outcome.ERROR)
    return Visited(task, plan, VisitEnd.FAILED, reason, row=None if task.as_sitemap else row)


def is_to_be_tried_again(task: CrawlTask, status: int) -> bool:
    return is_transient_status(status) and task.attempt < MAX_ATTEMPTS
