"""The deletion of a large crawl, whose worker is killed in the middle."""

import asyncio
from pathlib import Path

from sqlalchemy import func, insert, select, text
from tests.contract.crawl.crawl_ground import Ground, url
from tests.doors.processes import Start

from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.crawl.crawl_tables import crawl_blobs, crawled_pages, crawls, frontier
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import JobState
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants.activity import Actor
from gossamer.state.wakeups.wakeups import open_wakeups

SECONDS = 120.0
PAGES = 20_000
BLOBS = 40
NOW = 1_700_000_000_000


async def store(ground: Ground, folder: Path) -> str:
    """A crawl with many pages; returns its id."""
    crawl = await ground.crawl([url("a:80", "first")])
    (first,) = await ground.rows(frontier)
    blobs = open_blobs(f"file://{folder}/blobs", {})
    names = [f"crawls/{number:026}" for number in range(BLOBS)]
    for name in names:
        await blobs.put(name, b"content")
    await blobs.close()
    urls = [first._asdict() | {"url_hash": f"{number:064}", "state": "completed"} for number in range(PAGES)]
    empty = {column.name: "" for column in crawled_pages.c} | {
        "crawl_id": crawl.id,
        "status_code": 200,
        "duplicate_of": None,
        "outcome": "ok",
        **dict.fromkeys(
            ("content_length", "links_count", "depth", "duration_ms", "blob_offset", "blob_size"), 0
        ),
    }
    pages = [
        empty
        | {"url_hash": f"{number:064}", "final_url": f"http://a/{number}", "crawled_at": NOW + number}
        | {"url": f"http://a/{number}", "host": "a:80", "blob": names[number % BLOBS]}
        for number in range(PAGES)
    ]
    async with ground.database.write(seconds=SECONDS) as connection:
        await connection.execute(insert(frontier), urls)
        await connection.execute(insert(crawled_pages), pages)
        await connection.execute(
            insert(crawl_blobs), [{"blob": name, "crawl_id": crawl.id} for name in names]
        )
    return crawl.id


async def count(database: Database) -> int:
    async with database.read() as connection:
        return await connection.scalar(select(func.count()).select_from(crawled_pages)) or 0


async def test_a_killed_deletion_is_finished_by_another_worker(
    processes: Start, database: Database, database_url: str, tmp_path: Path
) -> None:
    ground = await Ground.on(database)
    crawl_id = await store(ground, tmp_path)
    stored = {path.name for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
    assert len(stored) == BLOBS
    jobs = Jobs(database, open_wakeups(database))
    removal = CrawlRemoval(database, open_blobs(f"file://{tmp_path}/blobs", {}))
    deletion = Deletion(DeletionKind.CRAWL, crawl_id)
    deleter = Deleter(jobs, {DeletionKind.CRAWL: removal})
    job = await deleter.accept(deletion, ground.tenant, Actor("test"))
    assert job is not None
    settings = {"database_url": database_url, "blobs_url": f"file://{tmp_path}/blobs", "port": 8080}
    doomed = processes("gossamer", "worker", "--kinds", "delete", **settings)
    async with asyncio.timeout(SECONDS):
        while await count(database) == PAGES:
            assert doomed.process.poll() is None, doomed.process.communicate()
            await asyncio.sleep(0.005)
    doomed.kill()
    left = await count(database)
    assert 0 < left < PAGES, "it was killed in the middle"
    async with database.write() as connection:  # its lease runs out
        await connection.execute(text("UPDATE jobs SET locked_until = 1 WHERE status = 'running'"))
    processes("gossamer", "worker", "--kinds", "delete", **settings)
    async with asyncio.timeout(SECONDS):
        while (found := await jobs.get(job.job_id)) is not None and not found.status.is_over:
            await asyncio.sleep(0.05)
    assert found is not None
    assert (found.status, found.attempt, found.progress_pct) == (JobState.DONE, 2, 100)
    events = [event.message for event in await jobs.events(job.job_id)]
    assert events.count("removing its pages") >= 2
    async with database.read() as connection:
        for table in (frontier, crawled_pages, crawl_blobs, crawls):
            assert await connection.scalar(select(func.count()).select_from(table)) == 0, table.name
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    await jobs.close()
