"""Hosts: each belongs to one worker at a time, and is asked at its pace whoever holds it."""

import asyncio

import pytest
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, done, url, urls

from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.hosts import LOST, MAX_LAPSES
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.state.crawl.settling import HostNews, HostSettlement
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def test_a_host_belongs_to_one_worker(ground: Ground) -> None:
    await ground.crawl([url("a:80", 0), url("b:80", 0), url("b:81", 0)])
    first, second = await ground.lease(2), await ground.lease(9, worker="v")
    assert sorted(lease.host for lease in (*first, *second)) == ["a:80", "b:80", "b:81"]
    assert (len(first), {lease.until for lease in first}) == (2, {NOW + LEASE})
    assert await ground.lease(9, now=NOW + LEASE - 1) == []
    assert len(await ground.lease(9, now=NOW + LEASE)) == 3


async def test_workers_that_lease_at_once_get_different_hosts(ground: Ground) -> None:
    await ground.crawl([url(f"h{number}:80", 0) for number in range(30)])
    got = await asyncio.gather(*(ground.hosts.lease(f"w{number}", 10) for number in range(5)))
    hosts = [lease.host for leases in got for lease in leases]
    assert len(hosts) == len(set(hosts))
    rest = await ground.hosts.lease("w", 30)
    assert len(hosts) + len(rest) == 30


async def test_workers_that_share_what_there_is_take_their_part_of_it(ground: Ground) -> None:
    for worker in ("v", "w", "x", "y"):
        async with ground.database.write() as connection:
            await heartbeats.beat(connection, worker, (heartbeats.CRAWL,), 0, now=NOW)
    await ground.crawl([url(f"h{number}:80", 0) for number in range(10)])
    assert [len(await ground.lease(4)) for _ in range(7)] == [3, 2, 2, 1, 1, 1, 0]
    await ground.crawl([url(f"i{number}:80", 0) for number in range(10)])
    assert len(await ground.lease(2)) == 2  # there is plenty
    assert len(await ground.lease(9, now=NOW + LEASE)) == 9  # nobody else was heard of since


async def test_a_lease_lasts_as_long_as_it_is_extended(ground: Ground) -> None:
    await ground.crawl([url("a:80", 0), url("b:80", 0)])
    leases = await ground.lease(2)
    kept = await ground.hosts.extend(leases[:1], now=NOW + 10 * SECOND)
    assert [(lease.host, lease.until) for lease in kept] == [(leases[0].host, NOW + 10 * SECOND + LEASE)]
    assert await ground.hosts.extend([], now=NOW) == []
    (lost,) = await ground.lease(9, worker="v", now=NOW + LEASE)
    assert lost.host == leases[1].host
    extended = await ground.hosts.extend(leases, now=NOW + LEASE)
    assert [lease.host for lease in extended] == [leases[0].host]
    assert await ground.hosts.extend(kept, now=NOW + 60 * SECOND) == []
    assert leases[0].token not in repr(leases[0])


async def test_a_host_with_nothing_to_do_sleeps_until_there_is(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 9, now=NOW)
    assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    assert await ground.hosts.release(lease, next_at=NOW + 5 * SECOND, now=NOW)
    assert not await ground.hosts.release(lease, now=NOW)
    assert await ground.lease(now=NOW + 3_600 * SECOND) == []
    assert await ground.frontier.add(crawl.id, [url("a:80", "new")], now=NOW + SECOND) == 1
    assert await ground.lease(now=NOW + 5 * SECOND - 1) == []  # its pace is kept
    (again,) = await ground.lease(now=NOW + 5 * SECOND)
    assert (again.host, again.next_at) == ("a:80", NOW + 5 * SECOND)


async def test_what_is_added_while_a_host_is_held_is_found_at_its_release(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 9, now=NOW)
    assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    await ground.frontier.add(crawl.id, [url("a:80", "new")], now=NOW)
    assert await ground.lease(now=NOW + SECOND) == []
    assert await ground.hosts.release(lease, now=NOW + SECOND)
    assert len(await ground.lease(now=NOW + SECOND)) == 1


