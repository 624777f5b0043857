"""What was kept long enough goes, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.crawl.crawl_ground import url
from tests.contract.removal.test_removal import expect
from tests.contract.removal.world import DAY, HOST, NEW, NOW, OLD, World, open_world

from gossamer.flows.crawl.reading.results import CrawlResults, WantedContent
from gossamer.flows.crawl.reading.site_memories import SiteMemories
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database


@pytest.fixture
async def world(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(database, database_url, tmp_path / "blobs") as opened:
        yield opened


async def test_what_is_due_goes_and_nothing_else(world: World) -> None:
    before = await world.rows()
    days = CrawlStats(world.database)
    first, end = OLD // DAY * 1_440, (NOW // DAY + 1) * 1_440
    happened = await days.timeseries(first, end, 1_440)
    retention = world.retention()
    preview = {name: due.rows for name, due in (await retention.preview(now=NOW)).items()}
    removed = await asyncio.gather(retention.enforce(now=NOW), retention.enforce(now=NOW))
    assert {name: sum(one[name] for one in removed) for name in preview} | {"audits": 2} == preview | {
        "bodies": 6,  # those of the audit have gone with it, and its counts and jobs
        "minutes": 6,
        "jobs": 2,
        "completed URLs": 4,
        "failed and blocked URLs": 7,
    }
    rows = await world.rows()
    site, audits = world.crawls["site"], {world.audits["ann-old"], world.audits["bob-old"]}
    old_jobs = {row["job_id"] for row in before["jobs"].values() if row["finished_at"]}
    over = {world.crawls[name] for name in ("done", "canceled", "bobs")}
    default = world.crawls["default"]
    for row in before["crawled_pages"].values():  # their bodies are not kept
        if row["crawled_at"] == OLD:
            row |= {"blob": None, "blob_offset": 0, "blob_size": 0}

    def gone(table: str, row: dict[str, Any]) -> bool:
        if row.get("crawl_id", row.get("id")) == site or row.get("id") in audits:
            return True
        if table in ("jobs", "job_events", "batches", "batch_results"):
            return row["job_id"] in old_jobs
        if table == "frontier":
            owner = row["crawl_id"] in over or (row["crawl_id"] == default and row["updated_at"] == OLD)
            return owner and row["state"] in ("completed", "failed", "blocked")
        if table == "crawl_blobs":
            return all(page["blob"] != row["blob"] for page in before["crawled_pages"].values())
        if table == "crawl_minutes":
            return bool(row["minute"] < (NOW - 7 * DAY) // DAY * 1_440)
        return table == "host_robots" and row["fetched_at"] == OLD

    before["crawl_days"] = rows["crawl_days"]
    await expect(world, before, gone)
    # What the deleted crawl of the audit had done is not counted any more.
    mine = [row for row in before["crawl_minutes"].values() if row["crawl_id"] == site]
    left = await days.timeseries(first, end, 1_440)
    assert sum(one.fetched for one in left) == sum(one.fetched for one in happened) - sum(
        row["fetched"] for row in mine
    )
    assert (left[0].failed, left[-1]) == (happened[0].failed - 1, happened[-1])
    assert set((await retention.enforce(now=NOW)).values()) == {0}


async def test_pages_go_when_their_time_has_come(world: World) -> None:
    retention = world.retention(pages="90d")
    assert (await retention.preview(now=NOW))["pages"] == (7, 700)
    await retention.enforce(now=NOW)
    await world.check()
    assert {row["crawled_at"] for row in (await world.rows())["crawled_pages"].values()} == {NEW}


async def test_forever_is_forever(world: World) -> None:
    kept = ("completed_urls", "failed_urls", "bodies", "pages", "minutes", "audits", "jobs", "robots")
    names = (*kept, "schedule_runs", "site_visits", "changes", "deliveries")
    before = await world.rows()
    assert await world.retention(**dict.fromkeys(names, "forever")).enforce(now=NOW + 10_000 * DAY) == {}
    assert await world.rows() == before


async def test_a_crawl_that_goes_on_stores_a_forgotten_page_again(world: World) -> None:
    await world.retention().enforce(now=NOW)
    crawl_id = world.crawls["done"]
    memories = SiteMemories(world.database, world.blobs, world.parsers)
    results = CrawlResults(world.database, Crawls(world.database), world.blobs, world.parsers, memories)
    found = await results.listing(PageFilter(crawl_id=crawl_id), None, 10)
    shown = [page async for page in results.read(found, WantedContent("text"))]
    assert [(page.content, page.unread) for page in shown] == [(None, "not_kept")]
    assert await Frontier(world.database).add(crawl_id, [url(HOST, "both")], now=NOW) == 1
    await world.store(NOW)
    await world.check()
    (again,) = await results.listing(PageFilter(crawl_id=crawl_id), None, 10)
    assert again.page.crawled_at == NOW
    (read,) = [page async for page in results.read([again], WantedContent("text"))]
    assert "rope" in (read.content or "")
