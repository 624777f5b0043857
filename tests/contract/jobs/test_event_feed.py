"""Who follows jobs is told everything once, and all of them together cost as much as one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import event as sql
from tests.servers.postgres import PostgresServer

from gossamer.state.db.database import Database
from gossamer.state.jobs.event_feed import EventFeed
from gossamer.state.jobs.job import Job, NewJob
from gossamer.state.jobs.job_events import JobEventType, NewEvent
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import open_wakeups

FOLLOWERS = 40
LONG = 60.0  # seconds; nothing here takes so long


@pytest.fixture
async def jobs(database: Database, database_url: str) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


async def put(jobs: Jobs) -> Job:
    async with jobs.database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
    return await jobs.put(NewJob(kind="audit", tenant_id=tenant.id))


class Reads:
    """Counts what is read of events."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        sql.listen(database._reader.engine.sync_engine, "before_cursor_execute", self._count)

    def _count(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.count += "job_events" in statement


async def followed(news: EventFeed, job_id: str, after: int, told: asyncio.Queue[int]) -> list[int]:
    """The numbers of the events, until the job is over."""
    numbers: list[int] = []
    async with news.following(job_id) as follower:
        while (events := await follower.since(after, LONG)) is not None:
            numbers += [event.seq for event in events]
            after = numbers[-1]
            told.put_nowait(after)
    return numbers


async def test_all_are_told_and_what_is_new_is_read_once(jobs: Jobs) -> None:
    news, reads, told = EventFeed(jobs), Reads(jobs.database), asyncio.Queue[int]()
    job = await put(jobs)

    async def all_have(seq: int) -> None:
        for _ in range(FOLLOWERS):
            assert await told.get() == seq

    following = [asyncio.create_task(followed(news, job.job_id, 0, told)) for _ in range(FOLLOWERS)]
    async with asyncio.timeout(LONG):
        await all_have(1)
        lease = (await jobs.lease({"audit": 1}, worker="w"))[0]
        await all_have(2)
        await jobs.emit(lease, [NewEvent(JobEventType.STEP_STARTED, f"step {number}") for number in range(3)])
        await all_have(5)
        await jobs.finish(lease)
        assert await asyncio.gather(*following) == [[1, 2, 3, 4, 5, 6]] * FOLLOWERS
        assert reads.count == 4
        told = asyncio.Queue()
        assert await followed(news, job.job_id, 4, told) == [5, 6]
        assert await followed(news, job.job_id, 99, told) == []
        assert await followed(news, "nothing", 0, told) == []
    assert news._watching is None  # nobody follows, and nobody looks


async def test_while_nothing_happens_whoever_waits_is_told_so(jobs: Jobs) -> None:
    job = await put(jobs)
    async with EventFeed(jobs).following(job.job_id) as follower:
        assert [event.seq for event in await follower.since(0, LONG) or ()] == [1]
        assert await follower.since(1, 0.01) == ()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_restart_of_the_database_is_waited_for(jobs: Jobs, postgres: PostgresServer) -> None:
    job = await put(jobs)
    async with asyncio.timeout(LONG), EventFeed(jobs).following(job.job_id) as follower:
        assert [event.seq for event in await follower.since(0, LONG) or ()] == [1]
        postgres.stop()
        assert await follower.since(1, 1.0) == ()
        assert await follower.since(0, 1.0) == ()  # what is known to be there cannot be read either
        postgres.start()
        assert [event.seq for event in await follower.since(0, LONG) or ()] == [1]
        await jobs.cancel(job.job_id)
        assert [event.message for event in await follower.since(1, LONG) or ()] == ["canceled"]
        assert await follower.since(2, LONG) is None
