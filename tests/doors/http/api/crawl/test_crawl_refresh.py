"""Crawls that are kept fresh, over HTTP: visits, hints, versions, and a worker that is killed in between."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from tests.doors.crawls import OPEN, crawling, get, over, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.living_site import LivingSite, crawl_of, living_site, refresh
from tests.doors.services import AS_ADMIN, Visit, Visiting

from gossamer.assembly.schedules import open_starters, open_task_starters
from gossamer.flows.schedules.scheduler import Scheduler
from gossamer.state.crawl.crawl_tables import crawled_pages, hosts
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, page_versions, refresh_days

MINUTE_MS = 60_000
WORKER = """
import asyncio, sys
from gossamer.app import Service
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings

async def main():
    flags = dict(pair.split("=", 1) for pair in sys.argv[1:])
    async with Service(Settings.load({}, None, flags), Log(sys.stderr)) as service:
        await service.crawl_worker().run(asyncio.Event())

asyncio.run(main())
"""


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


@pytest.fixture
async def living() -> AsyncIterator[LivingSite]:
    async with living_site() as site:
        yield site


async def pages_of(visit: Visit, crawl_id: str) -> dict[str, dict[str, Any]]:
    found = (await get(visit, f"/api/crawls/{crawl_id}/pages"))["pages"]
    return {"/" + page["url"].split("/", 3)[3]: page for page in found}


async def freshness(visit: Visit, crawl_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await get(visit, f"/api/crawls/{crawl_id}"))["freshness"]
    return found


async def test_changes_make_versions_and_everything_else_costs_no_body(
    visit: Visit, living: LivingSite
) -> None:
    crawl_id = await crawl_of(visit, living, sitemaps=False)
    living.write("/a", "About aphids, which is another thing. " + "Aphids suck on plants all day. " * 20)
    assert await refresh(visit, crawl_id) == 3
    assert living.times("/a") == [200, 200]
    assert living.times("/b") == [200, 304]
    page = (await pages_of(visit, crawl_id))["/a"]
    here = f"/api/crawls/{crawl_id}/pages/{page['pageId']}/versions"
    versions = (await get(visit, here))["versions"]
    assert [(one["number"], one["change"]) for one in versions] == [(2, "changed"), (1, "new")]
    old = await visit.client.get(f"{here}/1", headers=AS_ADMIN)
    assert "About ants." in old.text
    diff = (await visit.client.get(f"{here}/1/diff", headers=AS_ADMIN)).text
    assert diff.startswith("--- version 1\n+++ version 2\n@@ ")
    assert "-About ants." in diff
    assert "+About aphids" in diff
    told = await freshness(visit, crawl_id)
    assert (told["pages"], told["due"], told["gone"]) == (3, 0, 0)
    month = told["month"]
    assert (month["visits"], month["changed"], month["unmodified"], month["planned"]) == (3, 1, 2, 3)
    assert told["expected"] > 0.95
    assert_problem(await visit.client.get(f"{here}/9/diff", headers=AS_ADMIN), "NOT_FOUND")


async def test_pages_that_are_gone_or_moved_are_noticed(visit: Visit, living: LivingSite) -> None:
    crawl_id = await crawl_of(visit, living, sitemaps=False)
    del living.pages["/a"]
    del living.pages["/b"]
    living.write("/c", "About bees, elsewhere.")
    living.moved["/b"] = "/c"
    await refresh(visit, crawl_id)
    pages = await pages_of(visit, crawl_id)
    assert pages["/a"]["statusCode"] == 200  # it is missing for the first time
    assert (pages["/b"]["statusCode"], pages["/b"]["finalUrl"]) == (301, f"{living.origin}/c")
    assert pages["/c"]["statusCode"] == 200
    await refresh(visit, crawl_id)
    assert (await pages_of(visit, crawl_id))["/a"]["statusCode"] == 404
    told = await freshness(visit, crawl_id)
    assert (told["gone"], told["month"]["moved"]) == (1, 1)


async def test_a_sitemap_is_read_again_and_tells_of_new_pages_and_of_changes(
    visit: Visit, living: LivingSite
) -> None:
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    living.listed = {"/a": long_ago, "/b": long_ago}
    crawl_id = await crawl_of(visit, living)
    living.write("/new", "A page that nothing links to.")
    living.listed["/new"] = long_ago
    await refresh(visit, crawl_id)
    assert "/new" in await pages_of(visit, crawl_id)
    assert living.times("/sitemap.xml") == [200, 200]
    await refresh(visit, crawl_id)
    assert living.times("/sitemap.xml") == [200, 200, 304]
    living.listed["/a"] = datetime.now(UTC) + timedelta(hours=1)
    living.write("/a", "Ants are gone, and here are " + "many other words about something else. " * 20)
    await refresh(visit, crawl_id)  # reads the sitemap and visits the page, in any order
    await refresh(visit, crawl_id)
    told = await freshness(visit, crawl_id)
    assert told["month"]["sitemaps"] == 4
    async with visit.service.database.read() as connection:
        rows = (await connection.execute(select(fresh_pages))).all()
    said = [row for row in rows if row.said_at is not None]
    assert len(said) == 2  # the new page was stored after the sitemap said so, long ago
    assert {row.prior_days for row in said} == {2.2}


async def test_a_crawl_is_turned_on_and_off_and_the_scheduler_fires_what_is_due(
    visit: Visit, living: LivingSite
) -> None:
    crawl_id = await crawl_of(visit, living, sitemaps=False, refresh="off")
    assert (await get(visit, f"/api/crawls/{crawl_id}"))["freshness"] is None
    refused = await post(visit, f"/api/crawls/{crawl_id}/refresh")
    assert_problem(refused, "UNPROCESSABLE_ENTITY")
    changed = await visit.client.patch(
        f"/api/crawls/{crawl_id}", json={"refresh": "auto", "refreshBudget": 2}, headers=AS_ADMIN
    )
    assert changed.json()["options"]["refreshBudget"] == 2
    service = visit.service
    scheduler = Scheduler(service.database, open_starters(service, open_task_starters(service)), service.log)
    now = round(time.time() * 1_000)
    assert await scheduler.fire_due(now=now + MINUTE_MS) == 0
    assert await scheduler.fire_due(now=now + 11 * MINUTE_MS) == 1  # nothing is due, but pages are known now
    async with service.database.write() as connection:
        assert await connection.scalar(select(func.count()).select_from(fresh_pages)) == 3
        weights = await connection.scalars(select(fresh_pages.c.importance))
        assert min(weights) < 0.9  # of the page that no other links to
        await connection.execute(update(fresh_pages).values(next_at=0))
    assert await scheduler.fire_due(now=now + 22 * MINUTE_MS) == 1
    async with crawling(visit):
        await over(visit, crawl_id)
    assert (await freshness(visit, crawl_id))["month"]["visits"] == 2  # the budget of the host
    await visit.client.patch(f"/api/crawls/{crawl_id}", json={"refresh": "off"}, headers=AS_ADMIN)
    assert await scheduler.fire_due(now=now + 60 * MINUTE_MS) == 0


async def test_a_worker_that_is_killed_in_the_middle_loses_nothing_and_doubles_nothing(
    visit: Visit, living: LivingSite, tmp_path: Path
) -> None:
    crawl_id = await crawl_of(visit, living, sitemaps=False)
    for path in ("/a", "/b"):
        living.write(
            path, "Something else now. " + f"{path} has many words that were not there before. " * 20
        )
    living.held = "/b"
    assert (await post(visit, f"/api/crawls/{crawl_id}/refresh")).json()["queued"] == 3
    flags = {**OPEN, "data_dir": str(tmp_path), "dns_servers": "127.0.0.1:9"}
    program = [sys.executable, "-c", WORKER, *(f"{name}={value}" for name, value in flags.items())]
    process = await asyncio.create_subprocess_exec(*program, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(60):
            await living.reached.wait()
    finally:
        process.kill()
        await process.wait()
    living.held = ""
    async with visit.service.database.write() as connection:  # its lease ends
        await connection.execute(update(hosts).values(locked_until=1, due_at=1))
    async with crawling(visit):
        done = await over(visit, crawl_id)
    assert (done["counts"]["pages"], done["counts"]["pending"], done["counts"]["inProgress"]) == (3, 0, 0)
    async with visit.service.database.read() as connection:
        visits = (await connection.execute(select(fresh_pages.c.visits, fresh_pages.c.changes))).all()
        stored = await connection.scalar(select(func.count()).select_from(crawled_pages))
        versions = await connection.scalar(select(func.count()).select_from(page_versions))
        [day] = (await connection.execute(select(refresh_days))).all()
    assert sorted(map(tuple, visits)) == [(2, 0), (2, 1), (2, 1)]
    assert (stored, versions, day.planned, day.visits, day.changed) == (3, 4, 3, 3, 2)
