"""The kinds of jobs, and the handler of each."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec import Struct
from ulid import ULID

from gossamer.doors.worker.work import Handler, Work
from gossamer.flows.audit import audits
from gossamer.flows.audit.audit import Auditor, AuditPayload
from gossamer.flows.batch import batch_job
from gossamer.flows.batch.batch_job import BatchRunner
from gossamer.flows.data.archive import restorer as restoring
from gossamer.flows.data.archive.restorer import ArchiveRestorer, RestorePayload, RestoreResult
from gossamer.flows.data.removal import deleter as deleting
from gossamer.flows.data.removal.deleter import DeletePayload, Deleter
from gossamer.flows.data.repair import replayer as replaying
from gossamer.flows.data.repair.replayer import Replayer, ReplayPayload, ReplayResult
from gossamer.flows.data.warc.importer import CrawlImporter, ImportPayload
from gossamer.flows.monitors import monitor_check
from gossamer.flows.monitors.monitor_check import MonitorChecker, MonitorPayload
from gossamer.flows.render import render, warm
from gossamer.flows.render.render_failure import RenderPolicy
from gossamer.flows.render.render_job import RenderWork
from gossamer.flows.render.warm import Warmer
from gossamer.flows.sites import site_comparer, site_warmer
from gossamer.flows.sites.site_comparer import ComparisonPayload, ComparisonResult, SiteComparer
from gossamer.flows.sites.site_warmer import SiteWarmer, SiteWarmPayload
from gossamer.flows.upkeep.retrying import FetchPolicy
from gossamer.state.crawl.upkeep import importing
from gossamer.state.sites import comparisons

KINDS = (
    *audits.KINDS.values(),
    render.KIND,
    warm.KIND,
    site_warmer.KIND,
    site_comparer.KIND,
    batch_job.KIND,
    monitor_check.KIND,
    deleting.KIND,
    restoring.KIND,
    replaying.KIND,
    importing.KIND,
)

MONITORS: Final = 8  # checks at a time, in one process: some wait for a second look
SITE_AUDITS: Final = 8  # at a time, in one process: most of the time they wait for their crawls


def handlers(
    auditor: Auditor,
    rendering: RenderWork,
    warmer: Warmer,
    sites: SiteWarmer,
    comparer: SiteComparer,
    batches: BatchRunner,
    checker: MonitorChecker,
    deleter: Deleter,
    restorer: ArchiveRestorer,
    replayer: Replayer,
    importer: CrawlImporter,
    *,
    places: int,
    kinds: Collection[str] = KINDS,
) -> Mapping[str, Handler[Any]]:
    """`places` is the number of pages that may be rendered at a time."""
    every: dict[str, Handler[Any]] = {
        audits.KINDS["page"]: Handler(
            run=auditor.run, payload=AuditPayload, concurrency=4, policy=FetchPolicy()
        ),
        audits.KINDS["site"]: Handler(
            run=auditor.run, payload=AuditPayload, concurrency=SITE_AUDITS, policy=FetchPolicy()
        ),
        render.KIND: Handler(
            run=_Render(rendering),
            payload=render.RenderPayload,
            concurrency=places,
            policy=RenderPolicy(),
            ready=lambda: rendering.renderer.browsers.has_browser,
        ),
        warm.KIND: Handler(run=_Warm(warmer), payload=warm.WarmPayload, concurrency=2, policy=FetchPolicy()),
        site_warmer.KIND: Handler(
            run=_Recache(sites), payload=SiteWarmPayload, concurrency=2, policy=FetchPolicy()
        ),
        site_comparer.KIND: Handler(
            run=_Compare(comparer),
            payload=ComparisonPayload,
            concurrency=1,
            policy=FetchPolicy(),
            ready=lambda: rendering.renderer.browsers.has_browser,
        ),
        batch_job.KIND: Handler(run=batches.run, payload=batch_job.BatchPayload, concurrency=4),
        monitor_check.KIND: Handler(
            run=checker.run, payload=MonitorPayload, concurrency=MONITORS, policy=FetchPolicy()
        ),
        deleting.KIND: Handler(run=_Delete(deleter), payload=DeletePayload, concurrency=2),
        restoring.KIND: Handler(run=_Restore(restorer), payload=RestorePayload, concurrency=1),
        replaying.KIND: Handler(run=_Replay(replayer), payload=ReplayPayload, concurrency=1),
        importing.KIND: Handler(run=importer.run, payload=ImportPayload, concurrency=1),
    }
    return {kind: every[kind] for kind in kinds}


class _Render(Struct, frozen=True):
    rendering: RenderWork

    async def __call__(self, work: Work[render.RenderPayload]) -> None:
        made = await self.rendering.make(work.job, work.payload, work.step)
        async with work.finishing(made.result) as connection:
            await self.rendering.write(connection, made)
        await self.rendering.publish(made)


class _Warm(Struct, frozen=True):
    warmer: Warmer

    async def __call__(self, work: Work[warm.WarmPayload]) -> warm.WarmResult:
        job = work.job
        return await self.warmer.warm(work.payload, job.tenant_id, job.request_id, work.step)


class _Recache(Struct, frozen=True):
    sites: SiteWarmer

    async def __call__(self, work: Work[SiteWarmPayload]) -> warm.WarmResult:
        return await self.sites.run(work.payload, work.job.request_id, work.step)


class _Compare(Struct, frozen=True):
    comparer: SiteComparer

    async def __call__(self, work: Work[ComparisonPayload]) -> None:
        made = await self.comparer.compare(work.payload, work.step)
        result = ComparisonResult(str(ULID()), made.count(), made.limited)
        async with work.finishing(result) as connection:
            site_id, tenant = work.payload.site_id, work.job.tenant_id
            await comparisons.add(connection, result.comparison_id, site_id, tenant, made)


class _Delete(Struct, frozen=True):
    deleter: Deleter

    async def __call__(self, work: Work[DeletePayload]) -> None:
        kind, subject = work.payload.deletes, work.payload.deleted
        result = await self.deleter.remove(kind, subject, work.step)
        async with work.finishing(result) as connection:
            await self.deleter.finish(connection, kind, subject)


class _Restore(Struct, frozen=True):
    restorer: ArchiveRestorer

    async def __call__(self, work: Work[RestorePayload]) -> RestoreResult:
        return await self.restorer.restore(work.payload.subject, work.step)


class _Replay(Struct, frozen=True):
    replayer: Replayer

    async def __call__(self, work: Work[ReplayPayload]) -> ReplayResult:
        return await self.replayer.run(work.payload, work.step)
