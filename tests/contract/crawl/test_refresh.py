"""Crawls that are kept fresh: visits, versions, budgets, and what is left of them when pages go."""

import pytest
from msgspec.structs import replace
from sqlalchemy import update
from tests.contract.crawl.crawl_ground import NOW, Ground, urls
from tests.contract.crawl.refresh_ground import (
    SPEC,
    again,
    begin,
    ended,
    put,
    revisit,
    settle,
    take,
    versions_of,
)

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.crawl.refresh import due_pages, page_versions
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, refresh_days
from gossamer.state.crawl.removal import expired, purge
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.crawl.settling import HostSettlement
from gossamer.state.db.database import Database
from gossamer.web.crawl.refresh.page_change import PageChange
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS
from gossamer.web.crawl.spec import CrawlSpec


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def test_due_pages_go_into_the_frontier_within_the_budget_of_their_host(ground: Ground) -> None:
    crawl = await begin(ground, 8)
    assert crawl.state == "done"
    assert await put(ground, crawl, NOW + HOUR_MS) == 0  # none is due
    later = NOW + 10 * DAY_MS
    assert await put(ground, crawl, later) == 5
    assert (await again(ground, crawl)).state == "running"
    assert await put(ground, crawl, later) == 0  # the budget of the day is spent
    assert await put(ground, crawl, later + DAY_MS) == 3
    await ground.check_counts()


async def test_a_visit_knows_what_is_stored_and_counts_once(ground: Ground) -> None:
    crawl = await begin(ground, 1)
    later = NOW + 10 * DAY_MS
    await put(ground, crawl, later)
    lease, [task] = await take(ground, later)
    assert task.known is not None
    assert (task.known.etag, task.known.mark.content_hash) == ('"1"', "first")
    end = ended(task, PageChange.NOT_MODIFIED)
    await ground.frontier.settle(lease, HostSettlement(ends=[end]), now=later)
    await ground.frontier.settle(
        lease, HostSettlement(ends=[end]), now=later
    )  # written before, unknown to it
    [row] = await ground.rows(fresh_pages)
    assert (row.visits, row.changes, row.etag, row.visited_at) == (2, 0, '"1"', later)
    assert row.next_at > later + DAY_MS
    [day] = await ground.rows(refresh_days)
    assert (day.planned, day.visits, day.unmodified, day.changed) == (1, 1, 1, 0)
    [only] = await versions_of(ground, task)
    assert (only.number, only.change, only.content_hash) == (1, "new", "first")
    await ground.check_counts()


async def test_changes_make_versions_and_noise_makes_none(ground: Ground) -> None:
    crawl, day = await begin(ground, 1), DAY_MS
    await revisit(ground, crawl, NOW + day, PageChange.CHANGED, "second")
    await revisit(ground, crawl, NOW + 2 * day, PageChange.UNCHANGED)
    await revisit(ground, crawl, NOW + 3 * day, PageChange.NOISE, "noise")
    task = await revisit(ground, crawl, NOW + 4 * day, PageChange.TOUCHED, "third")
    found = [(one.number, one.change, one.content_hash) for one in await versions_of(ground, task)]
    assert found == [(3, "changed", "third"), (2, "changed", "second"), (1, "new", "first")]
    async with ground.database.read() as connection:
        counts = await due_pages.count(connection, crawl.id, now=NOW + 4 * day)
    assert (counts.month.visits, counts.month.changed, counts.month.bytes) == (4, 2, 400)
    assert (counts.today.visits, counts.due, counts.gone) == (1, 0, 0)
    await ground.check_counts()


async def test_versions_are_bounded(ground: Ground) -> None:
    crawl = await begin(ground, 1)
    for number in range(1, page_versions.MAX_VERSIONS + 3):
        task = await revisit(ground, crawl, NOW + number * DAY_MS, PageChange.CHANGED, f"text {number}")
    numbers = [one.number for one in await versions_of(ground, task)]
    assert len(numbers) == page_versions.MAX_VERSIONS
    assert numbers[0] == page_versions.MAX_VERSIONS + 3


async def test_a_page_that_is_gone_keeps_its_history_and_one_that_fails_stays(ground: Ground) -> None:
    crawl = await begin(ground, 1)
    await revisit(ground, crawl, NOW + DAY_MS, PageChange.FAILED)
    await revisit(ground, crawl, NOW + 2 * DAY_MS, PageChange.MISSED)
    lookup = await ground.rows(fresh_pages)
    assert (lookup[0].misses, lookup[0].gone_at) == (1, None)
    task = await revisit(ground, crawl, NOW + 3 * DAY_MS, PageChange.GONE, "not found")
    found = [(one.change, one.status_code, one.content_hash) for one in await versions_of(ground, task)]
    assert found == [("gone", 404, "not found"), ("new", 200, "first")]
    async with ground.database.read() as connection:
        assert (await due_pages.count(connection, crawl.id, now=NOW + 3 * DAY_MS)).gone == 1


async def test_a_full_crawl_has_room_for_visits_and_for_no_more_pages(ground: Ground) -> None:
    crawl = await begin(ground, 3, CrawlSpec(seeds=("http://a:80/",), refresh="auto", max_pages=3))
    assert crawl.counts.pages == 3
    later = NOW + 10 * DAY_MS
    assert await put(ground, crawl, later) == 3
    lease, tasks = await take(ground, later)
    assert len(tasks) == 3
    await settle(ground, lease, [ended(task, PageChange.CHANGED, "second") for task in tasks], later)
    crawl = await again(ground, crawl)
    assert (crawl.state, crawl.counts.pages, crawl.counts.pending) == ("done", 3, 0)


async def test_pages_that_were_stored_before_are_kept_fresh_too(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 2))
    lease, tasks = await take(ground, NOW)
    ends = [replace(ended(task, PageChange.NEW, "first"), visit=None) for task in tasks]
    await settle(ground, lease, ends, NOW)
    assert await ground.rows(fresh_pages) == []
    assert await put(ground, replace(await again(ground, crawl), spec=SPEC), NOW + 3 * DAY_MS) == 2


async def test_pages_that_are_kept_fresh_do_not_age_until_they_are_gone(ground: Ground) -> None:
    """A page that has not changed for long was stored long ago, and is what the site has today."""
    crawl = await begin(ground, 1)
    later, old = NOW + 100 * DAY_MS, PurgeFilter(before=NOW + 90 * DAY_MS, aged=True)

    async def aged() -> tuple[int, int]:
        async with ground.database.read() as connection:
            pages, _ = await expired.count_pages(connection, NOW + 90 * DAY_MS)
            return pages, (await purge.count(connection, old)).pages

    await revisit(ground, crawl, NOW + DAY_MS, PageChange.UNCHANGED)
    assert await aged() == (0, 0)
    async with ground.database.write() as connection:
        await connection.execute(update(fresh_pages).values(gone_at=later))
    assert await aged() == (1, 1)
    async with ground.database.write() as connection:
        await connection.execute(update(fresh_pages).values(gone_at=None))
        await connection.execute(update(crawls).values(keeps_fresh=False))
    assert await aged() == (1, 1)
