"""The work of a render job: visit, judge and keep the page, and remember how it went."""

import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gossamer.flows.render.pace import RenderPace
from gossamer.flows.render.render import Renderer, RenderPayload, job_key, page_key, to_result
from gossamer.flows.render.render_failure import RenderFailure, RenderPolicy, refuse_retry
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import SERVICE_UNAVAILABLE, Problem, Unavailable
from gossamer.reach.page.visit import Step
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job
from gossamer.state.jobs.job_retry import is_outage
from gossamer.state.jobs.job_waiter import JobWaiter
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_cache import PageCache, StagedPage
from gossamer.state.pages.page_key import PageKey
from gossamer.state.render.render_failures import FailedRender, RenderFailures
from gossamer.state.tenants.limits import Limits
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.tenants.usage import Usage
from gossamer.web.render.request import RenderErrorCode, RenderResult
from gossamer.web.url.url import Url

KEEPING: Final = 90  # percent
STAGE_ATTEMPTS: Final = 3  # a failing store is asked twice more, without a pause
POLICY: Final = RenderPolicy()


class MadePage(Struct, frozen=True):
    job: Job
    staged: StagedPage
    result: RenderResult


class RenderWork(Struct, frozen=True):
    renderer: Renderer
    cache: PageCache
    limits: Limits
    usage: Usage
    pace: RenderPace
    failures: RenderFailures
    job_waiter: JobWaiter
    clock: Callable[[], float] = time.time

    async def make(self, job: Job, wanted: RenderPayload, step: Step) -> MadePage:
        """Render the page, not visible yet. A cached page stays until a good one replaces it."""
        request = wanted.request
        key = page_key(job.tenant_id, Url.parse(request.url), request.variant)
        await self._count_retry(job, wanted, key)
        try:
            page = await self.renderer.render(
                request, tenant=job.tenant_id, patience=patience(job), step=step
            )
            await step("keeping the page", KEEPING)
            staged = await self._stage(key, page)
        except Problem as problem:
            if is_outage(problem):  # of ours: it says nothing about the page
                raise
            if not isinstance(problem, Unavailable):  # then there was no visit
                self.usage.count(job.tenant_id, wanted.key_id, "render")
            await self._note_failure(job, wanted, key, problem)
            raise
        self.usage.count(job.tenant_id, wanted.key_id, "render")
        await self.pace.took(page.render_ms)
        return MadePage(job, staged, to_result(page, key))

    async def write(self, connection: AsyncConnection, made: MadePage) -> None:
        """In the transaction that ends the job, so that a late worker can change no page."""
        await self.cache.write(connection, made.staged)
        await self.job_waiter.announce(connection, made.job.job_id)

    async def publish(self, made: MadePage) -> None:
        """Publish the page after that transaction."""
        await self.cache.publish(made.staged)
        self.job_waiter.wake(made.job.job_id)
        await self.failures.clear(made.staged.key)

    async def _stage(self, key: PageKey, page: CachedPage) -> StagedPage:
        for _ in range(STAGE_ATTEMPTS - 1):
            try:
                return await self.cache.stage(key, page)
            except Unavailable:
                continue
        return await self.cache.stage(key, page)

    async def _note_failure(self, job: Job, wanted: RenderPayload, key: PageKey, problem: Problem) -> None:
        if POLICY.is_last(problem, job):
            self.usage.count(job.tenant_id, wanted.key_id, "failed")
        known = (job.job_id, job_key(key, wanted.request)) if POLICY.is_final(problem) else ()
        await self.failures.mark(key, FailedRender(self.clock(), *known))

    async def _count_retry(self, job: Job, wanted: RenderPayload, key: PageKey) -> None:
        """Count a further attempt. The first one was counted when the job was queued."""
        last = RenderFailure.of(job)
        if last is None or last.kind is SERVICE_UNAVAILABLE or not wanted.tier:
            return
        caller = Caller(Role.USER, wanted.key_id, job.tenant_id, Tier(wanted.tier))
        [status] = await self.limits.take([caller.renders])
        if not status.tally.allowed:
            refused = refuse_retry(last)
            await self._note_failure(job, wanted, key, refused)
            raise refused


def patience(job: Job) -> float:
    """After a timeout there is twice the time."""
    last = RenderFailure.of(job)
    return 2.0 if last is not None and last.code is RenderErrorCode.RENDER_TIMEOUT else 1.0
