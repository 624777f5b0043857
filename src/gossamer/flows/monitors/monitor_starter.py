"""MonitorStarter: a monitor's own schedule queues its checks."""

from msgspec import Struct

from gossamer import problems
from gossamer.flows.monitors.monitors import Monitors
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.flows.tenants.quotas import Quota
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import job_table
from gossamer.state.monitors import monitors


class MonitorStarter(Struct, frozen=True):
    monitors: Monitors

    async def prepare(self, firing: Firing) -> Start:
        await self.monitors.quotas.check(firing.caller, Quota.JOBS)

        async def start(connection: AsyncConnection) -> str:
            monitor = await monitors.lock(connection, firing.schedule.subject)
            if monitor is None:
                raise Problem(problems.NOT_FOUND, "There is no monitor for this schedule.")
            return (await self.monitors.queue(connection, monitor, firing.caller, firing.by)).job_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        job = await job_table.get(connection, work_id)
        return job is not None and not job.status.is_over
