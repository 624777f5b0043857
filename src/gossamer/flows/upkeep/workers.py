"""Workers: the processes that do the work, and what each does now."""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats, work_now
from gossamer.state.jobs.heartbeats import CRAWL, Heartbeat
from gossamer.state.jobs.work_now import JobAtWork, LeasedHosts


class WorkerStatus(Struct, frozen=True):
    heartbeat: Heartbeat
    jobs: Sequence[JobAtWork]
    hosts: LeasedHosts


class Workers(Struct, frozen=True):
    database: Database

    async def list(self) -> list[WorkerStatus]:
        """The workers that are alive, and those that fell silent within a day."""
        async with self.database.read() as connection:
            beats = await heartbeats.recent(connection)
            jobs = await work_now.running_jobs(connection)
            hosts = await work_now.leased_hosts(connection)
        return [
            WorkerStatus(beat, jobs.get(beat.name, ()), hosts.get(_leases_as(beat), LeasedHosts()))
            for beat in beats
        ]


def _leases_as(beat: Heartbeat) -> str:
    """A crawl worker leases hosts under the name of its process, which its heartbeat begins with."""
    return beat.name.removesuffix(f"-{CRAWL}") if beat.kinds == (CRAWL,) else ""
