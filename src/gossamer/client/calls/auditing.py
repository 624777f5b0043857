"""Audits a page or a site: waits for the report."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from gossamer.client.errors import ConnectionFailed
from gossamer.web.audit.audit_answer import AuditAccepted, AuditAnswer
from gossamer.web.outcome.job_state import JobState

if TYPE_CHECKING:
    from gossamer.client.client import Client

FIRST_PAUSE: Final = 0.2  # seconds; half as much again after each look
LONGEST_PAUSE: Final = 5.0
SECONDS_FOR_A_PAGE: Final = 5.0  # of a site, beside the time of a call


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


async def audit_page(client: "Client", body: Mapping[str, Any], on_step: OnStep | None = None) -> AuditAnswer:
    accepted = await client.ask("POST", "/audits", AuditAccepted, body)
    patience, pause = client.patience, FIRST_PAUSE
    seconds = patience.seconds + SECONDS_FOR_A_PAGE * body["options"].get("maxPages", 0)
    until = patience.clock() + seconds
    path, seen = f"/audits/{quote(accepted.audit_id, safe='')}", 0
    while patience.clock() < until:
        audit = await client.ask("GET", path, AuditAnswer)
        if audit.status is JobState.DONE:
            return audit
        if audit.status.is_over:
            raise await client.job_error(accepted.job_id, "The audit did not succeed")
        if on_step is not None:
            seen = await tell_step(client, accepted.job_id, seen, on_step)
        await patience.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    raise ConnectionFailed(f"The audit had no report within {seconds:g} seconds; it is {path}")


async def tell_step(client: "Client", job_id: str, seen: int, on_step: OnStep) -> int:
    """Tell the step that the job is at, if it is a new one; returns the last event that was seen."""
    path = f"/api/jobs/{quote(job_id, safe='')}/events?after={seen}"
    events = (await client.ask("GET", path, JobSteps)).events
    steps = [event for event in events if event.type == "step_started"]
    if steps:
        on_step(steps[-1].message, steps[-1].progress or 0)
    return events[-1].id if events else seen
