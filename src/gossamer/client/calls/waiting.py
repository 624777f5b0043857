"""Waits for the work of a job, and tells how far it is."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

import msgspec

from gossamer.client.errors import ConnectionFailed

if TYPE_CHECKING:
    from gossamer.client.client import Client

FIRST_PAUSE: Final = 0.2  # seconds; half as much again after each look
LONGEST_PAUSE: Final = 5.0

T = TypeVar("T")
OnStep = Callable[[str, int], None]  # what is done now, and how far it is in percent


class JobStep(msgspec.Struct):
    """What is needed of an event of a job."""

    id: int
    type: str
    message: str
    progress: int | None


class JobSteps(msgspec.Struct):
    """Events of a job."""

    events: list[JobStep]


async def wait_for(
    client: "Client",
    job_id: str,
    look: Callable[[], Awaitable[T | None]],
    *,
    seconds: float,
    late: str,
    on_step: OnStep | None = None,
) -> T:
    """What `look` finds when it finds something. Raises `ConnectionFailed` after `seconds`."""
    patience, pause, seen = client.patience, FIRST_PAUSE, 0
    until = patience.clock() + seconds
    while patience.clock() < until:
        if (found := await look()) is not None:
            return found
        if on_step is not None:
            seen = await _tell_step(client, job_id, seen, on_step)
        await patience.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    raise ConnectionFailed(f"{late} within {seconds:g} seconds; its job is {job_id}")


async def _tell_step(client: "Client", job_id: str, seen: int, on_step: OnStep) -> int:
    """Tell the step that the job is at, if it is a new one; returns the last event that was seen."""
    path = f"/api/jobs/{quote(job_id, safe='')}/events?after={seen}"
    events = (await client.ask("GET", path, JobSteps)).events
    steps = [event for event in events if event.type == "step_started"]
    if steps:
        on_step(steps[-1].message, steps[-1].progress or 0)
    return events[-1].id if events else seen
