"""Who waits for the end of a job learns of it, also when another process ends it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs import job_waiter
from gossamer.state.jobs.job import Job, JobError, JobState, NewJob
from gossamer.state.jobs.job_waiter import JobWaiter
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.render import renders
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import Wakeups, open_wakeups


@dataclass(frozen=True)
class Side:
    """A process of ours: its own connections and wake-ups."""

    database: Database
    wakeups: Wakeups
    jobs: Jobs
    waiter: JobWaiter


@pytest.fixture
async def sides(database: Database, database_url: str) -> AsyncIterator[tuple[Side, Side]]:
    opened = []
    for number in range(2):
        one = database if number == 0 else open_database(database_url)
        wakeups = open_wakeups(one)
        jobs = Jobs(one, wakeups)
        opened.append(Side(one, wakeups, jobs, JobWaiter(jobs, wakeups)))
    yield opened[0], opened[1]
    for side in opened:
        await side.jobs.close()
    await opened[1].database.close()


async def put(side: Side) -> Job:
    async with side.database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com")
    return await side.jobs.put(NewJob(kind="render", tenant_id=tenant.id, idempotency_key="k" * 64))


async def finish(side: Side) -> None:
    lease = (await side.jobs.lease({"render": 1}, worker="w"))[0]
    async with side.jobs.finishing(lease, {"a": 1}) as connection:
        await side.waiter.announce(connection, lease.job_id)
    side.waiter.wake(lease.job_id)


@pytest.mark.parametrize("other", [0, 1])
async def test_the_end_is_told_without_looking(
    sides: tuple[Side, Side], other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_waiter, "POLL_SECONDS", 600.0)
    job = await put(sides[0])
    waiting = asyncio.create_task(sides[0].waiter.wait(job.job_id, 600))
    async with asyncio.timeout(60):
        while not sides[0].wakeups._waiters:
            await asyncio.sleep(0.01)
        await finish(sides[other])
        ended = await waiting
    assert ended is not None
    assert ended.status is JobState.DONE


async def test_a_job_that_fails_is_seen_too(sides: tuple[Side, Side]) -> None:
    job = await put(sides[0])
    waiting = asyncio.create_task(sides[0].waiter.wait(job.job_id, 600))
    lease = (await sides[1].jobs.lease({"render": 1}, worker="w"))[0]
    await sides[1].jobs.fail(lease, JobError(code="NO", detail="it went wrong"))
    async with asyncio.timeout(60):
        ended = await waiting
    assert ended is not None
    assert ended.status is JobState.FAILED


async def test_patience_ends(sides: tuple[Side, Side]) -> None:
    job = await put(sides[0])
    still = await sides[0].waiter.wait(job.job_id, 0.05)
    assert still is not None
    assert still.status is JobState.QUEUED
    assert await sides[0].waiter.wait("01JGGR2Z3W8Q4T6V9X0Y1B2C3D", 600) is None


async def test_active_renders_are_found_by_their_keys(sides: tuple[Side, Side]) -> None:
    job = await put(sides[0])
    keys = ["k" * 64, "l" * 64]
    async with sides[0].database.read() as connection:
        assert (await renders.active(connection, job.tenant_id, keys))["k" * 64].job_id == job.job_id
        assert await renders.active(connection, "another", keys) == {}
        assert [one.job_id for one in await renders.of_pages(connection, job.tenant_id, ["k" * 40])] == [
            job.job_id
        ]
        assert await renders.of_pages(connection, job.tenant_id, ["k" * 39, "l" * 40]) == []
        assert await renders.of_pages(connection, "another", ["k" * 40]) == []
        assert [one.job_id for one in await renders.list_queued(connection, job.tenant_id, limit=9)] == [
            job.job_id
        ]
        assert await renders.waiting(connection) == 1
    await finish(sides[0])
    async with sides[0].database.read() as connection:
        assert await renders.active(connection, job.tenant_id, keys) == {}
        assert await renders.of_pages(connection, job.tenant_id, ["k" * 40]) == []
        assert await renders.waiting(connection) == 0
