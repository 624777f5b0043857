"""Hints of sitemaps: when they make pages due, and how it is noticed that they lie."""

import hashlib

import pytest
from msgspec.structs import replace
from tests.contract.crawl.crawl_ground import NOW, Ground, urls
from tests.contract.crawl.refresh_ground import SPEC, again, begin, ended, put, settle, take

from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh import due_pages, hint_rows, page_weights
from gossamer.state.crawl.refresh.fresh_pages import PageVisit
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, refresh_days
from gossamer.state.crawl.settling import CrawlTask, TaskEnd
from gossamer.state.db.database import Database
from gossamer.web.crawl.refresh.page_change import PageChange
from gossamer.web.crawl.refresh.sitemap_hints import ENOUGH, TRIED_AT_ONCE, HintRecord, PageHint, SaidTime
from gossamer.web.crawl.refresh.visit_history import DAY_MS, HOUR_MS
from gossamer.web.crawl.spec import CrawlSpec

WIDE = CrawlSpec(seeds=("http://a:80/",), refresh="auto", refresh_budget=1_000)
MAP = NewUrl("http://a:80/sitemap.xml", hashlib.sha256(b"map").hexdigest(), "a:80", as_sitemap=True)
TASK = CrawlTask(crawl_id="", url_hash=MAP.url_hash, url=MAP.url, host="a:80", depth=0, priority=3, attempt=1)


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


def hints(numbers: range, at: int, *, host: str = "a:80", **more: float) -> list[PageHint]:
    said = SaidTime(at, at)
    return [PageHint(one.url_hash, said, **more) for one in urls(host, numbers.stop)[numbers.start :]]


async def note(ground: Ground, crawl: Crawl, found: list[PageHint], now: int) -> int:
    task = replace(TASK, crawl_id=crawl.id)
    return await ground.frontier.note_hints(task, crawl.spec, found, now=now)


async def record_of(ground: Ground, crawl: Crawl) -> HintRecord:
    async with ground.database.read() as connection:
        return (await hint_rows.listing(connection, crawl.id)).get("a:80", HintRecord())


async def visit_all(ground: Ground, crawl: Crawl, now: int, change: PageChange, text: str = "") -> int:
    count = await put(ground, crawl, now)
    lease, tasks = await take(ground, now)
    await settle(ground, lease, [ended(task, change, text) for task in tasks], now)
    return count


async def test_a_newer_lastmod_makes_a_page_due_once(ground: Ground) -> None:
    crawl = await begin(ground, 3, WIDE)
    later = NOW + 2 * HOUR_MS
    assert await note(ground, crawl, hints(range(2), NOW - DAY_MS), later) == 0  # older than the visit
    assert await put(ground, crawl, later) == 0
    assert await note(ground, crawl, hints(range(1), later - 1), later) == 1
    assert await note(ground, crawl, hints(range(1), later - 1), later) == 1  # read again, and written again
    assert await visit_all(ground, crawl, later, PageChange.CHANGED, "second") == 1
    assert await note(ground, crawl, hints(range(1), later - 1), later + HOUR_MS) == 0
    record = await record_of(ground, crawl)
    assert (record.followed, record.confirmed, record.changes, record.announced) == (1, 1, 1, 1)
    assert 0 < record.expected < 0.1
    await ground.check_counts()


async def test_a_page_is_not_visited_again_sooner_than_it_may(ground: Ground) -> None:
    crawl = await begin(ground, 1, WIDE)
    soon = NOW + 60_000
    assert await note(ground, crawl, hints(range(1), soon), soon) == 1
    assert await put(ground, crawl, soon) == 0
    assert await put(ground, crawl, NOW + HOUR_MS) == 1


async def test_a_sitemap_has_no_say_about_pages_of_another_host(ground: Ground) -> None:
    crawl = await begin(ground, 1, WIDE)
    later = NOW + 2 * HOUR_MS
    task = replace(TASK, crawl_id=crawl.id, host="b:80")
    assert await ground.frontier.note_hints(task, crawl.spec, hints(range(1), later), now=later) == 0
    [row] = await ground.rows(fresh_pages)
    assert (row.said_at, row.hinted_at) == (None, None)


