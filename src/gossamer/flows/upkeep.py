"""Upkeep: what has to be done now and then, and may be late."""

import asyncio
from typing import Final

from gossamer.flows.admit import Admission
from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state import heartbeats, job_table, once, tenants
from gossamer.state.database import Database

EVERY_SECONDS: Final = 60.0
JOB_DAYS: Final = 30.0


async def keep_up(database: Database, admission: Admission, log: Log) -> None:
    """Run until cancelled; whatever is away now is asked again next time."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            await once_over(database, admission)
        except Unavailable as away:
            log.warning("upkeep_postponed", "upkeep will be tried again", why=away.detail)


async def once_over(database: Database, admission: Admission) -> None:
    """Forget what has expired, a batch at a time; write down which keys were used."""
    used = admission.take_used()
    async with database.write() as connection:
        await once.forget_expired(connection)
        await tenants.touch_keys(connection, used)
        await heartbeats.forget_dead(connection)
        await job_table.forget_old(connection, days=JOB_DAYS)
