"""Crawls: begun, paused, resumed, ended and counted."""

import pytest
from msgspec.structs import replace
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, done, page, url, urls

from gossamer.state.crawl import crawl_tables, crawls
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.reading.crawl_stats import MANY_HOSTS, CrawlStats, TimeBucket
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.web.crawl.progress import NO_COUNTS
from gossamer.web.crawl.spec import CrawlSpec

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def test_a_crawl_is_what_was_asked_for(ground: Ground) -> None:
    spec = CrawlSpec(
        seeds=("http://a:80/",),
        scope="prefix",
        include=("*/docs/*",),
        exclude=("*.pdf",),
        max_pages=7,
        delay=0.5,
        render="auto",
        headers={"Cookie": "secret"},
        sitemaps=False,
    )
    assert "secret" not in repr(spec)
    made = await ground.crawls.create(ground.tenant, spec, name="mine", request_id="r", now=NOW)
    found = await ground.crawls.get(made.id)
    assert found == made
    assert (made.spec, made.state, made.name, made.request_id) == (spec, "running", "mine", "r")
    assert (made.created_at, made.started_at, made.finished_at) == (NOW, None, None)
    assert (made.counts, made.is_over, made.is_default) == (NO_COUNTS, False, False)
    assert await ground.crawls.get("none") is None
    assert await ground.crawls.counts("none") == NO_COUNTS
    assert await ground.crawls.some([made.id, "none"]) == {made.id: made}


async def test_crawls_are_listed_newest_first(ground: Ground) -> None:
    made = [await ground.crawl() for _ in range(3)]
    await ground.crawls.cancel(made[1].id, now=NOW)
    ids = [crawl.id for crawl in made][::-1]
    assert [crawl.id for crawl in await ground.crawls.listing(ground.tenant)] == ids
    assert [crawl.id for crawl in await ground.crawls.listing(None, limit=2)] == ids[:2]
    assert [crawl.id for crawl in await ground.crawls.listing(None, before=ids[1])] == ids[2:]
    assert [crawl.id for crawl in await ground.crawls.listing(None, state="canceled")] == [ids[1]]
    assert await ground.crawls.listing("nobody") == []


async def add_default(ground: Ground) -> Crawl | None:
    async with ground.database.write() as connection:
        return await crawls.add_default(
            connection, ground.tenant, CrawlSpec(seeds=("http://a:80/",)), now=NOW
        )


async def test_a_tenant_has_one_default_crawl_until_it_is_canceled(ground: Ground) -> None:
    assert await ground.crawls.default(ground.tenant) is None  # looking for it makes none
    assert await ground.crawls.listing(None) == []
    first = await add_default(ground)
    assert first is not None
    assert await add_default(ground) is None
    assert await ground.crawls.default(ground.tenant) == first
    assert await ground.crawls.cancel(first.id, now=NOW)
    assert await ground.crawls.default(ground.tenant) is None
    again = await add_default(ground)
    assert again is not None
    assert again.id != first.id


async def test_a_default_crawl_is_done_like_any_other_and_goes_on(ground: Ground) -> None:
    crawl = await add_default(ground)
    assert crawl is not None
    await ground.frontier.add(crawl.id, [url("a:80", 1)], now=NOW)
    (lease,) = await ground.lease()
    await ground.frontier.settle(lease, done(await ground.frontier.take(lease, 9, now=NOW)), now=NOW)
    assert await ground.crawls.finish(now=NOW) == [crawl.id]
    assert await ground.frontier.add(crawl.id, [url("a:80", 2)], now=NOW) == 1
    again = await ground.crawls.default(ground.tenant)
    assert again is not None
    assert (again.id, again.state) == (crawl.id, "running")


async def test_a_crawl_is_done_when_nothing_is_left(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    assert await ground.crawls.finish(now=NOW) == []
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 1, now=NOW + SECOND)
    await ground.frontier.settle(lease, done(tasks), now=NOW + SECOND)
    tasks = await ground.frontier.take(lease, 1, now=NOW + SECOND)
    assert await ground.crawls.finish(now=NOW + SECOND) == []  # one is in progress
    await ground.frontier.settle(lease, done(tasks, state="failed"), now=NOW + SECOND)
    assert await ground.crawls.finish(now=NOW + 2 * SECOND) == [crawl.id]
    assert await ground.crawls.finish(now=NOW + 2 * SECOND) == []
    over = await ground.crawls.get(crawl.id)
    assert over is not None
    assert (over.state, over.is_over) == ("done", True)
    assert (over.started_at, over.finished_at) == (NOW + SECOND, NOW + 2 * SECOND)
    assert await ground.frontier.add(crawl.id, [url("a:80", "more")], now=NOW) == 1
    again = await ground.crawls.get(crawl.id)
    assert again is not None
    assert (again.state, again.finished_at, again.counts.pending) == ("running", None, 1)


