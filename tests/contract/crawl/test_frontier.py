"""The frontier: every URL is taken by one, settled once, and counted."""

import asyncio
from typing import get_args

import pytest
from msgspec.structs import replace
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, done, page, url, urls

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.frontier import CLEARED_AT_ONCE, State
from gossamer.state.crawl.hosts import HostLease
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.settling import CrawlTask, HostNews, HostSettlement, TaskEnd
from gossamer.state.db import tables
from gossamer.state.db.database import Database


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def test_a_url_is_added_once_to_a_crawl(ground: Ground) -> None:
    first, second = await ground.crawl(urls("a:80", 3)), await ground.crawl()
    assert (await ground.crawls.get(first.id)).counts.pending == 3  # type: ignore[union-attr]
    assert await ground.frontier.add(first.id, [*urls("a:80", 5), url("b:80", 0)], now=NOW) == 3
    assert await ground.frontier.add(first.id, urls("a:80", 5), now=NOW) == 0
    assert await ground.frontier.add(second.id, [url("a:80", 1), url("a:80", 1)], now=NOW) == 1
    assert (await ground.crawls.counts(first.id)).pending == 6
    await ground.check_counts()


async def test_what_is_taken_is_settled_with_its_links_in_one_transaction(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 10, now=NOW)
    assert {task.url for task in tasks} == {"http://a:80/0", "http://a:80/1"}
    assert [task.attempt for task in tasks] == [1, 1]
    assert await ground.frontier.take(lease, 10, now=NOW) == []
    links = [url("a:80", 0), url("a:80", "new", depth=1, priority=2), url("b:80", "x", depth=1)]
    assert await ground.frontier.settle(lease, done(tasks, new=links), now=NOW + SECOND)
    assert await ground.states(crawl.id) == {
        "0": "completed",
        "1": "completed",
        "new": "pending",
        "x": "pending",
    }
    (other,) = await ground.lease(5, worker="v", now=NOW + SECOND)
    assert other.host == "b:80"
    (again,) = await ground.frontier.take(lease, 10, now=NOW + SECOND)
    assert (again.url, again.depth, again.priority) == ("http://a:80/new", 1, 2)
    counts = await ground.crawls.counts(crawl.id)
    assert (counts.pages, counts.bytes, counts.completed, counts.urls) == (2, 200, 2, 4)
    await ground.check_counts()


