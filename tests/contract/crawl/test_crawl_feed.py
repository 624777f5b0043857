"""Who follows a crawl sees every change, and all of them together cost as much as one."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import event as sql
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, done, urls

from gossamer.flows.crawl.managing.crawl_feed import CrawlFeed
from gossamer.state.crawl.reading import live_crawl
from gossamer.state.crawl.reading.live_crawl import LiveCrawl
from gossamer.state.crawl.removal import deleting
from gossamer.state.db.database import Database

FOLLOWERS = 20
LONG = 60.0  # seconds; nothing here takes so long
MINUTE = 60 * SECOND


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


class Looks:
    """Counts how often crawls are looked at."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        sql.listen(database._reader.engine.sync_engine, "before_cursor_execute", self._count)

    def _count(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.count += "crawl_minutes" in statement


async def look(ground: Ground, crawl_id: str, now: int) -> LiveCrawl:
    async with ground.database.read() as connection:
        live = await live_crawl.look(connection, crawl_id, now=now)
    assert live is not None
    return live


async def test_a_crawl_is_seen_with_its_rate_its_hosts_and_its_newest_pages(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 20), *urls("b:80", 5)])
    live = await look(ground, crawl.id, NOW)
    assert (live.crawl, live.rate, live.pages) == (crawl, 0.0, ())
    assert [(one.host, one.pending, one.done) for one in live.hosts] == [("a:80", 20, 0), ("b:80", 5, 0)]
    (lease,) = [one for one in await ground.lease(2) if one.host == "a:80"]
    for number in range(2):
        now = NOW + number * 30 * SECOND
        assert await ground.hosts.extend([lease], now=now) or number  # its own lease is long over
        tasks = await ground.frontier.take(lease, 12, now=NOW)
        await ground.frontier.settle(lease, done(tasks[:6]), now=NOW + number)
    live = await look(ground, crawl.id, NOW + 10 * SECOND)
    assert live.hosts[0].host == "a:80"
    assert (live.hosts[0].in_progress, live.hosts[0].pending, live.hosts[0].done) == (8, 0, 12)
    assert len(live.pages) == live_crawl.MAX_PAGES
    times = [page.crawled_at for page in live.pages]
    assert times == sorted(times, reverse=True)
    assert live.pages[0].status_code == 200
    assert live.rate == 1.2  # 12 in the ten seconds since it began


async def test_the_rate_fades_within_two_minutes(ground: Ground) -> None:
    start = NOW - NOW % MINUTE + MINUTE
    crawl = await ground.crawl(urls("a:80", 60), now=start)
    (lease,) = await ground.lease(now=start)
    for at in (start, start + 1):
        tasks = await ground.frontier.take(lease, 30, now=start)
        await ground.frontier.settle(lease, done(tasks), now=at)
    rates = [(await look(ground, crawl.id, start + seconds * SECOND)).rate for seconds in (59, 90, 120, 180)]
    assert rates == [1.02, 0.5, 0.0, 0.0]


async def test_all_followers_share_one_look_and_see_each_change(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    feed, looks = CrawlFeed(ground.database, seconds=0.2), Looks(ground.database)
    seen: asyncio.Queue[str] = asyncio.Queue()

    async def follow() -> list[str]:
        states: list[str] = []
        async with feed.following(crawl.id) as follower:
            while not follower.has_ended:
                live = await follower.next(LONG)
                if live is not None:
                    states.append(live.crawl.state)
                    seen.put_nowait(live.crawl.state)
        return states

    async def all_see(state: str) -> None:
        for _ in range(FOLLOWERS):
            assert await seen.get() == state

    began = asyncio.get_running_loop().time()
    following = [asyncio.create_task(follow()) for _ in range(FOLLOWERS)]
    async with asyncio.timeout(LONG):
        await all_see("running")
        await ground.crawls.pause(crawl.id)
        await all_see("paused")
        await ground.crawls.cancel(crawl.id)
        await all_see("canceled")
        told = await asyncio.gather(*following)
    assert all(states == ["running", "paused", "canceled"] for states in told)
    passed = asyncio.get_running_loop().time() - began
    assert looks.count <= passed / 0.2 + 2  # not once for each of them
    assert feed._watching is None  # nobody is left to look for


async def test_a_crawl_that_is_deleted_ends_for_its_followers(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 3))
    feed = CrawlFeed(ground.database, seconds=0.05)
    async with asyncio.timeout(LONG), feed.following(crawl.id) as follower:
        assert await follower.next(LONG) is not None
        assert await follower.next(0.2) is None  # nothing has changed
        assert not follower.has_ended
        async with ground.database.write() as connection:
            assert await deleting.mark(connection, crawl.id, None) is not None
        assert await follower.next(LONG) is None
        assert follower.has_ended