async def test_what_was_taken_and_not_settled_goes_back_with_the_host(ground: Ground) -> None:
    await ground.crawl(urls("a:80", 3))
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 2, now=NOW)
    assert await ground.frontier.settle(lease, done(tasks[:1]), now=NOW)
    assert await ground.hosts.release(lease, now=NOW)
    await ground.check_counts()
    (lease,) = await ground.lease()
    assert [task.attempt for task in await ground.frontier.take(lease, 9, now=NOW)] == [1, 1]


async def test_after_a_lost_worker_a_host_has_its_pause(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 2), *urls("b:80", 1)])
    leases = {lease.host: lease for lease in await ground.lease(2)}
    slow = HostSettlement(host=HostNews(delay_ms=7_000, next_at=NOW + SECOND))
    assert await ground.frontier.settle(leases["a:80"], slow, now=NOW)
    assert len(await ground.frontier.take(leases["a:80"], 9, now=NOW)) == 2
    after = {lease.host: lease for lease in await ground.lease(2, worker="v", now=NOW + LEASE)}
    assert after["a:80"].next_at == NOW + LEASE + 7 * SECOND
    assert after["b:80"].next_at == NOW + LEASE + SECOND  # it is not known how fast it may be asked
    assert len(await ground.frontier.take(after["a:80"], 9, now=NOW + LEASE)) == 2
    assert (await ground.crawls.counts(crawl.id)).in_progress == 2
    await ground.check_counts()


async def test_what_lost_workers_had_is_recovered(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 2), *urls("b:80", 2)])
    one, two = await ground.lease(2)
    assert len(await ground.frontier.take(one, 9, now=NOW)) == 2
    assert len(await ground.frontier.take(two, 1, now=NOW)) == 1
    await ground.hosts.extend([two], now=NOW + SECOND)
    assert await ground.frontier.recover(now=NOW + LEASE) == 2
    assert await ground.frontier.recover(now=NOW + LEASE) == 0
    assert sorted((await ground.states(crawl.id)).values()) == ["pending", "pending"]
    (host,) = [each for each in await ground.hosts.listing() if each.host == one.host]
    assert (host.locked_by, host.next_at) == (None, NOW + LEASE + SECOND)
    assert await ground.lease(now=NOW + LEASE) == []
    await ground.hosts.extend([two], now=NOW + LEASE)
    (again,) = await ground.lease(9, now=NOW + LEASE + SECOND)
    assert again.host == one.host
    await ground.check_counts()


