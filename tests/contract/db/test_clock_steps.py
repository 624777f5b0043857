"""When the clock is set back by an hour, nothing waits for an hour."""

from collections.abc import Sequence

import pytest
from sqlalchemy import select
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, done, urls

from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.db import clock_steps
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups

HOUR = 3600 * SECOND
BACK = NOW - HOUR
KIND = "echo"


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def beat(database: Database, now: int) -> int:
    step = await clock_steps.follow(database, now=now)
    async with database.write() as connection:
        await heartbeats.beat(connection, "w", [KIND, heartbeats.CRAWL], 0, now=now)
    return step


async def test_a_crawl_goes_on(ground: Ground) -> None:
    """What was found is due, and hosts have their turn: those nobody held, and what a lost worker had."""
    database = ground.database
    await ground.crawl([*urls("a:80", 3), *urls("b:80", 3)])
    await beat(database, NOW)
    (lost,) = await ground.lease(1)
    assert await ground.lease(9, now=BACK) == []
    assert await beat(database, BACK) == HOUR
    (other,) = await ground.lease(9, now=BACK)
    assert other.host != lost.host
    assert len(await ground.frontier.take(other, 9, now=BACK)) == 3
    again = await ground.lease(9, worker="v", now=BACK + LEASE)
    assert {lease.host for lease in again} == {"a:80", "b:80"}


async def test_jobs_that_wait_and_jobs_of_a_lost_worker_have_their_turn(
    ground: Ground, database_url: str
) -> None:
    jobs = Jobs(ground.database, open_wakeups(ground.database))
    await jobs.put(NewJob(kind=KIND, tenant_id=ground.tenant), now=NOW)
    (held,) = await jobs.lease({KIND: 9}, worker="lost", seconds=60, now=NOW)
    late = await jobs.put(NewJob(kind=KIND, tenant_id=ground.tenant, delay=5.0), now=NOW)
    await beat(ground.database, NOW)
    assert await jobs.lease({KIND: 9}, worker="w", now=BACK + 90 * SECOND) == []
    await beat(ground.database, BACK)
    assert await jobs.lease({KIND: 9}, worker="w", now=BACK + 4 * SECOND) == []
    (first,) = await jobs.lease({KIND: 9}, worker="w", now=BACK + 5 * SECOND)
    assert first.job_id == late.job_id
    (second,) = await jobs.lease({KIND: 9}, worker="w", now=BACK + 60 * SECOND)
    assert second.job_id == held.job_id
    await jobs.close()


async def test_what_was_begun_after_the_step_is_left_alone(ground: Ground, database_url: str) -> None:
    jobs = Jobs(ground.database, open_wakeups(ground.database))
    await beat(ground.database, NOW)
    await jobs.put(NewJob(kind=KIND, tenant_id=ground.tenant), now=BACK)
    (lease,) = await jobs.lease({KIND: 9}, worker="w", seconds=60, now=BACK)
    await beat(ground.database, BACK + SECOND)
    assert await jobs.extend([lease], now=BACK + 59 * SECOND)
    await jobs.close()


async def test_nothing_happens_where_the_clock_goes_on_or_steps_a_little(ground: Ground) -> None:
    assert await beat(ground.database, NOW) == 0
    assert await beat(ground.database, NOW + HOUR) == 0
    assert await beat(ground.database, NOW + HOUR - 90 * SECOND) == 0


async def test_pages_stay_in_the_order_in_which_they_were_stored(ground: Ground) -> None:
    crawl = await ground.crawl(urls("a:80", 4))
    await beat(ground.database, NOW)
    (lease,) = await ground.lease(1)
    tasks = await ground.frontier.take(lease, 4, now=NOW)
    await ground.frontier.settle(lease, done(tasks[:2]), now=NOW)
    await beat(ground.database, BACK)
    await ground.frontier.settle(lease, done(tasks[2:]), now=BACK)
    assert await times(ground.database, crawl.id, tasks[2:]) >= await times(
        ground.database, crawl.id, tasks[:2]
    )


async def times(database: Database, crawl_id: str, tasks: Sequence[CrawlTask]) -> list[int]:
    query = select(crawled_pages.c.crawled_at).where(
        crawled_pages.c.crawl_id == crawl_id, crawled_pages.c.url_hash.in_([task.url_hash for task in tasks])
    )
    async with database.read() as connection:
        return sorted((await connection.scalars(query)).all())
