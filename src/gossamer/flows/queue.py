"""Queue: how the jobs and those who do them stand, for whoever watches over them."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state import heartbeats
from gossamer.state.jobs import Jobs, State

_NONE: Final = (0, 0.0)


async def depth(jobs: Jobs, metrics: Metrics, kinds: Collection[str]) -> Mapping[str, Any]:
    """How many wait and how long the first has waited, by kind; told to the metrics too, where one of these
    kinds that has none is told as well: an alarm needs a number."""
    found = await jobs.depths()
    empty = {(kind, status.value): _NONE for kind in kinds for status in (State.QUEUED, State.RUNNING)}
    depths = {(one.kind, one.status.value): (one.count, one.oldest_seconds) for one in found}
    metrics.queue((*which, *depth) for which, depth in (empty | depths).items())
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