async def test_few_hints_of_an_unknown_site_are_followed_and_none_of_one_that_always_says_today(
    ground: Ground,
) -> None:
    count = TRIED_AT_ONCE + 10
    crawl = await begin(ground, count, WIDE)
    later = NOW + 2 * HOUR_MS
    assert await note(ground, crawl, hints(range(count), later - 1), later) == TRIED_AT_ONCE
    assert await visit_all(ground, crawl, later, PageChange.UNCHANGED) == TRIED_AT_ONCE
    record = await record_of(ground, crawl)
    assert (record.followed, record.confirmed, record.is_believed) == (TRIED_AT_ONCE, 0, False)
    later += 2 * HOUR_MS
    assert await note(ground, crawl, hints(range(count), later - 1), later) == 0
    assert await put(ground, crawl, later) == 0
    rows = await ground.rows(fresh_pages)
    assert all(row.hinted_at is not None for row in rows)  # they are still measured


async def test_silence_is_trusted_where_changes_are_announced(ground: Ground) -> None:
    crawl = await begin(ground, ENOUGH + 2, WIDE)
    later = NOW + 2 * HOUR_MS
    await note(ground, crawl, hints(range(ENOUGH + 2), later - 1), later)
    await visit_all(ground, crawl, later, PageChange.CHANGED, "second")
    record = await record_of(ground, crawl)
    assert record.patience > 2
    before = {row.url_hash: row.next_at - row.visited_at for row in await ground.rows(fresh_pages)}
    third = later + 30 * DAY_MS
    await visit_all(ground, crawl, third, PageChange.UNCHANGED)
    after = {row.url_hash: row.next_at - row.visited_at for row in await ground.rows(fresh_pages)}
    assert all(after[one] > 2 * before[one] for one in before)


async def test_changes_that_no_sitemap_tells_of_are_noticed(ground: Ground) -> None:
    crawl = await begin(ground, ENOUGH, WIDE)
    await note(ground, crawl, hints(range(ENOUGH), NOW - DAY_MS), NOW + HOUR_MS)
    now = NOW + 10 * DAY_MS
    await visit_all(ground, crawl, now, PageChange.CHANGED, "second")
    assert await record_of(ground, crawl) == HintRecord()  # the sitemap may not have been read since
    now += 10 * DAY_MS
    await visit_all(ground, crawl, now, PageChange.UNCHANGED)
    record = await record_of(ground, crawl)
    assert (record.changes, record.announced, record.patience) == (ENOUGH, 0, 1.0)
    assert all(row.changed_at is None for row in await ground.rows(fresh_pages))


async def test_a_changefreq_counts_as_long_as_nothing_else_is_known(ground: Ground) -> None:
    crawl = await begin(ground, 2, WIDE)
    daily, monthly = (
        replace_prior(hints(range(n, n + 1), NOW - DAY_MS), days) for n, days in ((0, 0.3), (1, 6))
    )
    await note(ground, crawl, daily + monthly, NOW + HOUR_MS)
    rows = {row.url_hash: row for row in await ground.rows(fresh_pages)}
    first, second = rows[daily[0].url_hash], rows[monthly[0].url_hash]
    assert first.next_at < second.next_at
    assert (first.prior_days, second.prior_days) == (0.3, 6)


def replace_prior(found: list[PageHint], days: float) -> list[PageHint]:
    return [PageHint(one.url_hash, one.said, days) for one in found]


def read_map(task: CrawlTask, change: PageChange, text: str | None = None) -> TaskEnd:
    visit = PageVisit(change=change, least_ms=HOUR_MS, most_ms=DAY_MS, bytes=70, content_hash=text)
    return TaskEnd(task=task, visit=visit)


