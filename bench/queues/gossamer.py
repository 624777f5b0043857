"""Gossamer's own queue."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop

from bench.queues.script import Put, obey, ready
from gossamer.doors.worker.work import Handler, Work
from gossamer.doors.worker.worker import Worker
from gossamer.observe.logs import Log
from gossamer.state.db.database import open_database
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import open_wakeups


class Gossamer:
    async def prepare(self, url: str) -> None:
        database = open_database(url)
        await database.migrate()
        await database.close()

    async def putting(self, url: str, at_once: int, use: Callable[[Put], Awaitable[None]]) -> None:
        database = open_database(url, connections=at_once)
        jobs = Jobs(database, open_wakeups(database))
        async with database.write() as connection:
            tenant = (await tenants.ensure_tenant(connection, "bench@example.com")).id

        async def put(count: int) -> object:
            new = [NewJob(kind="noop", tenant_id=tenant, payload={}) for _ in range(count)]
            return await (jobs.put(new[0]) if count == 1 else jobs.put_many(new))

        await use(put)
        await database.close()

    async def work(self, url: str, at_once: int, go: asyncio.Event, stop: asyncio.Event) -> None:
        database = open_database(url)
        jobs = Jobs(database, open_wakeups(database))
        handler = Handler(run=_do_nothing, payload=dict[str, Any], concurrency=at_once)
        worker = Worker(jobs, {"noop": handler}, name=str(id(go)), log=Log(sys.stderr, level="warning"))
        await database.ping()
        ready()
        await go.wait()
        await worker.run(stop)
        await jobs.close()
        await database.close()


async def _do_nothing(_work: Work[dict[str, Any]]) -> None:
    pass


if __name__ == "__main__":
    uvloop.run(obey(Gossamer()))