async def test_a_page_that_costs_every_worker_is_given_up(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    for turn in range(MAX_LAPSES):
        now = NOW + turn * 60 * SECOND
        (lease,) = await ground.lease(now=now)
        assert len(await ground.frontier.take(lease, 9, now=now)) == 1
    await ground.frontier.recover(now=NOW + 3_600 * SECOND)
    (listed,) = await ground.frontier.listing(crawl.id)
    assert (listed.state, listed.reason) == ("failed", LOST)
    assert await ground.lease(now=NOW + 7_200 * SECOND) == []
    assert await ground.crawls.finish(now=NOW) == [crawl.id]
    await ground.check_counts()


async def test_a_host_that_rests_is_left_alone(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    assert (lease.failures, lease.renders, lease.delay_ms, lease.robots) == (0, False, None, None)
    news = HostNews(failures=5, resting_until=NOW + 60 * SECOND, renders=True, delay_ms=250, is_allowed=False)
    assert await ground.frontier.settle(lease, HostSettlement(host=news), now=NOW)
    assert await ground.frontier.settle(lease, HostSettlement(), now=NOW)  # leaves it as it was
    assert await ground.hosts.release(lease, now=NOW)
    await ground.frontier.add(crawl.id, [url("a:80", "x")], now=NOW)
    assert await ground.lease(now=NOW + 60 * SECOND - 1) == []
    (again,) = await ground.lease(now=NOW + 60 * SECOND)
    assert (again.failures, again.renders, again.delay_ms) == (5, True, 250)
    host = await ground.hosts.get("a:80")
    assert host is not None
    assert (host.is_allowed, host.locked_by, host.resting_until) == (False, "w", NOW + 60 * SECOND)


async def test_a_host_that_rests_can_be_tried_at_once(ground: Ground) -> None:
    await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    robots = StoredRobots(status=None, body="", fetched_at=NOW, expires_at=NOW + 3_600 * SECOND)
    news = HostNews(failures=5, resting_until=NOW + 60 * SECOND, is_allowed=False, next_at=NOW + 2 * SECOND)
    assert not await ground.hosts.reset("none:80")
    assert await ground.hosts.keep_robots(lease, robots, now=NOW)
    assert await ground.frontier.settle(lease, HostSettlement(host=news), now=NOW)
    assert await ground.hosts.release(lease, now=NOW)
    assert await ground.hosts.reset("a:80", now=NOW)
    assert await ground.hosts.are_due()
    assert await ground.lease(now=NOW + 2 * SECOND - 1) == []  # its pace is kept
    (again,) = await ground.lease(now=NOW + 2 * SECOND)
    assert (again.failures, again.resting_until, again.robots) == (0, 0, None)


async def test_a_rest_is_no_part_of_a_hosts_pace(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    assert await ground.hosts.release(lease, next_at=NOW + SECOND, resting_until=NOW + 60 * SECOND, now=NOW)
    await ground.frontier.add(crawl.id, [url("a:80", "x")], now=NOW)
    assert await ground.lease(now=NOW + 60 * SECOND - 1) == []
    assert await ground.hosts.reset("a:80", now=NOW)
    assert len(await ground.lease(now=NOW + SECOND)) == 1


async def test_robots_are_kept_by_who_holds_the_host(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    robots = StoredRobots(status=200, body="User-agent: *", fetched_at=NOW, expires_at=NOW + 3_600 * SECOND)
    silent = StoredRobots(status=None, body="\0", fetched_at=NOW, expires_at=NOW)
    assert await ground.hosts.robots("a:80") is None
    assert await ground.hosts.keep_robots(lease, silent, now=NOW)
    assert await ground.hosts.keep_robots(lease, robots, now=NOW)
    assert not await ground.hosts.keep_robots(lease, silent, is_allowed=False, now=NOW + LEASE)
    assert await ground.hosts.robots("a:80") == robots
    assert [host.is_allowed for host in await ground.hosts.listing()] == [True]
    (again,) = await ground.lease(now=NOW + LEASE)
    assert again.robots == robots
    assert [
        host.counts.pending if host.counts else 0 for host in await ground.hosts.listing(crawl_id=crawl.id)
    ] == [1]


async def test_hosts_are_listed_by_name(ground: Ground) -> None:
    crawl = await ground.crawl([url("b:80", 0), url("a:80", 0)])
    await ground.crawl([url("c:80", 0)])
    assert [host.host for host in await ground.hosts.listing()] == ["a:80", "b:80", "c:80"]
    assert [host.host for host in await ground.hosts.listing(after="a:80", limit=1)] == ["b:80"]
    assert [host.host for host in await ground.hosts.listing(crawl_id=crawl.id)] == ["a:80", "b:80"]
    assert await ground.hosts.get("none:80") is None


async def test_a_host_that_slept_in_error_is_roused(ground: Ground) -> None:
    await ground.crawl(urls("a:80", 1))
    async with ground.database.write() as connection:
        await connection.execute(crawl_tables.hosts.update().values(due_at=None))
    assert await ground.lease() == []
    assert await ground.crawls.rouse(now=NOW) == 1
    assert await ground.crawls.rouse(now=NOW) == 0
    assert len(await ground.lease()) == 1
