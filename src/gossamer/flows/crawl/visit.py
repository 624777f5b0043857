"""What becomes of one URL of a crawl.

A redirect is not followed: where it leads to is another URL of the crawl, perhaps of another host, whose turn
comes when that host may be asked. What is tried again:

    no answer, 429, 5xx     after 1 s, 2 s and 4 s, and up to half a second more; then it has failed
    what is to be rendered  when its tenant may render again, as often as it takes
    anything else           is what the page is
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from gossamer.flows.crawl.plan import Plan
from gossamer.problems import Problem
from gossamer.reach.failures import is_transient, reason_of
from gossamer.reach.retry import is_transient_status
from gossamer.state.frontier import CrawledPage, NewUrl, Task
from gossamer.state.limits import Standing
from gossamer.state.waiting import RENDER_LIMIT
from gossamer.web.outcome import Judgement, Outcome
from gossamer.web.page import Page

MOST_ATTEMPTS: Final = 4  # the first, and three more
FIRST_PAUSE: Final = 1.0  # seconds
JITTER: Final = 0.5


class End(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    AGAIN = "pending"


@dataclass(slots=True)
class Visited:
    """What became of a URL, and what was found there."""

    task: Task
    plan: Plan
    end: End = End.COMPLETED
    reason: str = ""
    pause: float = 0.0  # seconds until it is tried again
    counts: bool = True  # as an attempt
    row: CrawledPage | None = None
    page: Page | None = None  # whose content is to be kept
    judgement: Judgement | None = None
    urls: list[NewUrl] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)  # by which they are known once they are written down

    @property
    def needs_script(self) -> bool:
        return self.judgement is not None and self.judgement.reason == "script_needed"


def again(task: Task, plan: Plan, reason: str, randomness: float) -> Visited:
    pause = FIRST_PAUSE * 2.0 ** (task.attempt - 1) + JITTER * randomness
    return Visited(task, plan, End.AGAIN, reason, pause)


def put_off(task: Task, plan: Plan, full: Standing) -> Visited:
    """Nothing was asked of its host: the tenant may not render more now."""
    wait = full.tally.reset_at - full.tally.stamp / 1_000_000
    return Visited(task, plan, End.AGAIN, RENDER_LIMIT, max(FIRST_PAUSE, wait), counts=False)


def blocked(task: Task, plan: Plan, reason: str) -> Visited:
    return Visited(task, plan, End.BLOCKED, reason)


def unanswered(task: Task, plan: Plan, problem: Problem, randomness: float) -> Visited:
    reason = reason_of(problem) or problem.kind.name
    if is_transient(problem) and task.attempt < MOST_ATTEMPTS:
        return again(task, plan, reason, randomness)
    return _failed(task, plan, reason)


def unreadable(task: Task, plan: Plan, page: Page, problem: Problem) -> Visited:
    """It came, and nobody knows what it says: no one can be made to work on it for ever."""
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


def broken(task: Task, plan: Plan) -> Visited:
    """It is a defect of ours, which is in the log."""
    return _failed(task, plan, "defect")


def _failed(task: Task, plan: Plan, reason: str) -> Visited:
    row = CrawledPage(final_url=task.url, error=reason, outcome=Outcome.ERROR)
    return Visited(task, plan, End.FAILED, reason, row=None if task.as_sitemap else row)


def is_to_be_tried_again(task: Task, status: int) -> bool:
    return is_transient_status(status) and task.attempt < MOST_ATTEMPTS
