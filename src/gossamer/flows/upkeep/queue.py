"""The state of the queue and its workers, for health and metrics."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from gossamer.flows.upkeep.health import Shortfall
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.jobs import heartbeats, work_now
from gossamer.state.jobs.job import JobState
from gossamer.state.jobs.jobs import Jobs

_NONE: Final = (0, 0.0)
STUCK_SECONDS: Final = 300.0  # that a job waits for a worker which has nothing else of its kind to do


async def depth(jobs: Jobs, metrics: Metrics, kinds: Collection[str]) -> Mapping[str, Any]:
    """How many jobs wait and run, and how long the oldest has waited. Metrics get it by kind, with zeros for
    kinds that have no jobs: an alarm needs a number."""
    found = await jobs.depths()
    empty = {(kind, status.value): _NONE for kind in kinds for status in (JobState.QUEUED, JobState.RUNNING)}
    depths = {(one.kind, one.status.value): (one.count, one.oldest_seconds) for one in found}
    metrics.queue((*which, *depth) for which, depth in (empty | depths).items())
    waiting = [one for one in found if one.status is JobState.QUEUED]
    running = [one for one in found if one.status is JobState.RUNNING]
    return {
        "queued": sum(one.count for one in waiting),
        "running": sum(one.count for one in running),
        "oldestSeconds": round(max((one.oldest_seconds for one in waiting), default=0.0), 1),
    }


async def workers(jobs: Jobs, hosts: Hosts) -> Mapping[str, Any] | Shortfall:
    """The workers that are alive. It is a problem if something waits for a kind that has none, or that does
    nothing."""
    async with jobs.database.read() as connection:
        alive = await heartbeats.alive(connection)
        leased = await work_now.leased_hosts(connection)
    kinds = {kind for worker in alive for kind in worker.kinds}
    depths = await jobs.depths()
    waiting = {one.kind: one.oldest_seconds for one in depths if one.status is JobState.QUEUED}
    busy = {one.kind for one in depths if one.status is JobState.RUNNING}
    if await hosts.are_overdue():
        waiting[heartbeats.CRAWL] = STUCK_SECONDS
        busy |= {heartbeats.CRAWL} if leased else set()
    if unserved := waiting.keys() - kinds:
        raise Unavailable("workers", f"no worker is running for {', '.join(sorted(unserved))}")
    details = {"alive": len(alive), "kinds": sorted(kinds)}
    if stuck := {kind for kind, seconds in waiting.items() if seconds >= STUCK_SECONDS} - busy:
        return Shortfall(f"workers are running but do nothing for {', '.join(sorted(stuck))}", details)
    return details
