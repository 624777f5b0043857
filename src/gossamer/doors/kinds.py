"""Kinds of jobs: how each is done."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from gossamer.doors.work import Handler, Work
from gossamer.flows import audit, batch_job, render, site_audit, warm
from gossamer.flows.audit import Auditor
from gossamer.flows.batch_job import Batching
from gossamer.flows.render_failure import RenderPolicy
from gossamer.flows.render_job import Rendering
from gossamer.flows.site_audit import SiteAuditor
from gossamer.flows.warm import Warmer
from gossamer.state import audits
from gossamer.web.url import Url

KINDS = (audit.KIND, site_audit.KIND, render.KIND, warm.KIND, batch_job.KIND)

SITE_AUDITS: Final = 8  # at a time, in one process: most of the time they wait for their crawls


def handlers(
    auditor: Auditor,
    site_auditor: SiteAuditor,
    rendering: Rendering,
    warmer: Warmer,
    batching: Batching,
    *,
    places: int,
    kinds: Collection[str] = KINDS,
) -> Mapping[str, Handler[Any]]:
    """`places` is how many pages may be rendered at a time."""
    every: dict[str, Handler[Any]] = {
        audit.KIND: Handler(run=_Audit(auditor), payload=audit.Payload, concurrency=4),
        site_audit.KIND: Handler(
            run=_SiteAudit(site_auditor), payload=audit.Payload, concurrency=SITE_AUDITS
        ),
        render.KIND: Handler(
            run=_Render(rendering), payload=render.Payload, concurrency=places, policy=RenderPolicy()
        ),
        warm.KIND: Handler(run=_Warm(warmer), payload=warm.Payload, concurrency=2),
        batch_job.KIND: Handler(run=batching.run, payload=batch_job.Payload, concurrency=4),
    }
    return {kind: every[kind] for kind in kinds}


class _Audit:
    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    async def __call__(self, work: Work[audit.Payload]) -> None:
        wanted = work.payload
        report = await self._auditor.audit(Url.parse(wanted.url), wanted.options, work.step)
        told = msgspec.json.encode(report).decode()
        result = {
            "auditId": wanted.audit_id,
            "score": report.score,
            "reportUrl": f"/audits/{wanted.audit_id}",
        }
        async with work.finishing(result) as connection:
            await audits.complete(connection, wanted.audit_id, report.score, told)


class _SiteAudit:
    def __init__(self, auditor: SiteAuditor) -> None:
        self._auditor = auditor

    async def __call__(self, work: Work[audit.Payload]) -> None:
        wanted = work.payload
        report = await self._auditor.run(work)
        told = (await asyncio.to_thread(msgspec.json.encode, report)).decode()
        result = {
            "auditId": wanted.audit_id,
            "score": report.score,
            "pages": report.site.pages,
            "reportUrl": f"/audits/{wanted.audit_id}",
        }
        async with work.finishing(result) as connection:
            await audits.complete(connection, wanted.audit_id, report.score, told)


class _Render:
    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering

    async def __call__(self, work: Work[render.Payload]) -> None:
        made = await self._rendering.make(work.job, work.payload, work.step)
        async with work.finishing(made.result) as connection:
            await self._rendering.put_in(connection, made)
        await self._rendering.publish(made)


class _Warm:
    def __init__(self, warmer: Warmer) -> None:
        self._warmer = warmer

    async def __call__(self, work: Work[warm.Payload]) -> dict[str, Any]:
        job = work.job
        warmed = await self._warmer.warm(work.payload, job.tenant_id, job.request_id, work.step)
        return warmed.told()
