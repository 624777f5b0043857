"""Ends: how whoever waits for a job learns that it is over, without asking all the time.

A wake-up of the job's own, sent with the transaction that ends it; and now and then a look, since a wake-up
may be lost, and a job that fails sends none.
"""

import asyncio
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.job_statements import CHANNEL
from gossamer.state.jobs import Job, Jobs
from gossamer.state.wakeups import Wakeups

LOOK_SECONDS: Final = 0.5


class Ends:
    def __init__(self, jobs: Jobs, wakeups: Wakeups) -> None:
        self._jobs = jobs
        self._wakeups = wakeups

    async def wait(self, job_id: str, seconds: float) -> Job | None:
        """The job as it is at its end, or after `seconds`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        with self._wakeups.waiting([_name(job_id)]) as waiter:
            while True:
                job = await self._jobs.get(job_id)
                left = until - loop.time()
                if job is None or job.status.is_over or left <= 0:
                    return job
                await waiter.wait(min(left, LOOK_SECONDS))

    async def announce(self, connection: AsyncConnection, job_id: str) -> None:
        """To other processes, when the transaction is committed. On SQLite they see the write itself."""
        if connection.dialect.name == "postgresql":
            await connection.execute(
                text("SELECT pg_notify(:channel, :name)"), {"channel": CHANNEL, "name": _name(job_id)}
            )

    def tell(self, job_id: str) -> None:
        """To who waits in this process, after the transaction."""
        self._wakeups.wake([_name(job_id)])


def _name(job_id: str) -> str:
    return f"over:{job_id}"
