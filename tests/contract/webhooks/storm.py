"""A process that ends jobs and delivers webhooks until it is killed: DATABASE_URL MILLISECONDS-AHEAD."""

import asyncio
import sys
import time

from tests.contract.webhooks.office import open_office

from gossamer.state.db.database import open_database
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups


async def work(url: str, ahead: int) -> None:
    def now() -> int:
        return round(time.time() * 1000) + ahead

    database = open_database(url)
    jobs = Jobs(database, open_wakeups(database))
    async with open_office(database, clock=time.time) as office:
        while True:
            for lease in await jobs.lease({"render": 3}, worker=f"w{ahead}", seconds=5, now=now()):
                await jobs.finish(lease, {}, now=now())
            await office.webhooks.deliver_due(now=now())
            await asyncio.sleep(0)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
