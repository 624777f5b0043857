"""The job of a render: visit, judge, keep; and what is remembered of how it went."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.flows.pace import Pace
from gossamer.flows.render import Payload, Renderer, job_key, page_key, told
from gossamer.flows.render_failure import Code, Failure, RenderPolicy
from gossamer.problems import Problem, Unavailable
from gossamer.reach.visit import Step
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Job
from gossamer.state.page_cache import CachedPage, Draft, PageCache, PageKey
from gossamer.state.render_failures import Failed, RenderFailures
from gossamer.state.usage import Usage
from gossamer.web.url import Url

KEEPING: Final = 90  # percent
DRAFTS: Final = 3  # a store that fails is asked twice more, at once
POLICY: Final = RenderPolicy()


@dataclass(frozen=True, slots=True)
class Made:
    job: Job
    draft: Draft
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rendering:
    renderer: Renderer
    cache: PageCache
    usage: Usage
    pace: Pace
    failures: RenderFailures
    ends: Ends
    clock: Callable[[], float] = time.time

    async def make(self, job: Job, wanted: Payload, step: Step) -> Made:
        """The page, where nobody sees it yet. A page that is there stays as it is until a good one is."""
        key = page_key(job.tenant_id, Url.parse(wanted.url), wanted.look)
        try:
            page = await self.renderer.render(wanted, tenant=job.tenant_id, patience=patience(job), step=step)
            await step("keeping the page", KEEPING)
            draft = await self._draft(key, page)
        except Problem as problem:
            await self._note_failure(job, wanted, key, problem)
            raise
        self._count(job, wanted)
        await self.pace.took(page.render_ms)
        return Made(job, draft, told(page, key))

    async def put_in(self, connection: AsyncConnection, made: Made) -> None:
        """In the transaction that ends the job, so that a late worker can change no page."""
        await self.cache.put_in(connection, made.draft)
        await self.ends.announce(connection, made.job.job_id)

    async def publish(self, made: Made) -> None:
        """After it."""
        await self.cache.publish(made.draft)
        self.ends.tell(made.job.job_id)
        await self.failures.clear(made.draft.key)

    async def _draft(self, key: PageKey, page: CachedPage) -> Draft:
        for _ in range(DRAFTS - 1):
            try:
                return await self.cache.draft(key, page)
            except Unavailable:
                continue
        return await self.cache.draft(key, page)

    async def _note_failure(self, job: Job, wanted: Payload, key: PageKey, problem: Problem) -> None:
        self._count(job, wanted)
        if POLICY.is_last(problem, job):
            self.usage.count(job.tenant_id, wanted.key_id, "failed")
        known = (job.job_id, job_key(key, wanted)) if POLICY.is_final(problem) else ()
        await self.failures.mark(key, Failed(self.clock(), *known))

    def _count(self, job: Job, wanted: Payload) -> None:
        if job.attempt == 1:  # as under the limit: a render counts once, however often it is tried
            self.usage.count(job.tenant_id, wanted.key_id, "render")


def patience(job: Job) -> float:
    """After a timeout there is twice the time."""
    last = Failure.of(job)
    return 2.0 if last is not None and last.code is Code.RENDER_TIMEOUT else 1.0