async def test_sitemaps_are_read_again_before_pages_and_within_the_budget(ground: Ground) -> None:
    crawl = await ground.crawls.create(ground.tenant, SPEC, urls=[*urls("a:80", 6), MAP], now=NOW)
    lease, tasks = await take(ground, NOW)
    assert all(task.known is None for task in tasks)
    ends = [ended(t, PageChange.NEW, "x") for t in tasks if not t.as_sitemap]
    ends += [read_map(t, PageChange.NEW) for t in tasks if t.as_sitemap]
    await settle(ground, lease, ends, NOW)
    crawl, later = await again(ground, crawl), NOW + 10 * DAY_MS
    assert await put(ground, crawl, later) == 4  # and the sitemap is the fifth request
    lease, tasks = await take(ground, later)
    [sitemap] = [task for task in tasks if task.as_sitemap]
    assert sitemap.known is not None
    assert not sitemap.known.mark.is_good  # so it is sent as a whole
    ends = [ended(t, PageChange.UNCHANGED) for t in tasks if not t.as_sitemap]
    await settle(ground, lease, [*ends, read_map(sitemap, PageChange.CHANGED, "hash")], later)
    [day] = [row for row in await ground.rows(refresh_days) if row.visits]
    assert (day.planned, day.visits, day.sitemaps, day.bytes, day.changed) == (5, 4, 1, 70, 0)
    assert await put(ground, crawl, later + HOUR_MS, early=True) == 0  # the budget is spent
    async with ground.database.read() as connection:
        counts = await due_pages.count(connection, crawl.id, now=later)
    assert (counts.pages, counts.due) == (6, 2)
    assert counts.expected is not None
    assert 0 < counts.expected < 1
    next_day = later + DAY_MS
    await put(ground, crawl, next_day)
    lease, tasks = await take(ground, next_day)
    [sitemap] = [task for task in tasks if task.as_sitemap]
    assert sitemap.known is not None
    assert sitemap.known.mark.content_hash == "hash"
    await ground.check_counts()


async def test_many_sitemaps_do_not_take_the_place_of_pages(ground: Ground) -> None:
    maps = [replace(MAP, url=f"{MAP.url}?{n}", url_hash=f"{n:064}") for n in range(5)]
    crawl = await ground.crawls.create(ground.tenant, SPEC, urls=[*urls("a:80", 6), *maps], now=NOW)
    lease, tasks = await take(ground, NOW)
    ends = [read_map(t, PageChange.NEW) if t.as_sitemap else ended(t, PageChange.NEW, "x") for t in tasks]
    await settle(ground, lease, ends, NOW)
    assert await put(ground, await again(ground, crawl), NOW + 10 * DAY_MS) == 4
    _, tasks = await take(ground, NOW + 10 * DAY_MS)
    assert sum(task.as_sitemap for task in tasks) == 1


async def test_sitemaps_that_were_read_before_a_crawl_was_kept_fresh_are_read_again(ground: Ground) -> None:
    crawl = await ground.crawl([*urls("a:80", 1), MAP])
    lease, tasks = await take(ground, NOW)
    ends = [
        TaskEnd(task=task, page=None if task.as_sitemap else ended(task, PageChange.NEW, "x").page)
        for task in tasks
    ]
    await settle(ground, lease, ends, NOW)
    assert await put(ground, replace(await again(ground, crawl), spec=SPEC), NOW + HOUR_MS) == 0
    _, tasks = await take(ground, NOW + HOUR_MS)
    assert [task.as_sitemap for task in tasks] == [True]


async def test_pages_that_matter_more_are_visited_sooner(ground: Ground) -> None:
    crawl = await begin(ground, 2, replace_budget(1))
    plain, important = (one.url_hash for one in urls("a:80", 2))
    async with ground.database.write() as connection:
        assert await page_weights.claim(connection, crawl.id, DAY_MS, now=NOW)
        assert not await page_weights.claim(connection, crawl.id, DAY_MS, now=NOW + 1)
        assert await page_weights.claim(connection, crawl.id, DAY_MS, now=NOW + 2 * DAY_MS)
        await page_weights.write(connection, crawl.id, [(important, 4.0), (plain, 1.05)])
    rows = {row.url_hash: row.importance for row in await ground.rows(fresh_pages)}
    assert rows == {plain: 1.0, important: 4.0}
    later = NOW + 10 * DAY_MS
    assert await put(ground, crawl, later) == 1
    lease, [task] = await take(ground, later)
    assert task.url_hash == important
    await settle(ground, lease, [ended(task, PageChange.UNCHANGED)], later)
    assert await visit_all(ground, crawl, later + DAY_MS, PageChange.UNCHANGED) == 1
    waits = {row.url_hash: row.next_at - row.visited_at for row in await ground.rows(fresh_pages)}
    assert waits[important] < waits[plain]


def replace_budget(budget: int) -> CrawlSpec:
    return CrawlSpec(seeds=("http://a:80/",), refresh="auto", refresh_budget=budget)
