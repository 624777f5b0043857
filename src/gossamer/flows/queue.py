"""Queue: how the jobs and those who do them stand, for whoever watches over them."""

from collections.abc import Mapping
from typing import Any

from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state import heartbeats
from gossamer.state.jobs import Jobs, State


async def depth(jobs: Jobs, metrics: Metrics) -> Mapping[str, Any]:
    """How many wait and how long the first has waited, by kind; told to the metrics too."""
    found = await jobs.depths()
    metrics.queue((one.kind, one.status.value, one.count, one.oldest_seconds) for one in found)
    waiting = [one for one in found if one.status is State.QUEUED]
    running = [one for one in found if one.status is State.RUNNING]
    return {
        "queued": sum(one.count for one in waiting),
        "running": sum(one.count for one in running),
        "oldestSeconds": round(max((one.oldest_seconds for one in waiting), default=0.0), 1),
    }


async def workers(jobs: Jobs) -> Mapping[str, Any]:
    """Who is alive. That nobody is matters only while something waits."""
    async with jobs.database.read() as connection:
        alive = await heartbeats.alive(connection)
    kinds = {kind for worker in alive for kind in worker.kinds}
    waiting = {one.kind for one in await jobs.depths() if one.status is State.QUEUED}
    if waiting - kinds:
        raise Unavailable("workers", f"nobody works on {', '.join(sorted(waiting - kinds))}")
    return {"alive": len(alive), "kinds": sorted(kinds)}
