"""Audits a page or a site: waits for the report."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gossamer.client.calls.waiting import OnStep, wait_for
from gossamer.web.audit.audit_answer import AuditAccepted, AuditAnswer
from gossamer.web.outcome.job_state import JobState

if TYPE_CHECKING:
    from gossamer.client.client import Client

SECONDS_FOR_A_PAGE: Final = 5.0  # of a site, beside the time of a call


async def audit_page(client: "Client", body: Mapping[str, Any], on_step: OnStep | None = None) -> AuditAnswer:
    accepted = await client.ask("POST", "/audits", AuditAccepted, body)
    path = f"/audits/{quote(accepted.audit_id, safe='')}"

    async def look() -> AuditAnswer | None:
        audit = await client.ask("GET", path, AuditAnswer)
        if audit.status.is_over and audit.status is not JobState.DONE:
            raise await client.job_error(accepted.job_id, "The audit did not succeed")
        return audit if audit.status is JobState.DONE else None

    seconds = client.patience.seconds + SECONDS_FOR_A_PAGE * body["options"].get("maxPages", 0)
    late = f"The audit {path} had no report"
    return await wait_for(client, accepted.job_id, look, seconds=seconds, late=late, on_step=on_step)
