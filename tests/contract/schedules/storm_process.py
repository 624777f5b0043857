"""A process with nothing but a scheduler, for tests that kill it: `python -m … DATABASE_URL`."""

import asyncio
import sys

from tests.contract.schedules.schedule_ground import JobStarter

from gossamer.flows.schedules.scheduler import Scheduler
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.observe.logs import Log
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import open_database
from gossamer.state.schedules import schedule_leases
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.schedules.schedule_words import ScheduleKind

LEASE_MS = 700  # so that what a killed process held is free again soon
READY = b"ready\n"


class SlowStarter(JobStarter):
    """Takes a moment on both sides of the transaction's first write, where a kill does the most harm."""

    async def prepare(self, firing: Firing) -> Start:
        begin = await super().prepare(firing)
        await asyncio.sleep(0.01)

        async def start(connection: AsyncConnection) -> str:
            work_id = await begin(connection)
            await asyncio.sleep(0.01)
            return work_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        return False


async def main(url: str) -> None:
    schedule_leases.LEASE_MS = LEASE_MS  # type: ignore[misc]
    scheduler = Scheduler(open_database(url), {ScheduleKind.CRAWL: SlowStarter()}, Log(sys.stderr))
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    await scheduler.run(open_wakeups(scheduler.database))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