async def test_the_best_is_taken_first(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", "low", priority=1), url("a:80", "middle", priority=2)])
    await ground.frontier.add(crawl.id, [url("a:80", "high")], now=NOW + SECOND)
    await ground.frontier.add(crawl.id, [url("a:80", "later")], now=NOW + 2 * SECOND)
    (lease,) = await ground.lease(now=NOW + 3 * SECOND)
    first = await ground.frontier.take(lease, 1, now=NOW + 3 * SECOND)
    rest = await ground.frontier.take(lease, 9, now=NOW + 3 * SECOND)
    paths = [task.url.rpartition("/")[2] for task in (*first, *rest)]
    assert paths == ["high", "later", "middle", "low"]


async def test_crawls_take_turns_on_a_host(ground: Ground) -> None:
    large = await ground.crawl(urls("a:80", 10))
    small = await ground.crawl(urls("a:80", 2, priority=1))
    (lease,) = await ground.lease()
    taken = await ground.frontier.take(lease, 6, now=NOW)
    by_crawl = [task.crawl_id for task in taken]
    assert (by_crawl.count(large.id), by_crawl.count(small.id)) == (4, 2)
    assert set(by_crawl[:2]) == {large.id, small.id}
    assert len(await ground.frontier.take(lease, 9, now=NOW)) == 6
    await ground.check_counts()


async def test_hosts_that_take_together_share_the_room_of_a_crawl(ground: Ground) -> None:
    full = await ground.crawl([*urls("a:80", 6), *urls("b:80", 6)], max_pages=8)
    other = await ground.crawl(urls("b:80", 2, priority=1))
    leases = {lease.host: lease for lease in await ground.lease(2)}
    taken = await ground.frontier.take_many([(leases["a:80"], 5), (leases["b:80"], 9)], now=NOW)
    by_host = {host: [task.crawl_id for task in tasks] for host, tasks in taken.items()}
    assert by_host == {"a:80": [full.id] * 5, "b:80": by_host["b:80"]}
    assert (by_host["b:80"].count(full.id), by_host["b:80"].count(other.id)) == (3, 2)
    assert set(by_host["b:80"][:2]) == {full.id, other.id}
    await ground.check_counts()


async def test_what_is_tried_again_waits_for_its_time(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", 0)])
    (lease,) = await ground.lease()
    (task,) = await ground.frontier.take(lease, 9, now=NOW)
    later = TaskEnd(task=task, state="pending", due_at=NOW + 4 * SECOND, reason="FETCH_TIMEOUT: no answer")
    assert await ground.frontier.settle(lease, HostSettlement(ends=[later]), now=NOW)
    assert await ground.frontier.take(lease, 9, now=NOW + 3 * SECOND) == []
    (listed,) = await ground.frontier.listing(crawl.id, state="pending")
    assert (listed.reason, listed.due_at, listed.attempt) == ("FETCH_TIMEOUT: no answer", NOW + 4 * SECOND, 1)
    assert await ground.hosts.release(lease, now=NOW + SECOND)
    assert await ground.lease(now=NOW + 4 * SECOND - 1) == []
    (lease,) = await ground.lease(now=NOW + 4 * SECOND)
    (task,) = await ground.frontier.take(lease, 9, now=NOW + 4 * SECOND)
    assert task.attempt == 2
    free = TaskEnd(task=task, state="pending", due_at=NOW, counts=False)
    assert await ground.frontier.settle(lease, HostSettlement(ends=[free]), now=NOW + 4 * SECOND)
    (task,) = await ground.frontier.take(lease, 9, now=NOW + 4 * SECOND)
    assert task.attempt == 2
    with pytest.raises(ValueError, match="stored once"):
        TaskEnd(task=task, state="pending", page=page(task))
    await ground.check_counts()


async def test_who_has_lost_the_lease_writes_nothing(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    (late,) = await ground.lease()
    tasks = await ground.frontier.take(late, 9, now=NOW)
    batch = done(tasks, new=[url("a:80", "found"), url("b:80", "found")])
    assert not await ground.frontier.settle(late, batch, now=NOW + LEASE)
    assert await ground.frontier.take(late, 9, now=NOW + LEASE) == []
    (lease,) = await ground.lease(9, worker="v", now=NOW + LEASE)
    assert not await ground.frontier.settle(late, batch, now=NOW + LEASE)
    assert await ground.states(crawl.id) == {"0": "pending", "1": "pending"}
    assert (await ground.hosts.listing()) == [await ground.hosts.get("a:80")]  # and no other
    assert await ground.frontier.settle(
        lease, done(await ground.frontier.take(lease, 9, now=NOW + LEASE)), now=NOW + LEASE
    )
    assert set((await ground.states(crawl.id)).values()) == {"completed"}
    await ground.check_counts()


async def test_of_many_hosts_only_those_are_written_that_are_held(ground: Ground) -> None:
    crawl = await ground.crawl([url("a:80", "a"), url("b:80", "b"), url("c:80", "c")])
    leases = await ground.lease(3)
    tasks = {lease.host: await ground.frontier.take(lease, 9, now=NOW) for lease in leases}
    kept = [lease for lease in leases if lease.host != "b:80"]
    assert len(await ground.hosts.extend(kept, now=NOW + 10 * SECOND)) == 2
    batches = [
        (lease, done(tasks[lease.host], new=[url("d:80", f"from-{lease.host[0]}")])) for lease in leases
    ]
    assert await ground.frontier.settle_many(batches, now=NOW + LEASE) == {"a:80", "c:80"}
    assert await ground.states(crawl.id) == {
        "a": "completed",
        "b": "in_progress",
        "c": "completed",
        "from-a": "pending",
        "from-c": "pending",
    }
    assert await ground.frontier.settle_many([], now=NOW) == set()
    await ground.check_counts()


async def test_a_task_is_settled_once(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 9, now=NOW)
    batch = done(tasks)
    twice = [(lease, batch), (lease, HostSettlement(ends=batch.ends, host=HostNews(delay_ms=5)))]
    assert await ground.frontier.settle_many(twice, now=NOW) == {"a:80"}
    assert await ground.frontier.settle(lease, batch, now=NOW)
    counts = await ground.crawls.counts(crawl.id)
    assert (counts.pages, counts.completed) == (1, 1)
    host = await ground.hosts.get("a:80")
    assert host is not None
    assert (host.pages, host.bytes, host.delay_ms) == (1, 100, 5)
    await ground.check_counts()


async def test_a_page_is_kept_as_it_was_told(ground: Ground) -> None:
    await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    (task,) = await ground.frontier.take(lease, 9, now=NOW)
    odd = CrawledPage(
        final_url="http://a:80/ü",
        title="one\0two",
        description="half a pair: \ud800.",
        fingerprint="f" * 32,
        content_type="text/html",
    )
    ends = [TaskEnd(task=task, page=odd, reason="x" * 600)]
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=NOW + 5)
    (row,) = await ground.rows(crawl_tables.crawled_pages)
    assert (row.title, row.description, row.fingerprint) == ("onetwo", "half a pair: ?.", "f" * 32)
    assert (row.url, row.final_url, row.crawled_at) == (task.url, "http://a:80/ü", NOW + 5)
    (listed,) = await ground.frontier.listing(task.crawl_id)
    assert len(listed.reason) == 500


def _naming(task: CrawlTask, blob: str, screenshot: str | None = None) -> HostSettlement:
    """The end of a task, with a page that names these blobs."""
    stored = CrawledPage(final_url=task.url, blob=blob, screenshot=screenshot)
    return HostSettlement(ends=[TaskEnd(task=task, page=stored)])


async def test_blobs_are_adopted_with_the_pages_that_speak_of_them(ground: Ground) -> None:
    await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    one, two = await ground.frontier.take(lease, 9, now=NOW)
    async with ground.database.write() as connection:
        for name in ("kept", "picture", "late", "unnamed"):
            await orphan_blobs.register(connection, name, now=NOW)
    first, second = _naming(one, blob="kept", screenshot="picture"), _naming(two, blob="late")
    for _ in range(2):  # the second time because it was not known how the first one ended
        names = ["kept", "picture", "unnamed"]
        assert await ground.frontier.settle(lease, first, blobs=names, now=NOW)
    assert not await ground.frontier.settle(lease, second, blobs=["late"], now=NOW + LEASE)
    assert {row.name for row in await ground.rows(tables.stray_blobs)} == {"late", "unnamed"}
    assert {row.blob for row in await ground.rows(crawl_tables.crawl_blobs)} == {"kept", "picture"}
    assert [row.blob for row in await ground.rows(crawl_tables.unindexed)] == ["kept"]
    async with ground.database.write() as connection:
        await orphan_blobs.take_due(connection, 9, now=NOW + 3_600 * SECOND)
    with pytest.raises(Unavailable):
        await ground.frontier.settle(lease, second, blobs=["late"], now=NOW)
    assert len(await ground.rows(crawl_tables.crawled_pages)) == 1
    await ground.check_counts()


async def test_what_waits_can_be_cleared(ground: Ground) -> None:
    crawl, other = await ground.crawl(urls("a:80", 5)), await ground.crawl(urls("a:80", 2))
    (lease,) = await ground.lease()
    tasks = [task for task in await ground.frontier.take(lease, 4, now=NOW) if task.crawl_id == crawl.id]
    assert await ground.frontier.clear(crawl.id, now=NOW) == (5 - len(tasks), 0)
    assert await ground.frontier.clear(crawl.id, now=NOW) == (0, 0)
    assert await ground.frontier.settle(lease, done(tasks), now=NOW)
    assert set((await ground.states(crawl.id)).values()) == {"completed"}
    assert len(await ground.states(other.id)) == 2
    assert await ground.crawls.finish(now=NOW) == [crawl.id]
    await ground.check_counts()


async def test_what_is_taken_after_a_clearing_knows_of_it(ground: Ground) -> None:
    crawl, other = await ground.crawl(urls("a:80", 2)), await ground.crawl(urls("a:80", 1))
    (lease,) = await ground.lease()
    before = await ground.frontier.take(lease, 1, now=NOW)
    await ground.frontier.clear(crawl.id, now=NOW)
    await ground.frontier.add(crawl.id, urls("a:80", 4), now=NOW)  # as many as before, and more
    after = await ground.frontier.take(lease, 9, now=NOW)
    assert {task.revision for task in (*before, *after) if task.crawl_id == other.id} == {0}
    assert {task.revision for task in before} == {0}
    assert {task.revision for task in after if task.crawl_id == crawl.id} == {1}


async def test_how_a_url_was_come_to_is_kept_with_it(ground: Ground) -> None:
    moved, sitemap = replace(url("a:80", 1), hops=3), replace(url("a:80", 2), hops=1, as_sitemap=True)
    crawl = await ground.crawl([url("a:80", 0)])
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 9, now=NOW)
    assert await ground.frontier.settle(lease, done(tasks, new=[moved]), now=NOW)
    await ground.frontier.add(crawl.id, [sitemap], now=NOW)
    tasks += await ground.frontier.take(lease, 9, now=NOW)
    kept = {task.url[-1]: (task.hops, task.as_sitemap) for task in tasks}
    assert kept == {"0": (0, False), "1": (3, False), "2": (1, True)}


async def test_a_large_frontier_is_cleared_as_far_as_there_is_time(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", CLEARED_AT_ONCE + 1))
    assert await ground.frontier.clear(crawl.id, seconds=0, now=NOW) == (CLEARED_AT_ONCE, 1)
    await ground.check_counts()
    assert await ground.frontier.clear(crawl.id, now=NOW) == (1, 0)


async def test_urls_are_listed_by_state_and_host(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 3), *urls("b:80", 2)])
    (lease,) = [each for each in await ground.lease(2) if each.host == "a:80"]
    tasks = await ground.frontier.take(lease, 2, now=NOW)
    await ground.frontier.settle(lease, done(tasks[:1], state="failed"), now=NOW)
    everything = await ground.frontier.listing(crawl.id)
    assert [each.url_hash for each in everything] == sorted(each.url_hash for each in everything)
    after = await ground.frontier.listing(crawl.id, after=everything[1].url_hash, limit=2)
    assert after == everything[2:4]
    states: tuple[State, ...] = get_args(State)
    listed = {state: len(await ground.frontier.listing(crawl.id, state=state)) for state in states}
    assert listed == {"pending": 3, "in_progress": 1, "completed": 0, "failed": 1, "blocked": 0}
    assert len(await ground.frontier.listing(crawl.id, hosts=["b:80"])) == 2


async def test_many_urls_are_added_in_short_transactions(ground: Ground) -> None:
    crawl = await ground.crawl()
    many: list[NewUrl] = [url(f"h{number % 7}:80", number) for number in range(4_500)]
    assert await ground.frontier.add(crawl.id, many, now=NOW) == 4_500
    assert len(await ground.lease(20)) == 7
    await ground.check_counts()


async def test_two_who_link_to_each_other_never_wait_for_each_other(ground: Ground) -> None:
    crawl = await ground.crawl([url(f"h{number}:80", 0) for number in range(6)])
    leases = await ground.hosts.lease("w", 6)

    async def work(lease: HostLease, turn: int) -> None:
        tasks = await ground.frontier.take(lease, 2)
        links = [url(f"h{number}:80", f"{turn}-{lease.host[:2]}", depth=1) for number in range(6)]
        assert await ground.frontier.settle(lease, done(tasks, new=links))

    for turn in range(5):
        await asyncio.gather(*(work(lease, turn) for lease in leases))
    assert len(await ground.states(crawl.id)) == 1 + 5 * 6  # by path; each of these on six hosts
    await ground.check_counts()
