"""Endpoint for the workers: which are alive, and what they do."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.upkeep.workers import Workers, WorkerStatus
from gossamer.state.jobs.work_now import MAX_HOSTS_SHOWN, JobAtWork
from gossamer.state.tenants.tenants import Role


class ShownWork(msgspec.Struct, rename="camel"):
    """A job that a worker runs."""

    job_id: str
    kind: str
    since: Annotated[str, Meta(description="When its first attempt began.")]
    progress: Annotated[int, Meta(ge=0, le=100, description="Percent.")]


class ShownHosts(msgspec.Struct, rename="camel"):
    """The hosts that a worker crawls."""

    count: int
    names: Annotated[list[str], Meta(description=f"The first {MAX_HOSTS_SHOWN} of them.")]


class ShownWorker(msgspec.Struct, rename="camel"):
    """A worker process."""

    name: str
    kinds: Annotated[list[str], Meta(description="The kinds of jobs that it can do.")]
    running: Annotated[int, Meta(description="Jobs that it runs, or hosts that it crawls.")]
    started_at: str
    seen_at: Annotated[str, Meta(description="Its last heartbeat.")]
    is_alive: Annotated[bool, Meta(description="False: it is silent. It is listed for a day.")]
    jobs: Annotated[list[ShownWork] | UnsetType, Meta(description="What it runs; only for admins.")] = UNSET
    hosts: Annotated[ShownHosts | UnsetType, Meta(description="What it crawls; only for admins.")] = UNSET


class WorkerList(msgspec.Struct, rename="camel"):
    """Workers, by name."""

    workers: list[ShownWorker]


class WorkersEndpoints(Struct, frozen=True):
    workers: Workers

    async def list_workers(self, exchange: Exchange) -> WorkerList:
        is_admin = exchange.caller.role is Role.ADMIN
        return WorkerList([_to_api(worker, in_full=is_admin) for worker in await self.workers.list()])

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/workers",
                handler=self.list_workers,
                needs=Role.USER,
                tag="Operations",
                summary="List the workers, and what they do now",
                example=WorkerList([_EXAMPLE]),
            )
        ]


def _to_api(worker: WorkerStatus, *, in_full: bool) -> ShownWorker:
    beat = worker.heartbeat
    return ShownWorker(
        name=beat.name,
        kinds=list(beat.kinds),
        running=beat.running,
        started_at=timestamps.from_ms(beat.started_at),
        seen_at=timestamps.from_ms(beat.seen_at),
        is_alive=beat.is_alive,
        jobs=[_to_work(job) for job in worker.jobs] if in_full else UNSET,
        hosts=ShownHosts(worker.hosts.count, list(worker.hosts.names)) if in_full else UNSET,
    )


def _to_work(job: JobAtWork) -> ShownWork:
    return ShownWork(job.job_id, job.kind, timestamps.from_ms(job.since), job.progress)


_EXAMPLE: Final = ShownWorker(
    name="server-1-42",
    kinds=["audit", "batch", "render", "site_audit", "warm"],
    running=1,
    started_at="2026-01-01T12:00:00.000Z",
    seen_at="2026-01-01T12:30:00.000Z",
    is_alive=True,
    jobs=[ShownWork("01JGGR2Z3W8Q4T6V9X0Y1B2C3D", "audit", "2026-01-01T12:29:58.000Z", 40)],
    hosts=ShownHosts(0, []),
)
