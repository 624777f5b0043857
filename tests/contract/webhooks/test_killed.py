"""Processes that end jobs and send webhooks are killed again and again: no event is lost, and one that comes
twice has the same id and contents."""

import asyncio

from tests.contract.crawl.crawl_ground import Ground
from tests.contract.webhooks.office import SECRET, open_office, register
from tests.forks.forked import Forked
from tests.servers.receiver import Receiver, receiving

from gossamer.state.db.database import Database
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups

JOBS, KILLS = 40, 5
AHEAD = 120_000  # so that what the one before had taken is free: by the clock, each starts later
SECONDS = 60.0


async def heard(receiver: Receiver, count: int) -> None:
    async with asyncio.timeout(SECONDS):
        while len(receiver.heard) < count:
            await asyncio.sleep(0.005)


async def test_no_event_is_lost_and_repeats_have_the_same_id(database: Database, database_url: str) -> None:
    ground = await Ground.on(database)
    jobs = Jobs(database, open_wakeups(database))
    new = [NewJob(kind="render", tenant_id=ground.tenant, max_attempts=50) for _ in range(JOBS)]
    async with receiving() as receiver, open_office(database) as office:
        await register(office, ground.tenant, receiver.url, "job.*")
        await jobs.put_many(new)
        for generation in range(KILLS + 1):
            child = Forked("tests.contract.webhooks.storm", database_url, str(generation * AHEAD))
            try:
                if generation < KILLS:  # in the middle of something: it neither rests nor waits
                    await heard(receiver, len(receiver.heard) + 3)
                else:
                    async with asyncio.timeout(SECONDS):
                        while len(set(receiver.ids)) < JOBS:
                            await asyncio.sleep(0.01)
            finally:
                child.kill()
                child.wait()
    await jobs.close()
    by_job: dict[str, set[tuple[str, str]]] = {}
    for delivery_id, (_, body), told in zip(receiver.ids, receiver.heard, receiver.bodies, strict=True):
        by_job.setdefault(told["data"]["id"], set()).add((delivery_id, body))
    assert by_job.keys() == {job.job_id for job in new}
    assert all(len(each) == 1 for each in by_job.values())
    receiver.verify(SECRET)