async def test_a_crawl_to_which_nothing_was_added_is_done_in_time(ground: Ground) -> None:
    crawl = await ground.crawl()
    assert await ground.crawls.finish(now=NOW + HOUR) == []
    assert await ground.crawls.finish(now=NOW + HOUR + 1) == [crawl.id]


async def test_no_more_pages_are_stored_than_a_crawl_may(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 3), *urls("b:80", 3)], max_pages=4)
    one, two = await ground.lease(2)
    first = await ground.frontier.take(one, 10, now=NOW)
    second = await ground.frontier.take(two, 10, now=NOW)
    assert (len(first), len(second)) == (3, 1)
    assert await ground.frontier.take(two, 10, now=NOW) == []
    # One of them is not stored, so there is room for another.
    blocked = [TaskEnd(task=first[0], state="blocked", reason="robots")]
    ends = [*blocked, *(TaskEnd(task=task, page=page(task)) for task in first[1:])]
    assert await ground.frontier.settle(one, HostSettlement(ends=ends), now=NOW)
    assert await ground.hosts.release(two, now=NOW)  # gives back its one
    assert await ground.crawls.finish(now=NOW) == []
    (two,) = await ground.lease(now=NOW)
    last = await ground.frontier.take(two, 10, now=NOW)
    assert len(last) == 2
    assert await ground.frontier.settle(two, done(last), now=NOW)
    assert await ground.frontier.take(two, 10, now=NOW) == []
    assert await ground.crawls.finish(now=NOW) == [crawl.id]
    assert len(await ground.rows(crawl_tables.crawled_pages)) == 4
    await ground.check_counts()


async def test_a_host_whose_crawl_is_crowded_is_looked_at_again(ground: Ground) -> None:
    await ground.crawl([url("a:80", 0), url("b:80", 0)], max_pages=1)
    one, two = await ground.lease(2)
    assert len(await ground.frontier.take(one, 10, now=NOW)) == 1
    assert await ground.frontier.take(two, 10, now=NOW) == []
    assert await ground.hosts.release(two, now=NOW)
    assert await ground.lease(now=NOW + 999) == []
    assert [lease.host for lease in await ground.lease(now=NOW + 1_000)] == [two.host]


async def test_a_paused_crawl_rests_until_it_is_resumed(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 2), *urls("b:80", 1)])
    (lease,) = await ground.lease()
    (task,) = await ground.frontier.take(lease, 1, now=NOW)
    assert await ground.crawls.pause(crawl.id)
    assert not await ground.crawls.pause(crawl.id)
    assert await ground.frontier.take(lease, 5, now=NOW) == []
    # What was under way is still stored, with what it found.
    assert await ground.frontier.settle(lease, done([task], new=[url("c:80", 1)]), now=NOW)
    for each in [lease, *await ground.lease(9)]:
        assert await ground.frontier.take(each, 5, now=NOW) == []
        assert await ground.hosts.release(each, now=NOW)
    assert await ground.lease(9, now=NOW + HOUR) == []
    assert await ground.crawls.finish(now=NOW + HOUR) == []
    assert await ground.crawls.resume(crawl.id, now=NOW + HOUR)
    assert not await ground.crawls.resume(crawl.id)
    leases = await ground.lease(9, now=NOW + HOUR)
    assert {each.host for each in leases} == {"a:80", "b:80", "c:80"}
    assert all([await ground.frontier.take(each, 5, now=NOW + HOUR) for each in leases])
    await ground.check_counts()


