"""The job of a render: visit, judge, keep; and what is remembered of how it went."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.flows.pace import Pace
from gossamer.flows.render import Payload, Renderer, page_key, told
from gossamer.flows.render_failure import Code, Failure
from gossamer.flows.serve import Failures, limit_name
from gossamer.problems import Problem, Unavailable
from gossamer.reach.visit import Step
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Job
from gossamer.state.limits import Limits
from gossamer.state.page_cache import CachedPage, Draft, PageCache, PageKey
from gossamer.state.usage import Usage
from gossamer.web.url import Url

KEEPING: Final = 90  # percent
DRAFTS: Final = 3  # a store that fails is asked twice more, at once


@dataclass(frozen=True, slots=True)
class Made:
    job: Job
    draft: Draft
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rendering:
    renderer: Renderer
    cache: PageCache
    limits: Limits
    usage: Usage
    pace: Pace
    failures: Failures
    ends: Ends
    clock: Callable[[], float] = time.time

    async def make(self, job: Job, wanted: Payload, step: Step) -> Made:
        """The page, where nobody sees it yet. A page that is there stays as it is until a good one is."""
        key = page_key(job.tenant_id, Url.parse(wanted.url), wanted.look)
        if job.attempt > 1:  # the first was counted when it was asked for
            await self.limits.take([(limit_name(wanted.tier), job.tenant_id)])
        try:
            page = await self.renderer.render(wanted, tenant=job.tenant_id, patience=patience(job), step=step)
            await step("keeping the page", KEEPING)
            draft = await self._draft(key, page)
        except Problem as problem:
            await self._note_failure(job, wanted, key, problem)
            raise
        self.usage.count(job.tenant_id, wanted.key_id, "render")
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
        if not isinstance(problem, Unavailable):  # there was a visit, and it counts
            self.usage.count(job.tenant_id, wanted.key_id, "render")
        self.usage.count(job.tenant_id, wanted.key_id, "failed")
        await self.failures.mark(key, self.clock())


def patience(job: Job) -> float:
    """After a timeout there is twice the time."""
    last = Failure.of(job)
    return 2.0 if last is not None and last.code is Code.RENDER_TIMEOUT else 1.0
