"""What the workers do now, as the tables tell it, on both databases."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.crawl.crawl_ground import Ground, urls

from gossamer.flows.upkeep.workers import Workers
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats, work_now
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups

NOW = 1_700_000_000_000
MINUTE = 60_000
DAY = 86_400_000


@pytest.fixture
async def jobs(database: Database, database_url: str) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


async def test_a_worker_that_fell_silent_is_listed_for_a_day(database: Database) -> None:
    async with database.write() as connection:
        await heartbeats.beat(connection, "silent", ["audit"], 1, now=NOW)
        await heartbeats.beat(connection, "alive", ["audit", "render"], 2, now=NOW + MINUTE)
        found = await heartbeats.recent(connection, now=NOW + MINUTE)
        assert [(each.name, each.is_alive) for each in found] == [("alive", True), ("silent", False)]
        assert found[0].kinds == ("audit", "render")
        later = await heartbeats.recent(connection, now=NOW + DAY)
        assert [(each.name, each.is_alive) for each in later] == [("alive", False)]


async def test_running_jobs_are_found_by_their_worker(jobs: Jobs) -> None:
    ground = await Ground.on(jobs.database)
    for _ in range(3):
        await jobs.put(NewJob(kind="audit", tenant_id=ground.tenant), now=NOW)
    (one,) = await jobs.lease({"audit": 1}, worker="a", now=NOW + 1)
    (two,) = await jobs.lease({"audit": 1}, worker="b", now=NOW + 2)
    await jobs.finish(two, now=NOW + 3)
    async with jobs.database.read() as connection:
        found = await work_now.running_jobs(connection)
    assert {name: [job.job_id for job in each] for name, each in found.items()} == {"a": [one.job_id]}
    job = found["a"][0]
    assert (job.kind, job.since, job.progress) == ("audit", NOW + 1, 0)


async def test_leased_hosts_are_counted_and_the_first_are_named(database: Database) -> None:
    ground = await Ground.on(database)
    await ground.crawl([one for number in range(12) for one in urls(f"h{number:02}.example", 1)])
    leased = await ground.hosts.lease("process", 12)
    assert len(leased) == 12
    async with database.write() as connection:
        await heartbeats.beat(connection, "process", ["audit"], 0)
        await heartbeats.beat(connection, "process-crawl", ["crawl"], 12)
    shown = {one.heartbeat.name: one.hosts for one in await Workers(database).list()}
    assert shown["process"].count == 0
    assert shown["process-crawl"].count == 12
    assert shown["process-crawl"].names == tuple(f"h{number:02}.example" for number in range(10))
    async with database.read() as connection:
        later = 2 * 10**12  # the leases have run out
        assert await work_now.leased_hosts(connection, now=later) == {}
