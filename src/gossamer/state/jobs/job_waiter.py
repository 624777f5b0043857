"""Wait for the end of a job without asking all the time.

The transaction that ends a job sends a wake-up for it. A wake-up may be lost, and a job that fails sends
none, so the job is also looked up now and then.
"""

import asyncio
from typing import Final

from msgspec import Struct
from sqlalchemy import text

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job
from gossamer.state.jobs.job_statements import CHANNEL
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import Wakeups

POLL_SECONDS: Final = 0.5


class JobWaiter(Struct, frozen=True):
    jobs: Jobs
    wakeups: Wakeups

    async def wait(self, job_id: str, seconds: float) -> Job | None:
        """The job at its end, or as it is after `seconds`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        with self.wakeups.waiting([_name(job_id)]) as waiter:
            while True:
                job = await self.jobs.get(job_id)
                left = until - loop.time()
                if job is None or job.status.is_over or left <= 0:
                    return job
                await waiter.wait(min(left, POLL_SECONDS))

    async def announce(self, connection: AsyncConnection, job_id: str) -> None:
        """Wake other processes when the transaction commits. On SQLite they notice the write itself."""
        if connection.dialect.name == "postgresql":
            await connection.execute(
                text("SELECT pg_notify(:channel, :name)"), {"channel": CHANNEL, "name": _name(job_id)}
            )

    def wake(self, job_id: str) -> None:
        """Wake this process, after the transaction."""
        self.wakeups.wake([_name(job_id)])


def _name(job_id: str) -> str:
    return f"over:{job_id}"
