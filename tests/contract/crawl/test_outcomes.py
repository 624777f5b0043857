"""The outcomes of stored pages are counted by the minute, with the pages."""

import pytest
from tests.contract.crawl.crawl_ground import NOW, Ground, page, urls

from gossamer.state.crawl.crawl_counts import MINUTE_MS
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.outcome.outcome_counts import OutcomeCounts

MINUTE = NOW // MINUTE_MS
LATE = (MINUTE + 1) * MINUTE_MS
EARLY = LATE - 1


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


def test_every_outcome_has_a_count() -> None:
    assert OutcomeCounts.__struct_fields__ == tuple(outcome.value for outcome in Outcome)


async def test_outcomes_are_counted_once_in_the_minute_of_their_transaction(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 4), now=EARLY)
    (lease,) = await ground.lease(now=EARLY)
    tasks = await ground.frontier.take(lease, 9, now=EARLY)
    outcomes = ("ok", "ok", "soft_404", "")  # a page without one is not counted
    ends = [
        TaskEnd(task=task, page=page(task, outcome=outcome))
        for task, outcome in zip(tasks, outcomes, strict=True)
    ]
    for _ in range(2):  # the second time because it was not known how the first one ended
        assert await ground.frontier.settle(lease, HostSettlement(ends=ends[:2]), now=EARLY)
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends[2:]), now=LATE)
    stats = CrawlStats(ground.database)
    for scope in ({"crawl_id": crawl.id}, {"tenant": ground.tenant}, {}):
        first, second = await stats.timeseries(MINUTE, MINUTE + 2, 1, **scope)
        assert first.outcomes == OutcomeCounts(ok=2)
        assert second.outcomes == OutcomeCounts(soft_404=1)
        (both,) = await stats.timeseries(MINUTE, MINUTE + 2, 2, **scope)
        assert both.outcomes == OutcomeCounts(ok=2, soft_404=1)
    (nothing,) = await stats.timeseries(MINUTE, MINUTE + 2, 2, tenant="01M00000000000000000000000")
    assert nothing.outcomes == OutcomeCounts()