async def test_a_canceled_crawl_is_over(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    (task,) = await ground.frontier.take(lease, 1, now=NOW)
    assert await ground.crawls.cancel(crawl.id, now=NOW)
    assert not await ground.crawls.cancel(crawl.id, now=NOW)
    assert not await ground.crawls.resume(crawl.id)
    assert await ground.frontier.settle(lease, done([task]), now=NOW)
    assert await ground.frontier.take(lease, 5, now=NOW) == []
    assert await ground.frontier.add(crawl.id, [url("a:80", "x")], now=NOW) == 0
    over = await ground.crawls.get(crawl.id)
    assert over is not None
    assert (over.state, over.finished_at, over.counts.pages) == ("canceled", NOW, 1)
    await ground.hosts.release(lease, now=NOW)
    assert await ground.lease(now=NOW + HOUR) == []


async def test_what_was_to_be_sent_along_is_forgotten_when_a_crawl_is_over(ground: Ground) -> None:
    spec = CrawlSpec(seeds=("http://a:80/",), headers={"Cookie": "secret"}, max_pages=5)
    canceled = await ground.crawls.create(ground.tenant, spec, now=NOW)
    done_with = await ground.crawls.create(ground.tenant, spec, now=NOW)
    await ground.crawls.pause(canceled.id)
    assert (await ground.crawls.some([canceled.id]))[canceled.id].spec == spec
    await ground.crawls.cancel(canceled.id, now=NOW)
    assert set(await ground.crawls.finish(now=NOW + 2 * HOUR)) == {done_with.id}
    for row in await ground.rows(crawl_tables.crawls):
        assert "secret" not in row.spec_json
    over = await ground.crawls.some([canceled.id, done_with.id])
    assert [crawl.spec for crawl in over.values()] == 2 * [replace(spec, headers={})]


async def test_many_hosts_are_counted_once_a_minute(ground: Ground) -> None:
    for start in range(0, MANY_HOSTS, 2_000):  # each within the time of a statement, on a busy machine too
        await ground.crawl([url(f"h{start + number}:80", 1) for number in range(2_000)])
    seconds = iter((0.0, 1.0, 61.0))
    stats = CrawlStats(ground.database, lambda: next(seconds))
    assert (await stats.stats(now=NOW)).hosts == MANY_HOSTS
    await ground.crawl([url("another:80", 1)])
    assert [(await stats.stats(now=NOW)).hosts for _ in range(2)] == [MANY_HOSTS, MANY_HOSTS + 1]


async def test_what_happened_is_counted_by_the_minute(ground: Ground) -> None:
    crawl, other = await ground.crawl(urls("a:80", 4)), await ground.crawl([url("b:80", 1)])
    stats = CrawlStats(ground.database)
    (lease,) = [each for each in await ground.lease(2) if each.host == "a:80"]
    ok, missing, robots, again = await ground.frontier.take(lease, 9, now=NOW)
    ends = [
        TaskEnd(task=ok, page=page(ok, size=1_000)),
        TaskEnd(task=missing, state="failed", page=page(missing, size=50, status=404)),
        TaskEnd(task=robots, state="blocked", reason="robots"),
        TaskEnd(task=again, state="pending", due_at=NOW + SECOND),
    ]
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=NOW)
    (again,) = await ground.frontier.take(lease, 9, now=NOW + SECOND)
    assert not await ground.frontier.settle(lease, done([again]), now=NOW + MINUTE)  # too late
    minute = NOW // MINUTE
    first, second = await stats.timeseries(minute, minute + 2, 1, crawl_id=crawl.id)
    assert first == TimeBucket(
        at=minute * MINUTE,
        fetched=1,
        failed=1,
        blocked=1,
        retried=1,
        added=4,
        bytes=1_050,
        status_2xx=1,
        status_4xx=1,
    )
    assert second == TimeBucket(at=(minute + 1) * MINUTE)
    (both,) = await stats.timeseries(minute, minute + 2, 5, tenant=ground.tenant)
    assert (both.added, both.fetched) == (5, 1)
    one = await stats.stats(crawl_id=other.id, now=NOW)
    assert (one.counts.pending, one.hosts, one.crawls, one.recent.added) == (1, 1, 1, 1)
    everything = await stats.stats(now=NOW)
    assert (everything.counts.urls, everything.counts.pages, everything.hosts) == (5, 2, 2)
    assert (everything.running, everything.workers, everything.recent.fetched) == (2, 1, 1)
    await ground.crawls.cancel(other.id, now=NOW)  # nobody waits for what is left of it
    assert (await stats.stats(crawl_id=other.id, now=NOW)).counts.pending == 0
    assert (await stats.stats(now=NOW)).counts.urls == 4
    assert await stats.stats(tenant="nobody", now=NOW + HOUR) == await stats.stats(
        crawl_id="none", now=NOW + HOUR
    )
