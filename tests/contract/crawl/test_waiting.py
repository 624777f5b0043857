"""What a crawl waits for: told while nothing of it is being done."""

import pytest
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, done, url, urls

from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.crawl.waiting import RENDER_LIMIT, Waiting
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats

HOUR = 3_600 * SECOND
LATER = NOW + HOUR


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def waiting(ground: Ground, crawl: Crawl, now: int = NOW) -> Waiting | None:
    found = await ground.crawls.get(crawl.id)
    assert found is not None
    return await ground.crawls.waiting(found, now=now)


async def beat(ground: Ground, now: int = NOW) -> None:
    async with ground.database.write() as connection:
        await heartbeats.beat(connection, "w-crawl", (heartbeats.CRAWL,), 0, now=now)


async def test_a_crawl_that_nobody_crawls_waits_for_a_worker(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", 0), url("b:80", 0)])
    assert await waiting(ground, crawl) == Waiting(reason="worker", until=None, hosts=2)
    await beat(ground)
    assert await waiting(ground, crawl) is None  # it is about to begin
    (lease,) = await ground.lease()
    assert await waiting(ground, crawl) is None
    assert await ground.frontier.take(lease, 1, now=NOW)
    assert await waiting(ground, crawl) is None


async def test_a_crawl_whose_hosts_all_rest_waits_for_the_first_of_them(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", 0), url("b:80", 0)])
    leases = {lease.host: lease for lease in await ground.lease(2)}
    silent = StoredRobots(status=None, body="", fetched_at=NOW, expires_at=LATER)
    assert await ground.hosts.keep_robots(leases["a:80"], silent, is_allowed=False, now=NOW)
    assert await ground.hosts.release(leases["a:80"], resting_until=LATER, now=NOW)
    assert await waiting(ground, crawl) is None  # the other is held
    assert await ground.hosts.release(leases["b:80"], resting_until=LATER + SECOND, now=NOW)
    assert await waiting(ground, crawl) == Waiting(reason="robots_unreachable", until=LATER, hosts=2)
    first, second = await ground.hosts.listing(crawl_id=crawl.id, now=NOW)
    assert (first.is_allowed, first.waiting) == (False, Waiting(reason="robots_unreachable", until=LATER))
    assert (second.is_allowed, second.waiting) == (True, Waiting(reason="failing", until=LATER + SECOND))
    (first, _) = await ground.hosts.listing(now=LATER)
    assert first.waiting is None
    assert await waiting(ground, crawl, LATER) == Waiting(reason="worker", until=None, hosts=2)


async def test_a_crawl_waits_for_the_pace_of_its_host_and_for_what_is_tried_again(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    (task,) = await ground.frontier.take(lease, 1, now=NOW)
    again = TaskEnd(task=task, state="pending", due_at=NOW + 4 * SECOND)
    assert await ground.frontier.settle(lease, HostSettlement(ends=[again]), now=NOW)
    assert await ground.hosts.release(lease, next_at=NOW + SECOND, now=NOW)
    assert await waiting(ground, crawl) == Waiting(reason="pace", until=NOW + 4 * SECOND)
    assert await waiting(ground, crawl, NOW + SECOND) == Waiting(reason="retry", until=NOW + 4 * SECOND)
    assert await ground.crawls.pause(crawl.id)
    assert await waiting(ground, crawl) is None


async def test_a_crawl_waits_until_its_tenant_may_render_more(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", 0), url("a:80", 1, priority=1)])
    (lease,) = await ground.lease()
    first, second = await ground.frontier.take(lease, 2, now=NOW)
    limited = TaskEnd(task=second, state="pending", due_at=NOW + SECOND, reason=RENDER_LIMIT, counts=False)
    failed = TaskEnd(task=first, state="pending", due_at=NOW + 2 * SECOND, reason="status_503")
    assert await ground.frontier.settle(lease, HostSettlement(ends=[limited, failed]), now=NOW)
    assert await ground.hosts.release(lease, now=NOW)
    assert await waiting(ground, crawl) == Waiting(reason="render_limit", until=NOW + SECOND)
    (lease,) = await ground.lease(now=NOW + SECOND)
    (again,) = await ground.frontier.take(lease, 2, now=NOW + SECOND)
    assert (again.url_hash, again.attempt) == (second.url_hash, 1)
    assert await ground.frontier.settle(lease, done([again]), now=NOW + SECOND)
    assert await ground.hosts.release(lease, now=NOW + SECOND)
    assert await waiting(ground, crawl, NOW + SECOND) == Waiting(reason="retry", until=NOW + 2 * SECOND)
