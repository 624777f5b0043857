"""Serves a rendered page from the cache, or queues the one job that renders it.

The caller chooses how old a page may be. A page older than `max_age` is

    stale-while-revalidate   served as it is, while a render is queued behind the answer;
    stale-if-error           served as it is, when the render that should replace it has failed;

and is otherwise ignored until a good page replaces it. A failure that another attempt would not change is
also remembered, for `REFUSED_SECONDS` or for `max_age`, and is not tried again before.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

import msgspec

from gossamer.flows.pages.caching import Admit, admit_always
from gossamer.flows.render.render import KIND, RenderPayload, job_key, page_key, page_part, visited
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.render.render_failure import MAX_ATTEMPTS, RenderFailure
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import Job, JobState, NewJob
from gossamer.state.jobs.job_waiter import JobWaiter
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pages.cached_page import Location, PageHit, PageStatus
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_key import PageKey
from gossamer.state.render import renders
from gossamer.state.render.render_failures import FailedRender, RenderFailures
from gossamer.state.tenants.limits import Limits, LimitStatus
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.state.tenants.usage import Usage
from gossamer.web.html.tree import check_selector
from gossamer.web.render.request import RenderRequest
from gossamer.web.url.url import Url

AGAIN_SECONDS: Final = 30.0  # after a failure, before a render is queued behind an old page again
REFUSED_SECONDS: Final = 300.0  # after a failure that another attempt would not change, before the next one
RENEWAL_SECONDS: Final = 2.0  # after a render was queued behind an answer, before the next is considered
MAX_RENEWALS: Final = 1_000  # under way at a time

OnQueued = Callable[[AsyncConnection, Job], Awaitable[None]]  # runs in the transaction that queues the job


class LimitReached(Exception):
    """A limit does not allow the work that an answer needs."""

    def __init__(self, status: LimitStatus) -> None:
        super().__init__(status.policy.name)
        self.status = status


class HotPage(NamedTuple):
    """Identifies a page that was served from the hot tier."""

    name: str
    edition: int
    rendered_at: int
    until: float = inf  # when the settings of its site must be looked up again, as time is told by the clock
    on_answer: Callable[[float], None] | None = None  # hears of each further answer, and its milliseconds


class Queued(NamedTuple):
    job: Job
    limit_status: LimitStatus | None  # of the tenant's limit, if the render was counted


class PageLookup(NamedTuple):
    """The state of one page: its key, its cached copy and its job."""

    key: PageKey
    status: PageStatus | None  # None: it is not cached
    age: float  # seconds since it was rendered
    job: Job | None  # that renders it, or will


@dataclass(slots=True)
class RenderService:
    cache: PageCache
    jobs: Jobs
    job_waiter: JobWaiter
    limits: Limits
    usage: Usage
    failures: RenderFailures
    capacity: RenderCapacity
    dialer: Dialer
    log: Log
    clock: Callable[[], float] = time.time
    _renewals: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)

    async def ask(
        self,
        caller: Caller,
        request: RenderRequest,
        request_id: str,
        on_queued: OnQueued | None = None,
        admit: Admit = admit_always,
    ) -> PageHit | Queued:
        """Answer with a page, or with the job that renders it. Raises `LimitReached`, anything that `admit`
        raises if the cache has no answer, and with `wait` the problem of a failed render."""
        key = self._admit(caller, request)
        hit = await self._find(key)
        if hit is not None and request.is_fresh(hit.age):
            return self._count_hit(caller, hit)
        if hit is not None and await self._serves_old(hit, key, request):
            self._renew_behind(caller, request, key, request_id)
            return self._count_hit(caller, hit.as_stale())
        if hit is not None:
            await hit.close()
        self.usage.count(caller.tenant_id, caller.key_id, "miss")
        try:
            await admit()
            failed = await self._find_failed(request, key)
            queued = failed or await self.queue(caller, request, key, request_id, on_queued)
            return await self._await_page(queued, key, request) if request.wait else queued
        except (LimitReached, Problem):
            old = await self._find(key) if hit is not None and request.may_replace_failed(hit.age) else None
            if old is None:
                raise
            return old.as_stale()

    def _admit(self, caller: Caller, request: RenderRequest) -> PageKey:
        url = Url.parse(request.url)
        if request.wait_for_selector is not None:
            check_selector(request.wait_for_selector)
        self.dialer.admit(url.host, url.port)
        return page_key(caller.tenant_id, url, request.variant)

    async def has(self, caller: Caller, request: RenderRequest) -> bool:
        """Whether `ask` would answer with a fresh page from the cache now."""
        hit = await self._find(page_key(caller.tenant_id, Url.parse(request.url), request.variant))
        if hit is None:
            return False
        await hit.close()
        return request.is_fresh(hit.age)

    def serve_again(
        self, caller: Caller, request: RenderRequest, page: HotPage, start: bytes | None
    ) -> float | None:
        """The age of a page, if it is fresh and Hot still has this edition; `start` is what Hot answered."""
        age = self.age(page.rendered_at)
        if (
            self.clock() >= page.until
            or not request.is_fresh(age)
            or not self.cache.is_still(page.name, page.edition, start)
        ):
            return None
        self.usage.count(caller.tenant_id, caller.key_id, "hot")
        return age

    async def queue(
        self,
        caller: Caller,
        request: RenderRequest,
        key: PageKey,
        request_id: str,
        on_queued: OnQueued | None = None,
        *,
        priority: int = 0,
        delay: float = 0.0,
    ) -> Queued:
        """The active job for the page, or a new one, which counts as a render. Raises NoBrowser if no process
        can render. `delay` is in seconds."""
        await self.capacity.demand()
        new = msgspec.structs.replace(_new_job(caller, request, key, request_id, priority), delay=delay)
        async with self.jobs.database.read() as connection:
            known = await renders.active(connection, key.tenant, [new.idempotency_key or ""])
        for job in known.values():
            return Queued(job, None)
        status = await self._take(caller.renders)
        counts = False
        try:
            async with self.jobs.database.write() as connection:
                job = await job_table.put(connection, new)
                if on_queued is not None:
                    await on_queued(connection, job)
            counts = job.job_id == new.job_id  # else a concurrent request has queued one
        finally:
            if not counts:
                await self.limits.give_back(status)
        self.jobs.wake(KIND)
        return Queued(job, status if counts else None)

    async def look_up(self, tenant: str, text: str, variant: str) -> PageLookup:
        url = Url.parse(text)
        self.dialer.admit(url.host, url.port)
        key = page_key(tenant, url, variant)
        status = await self.cache.status(key)
        async with self.jobs.database.read() as connection:
            part = page_part(key.tenant, key.form, key.variant)
            active = await renders.of_pages(connection, key.tenant, [part])
        job = next((job for job in active if visited(job) == Url.parse(key.url)), None)
        return PageLookup(key, status, self.age(status.rendered_at) if status else 0.0, job)

    def age(self, rendered_at: int) -> float:
        """Seconds; never negative, since the worker's clock may be ahead of ours."""
        return max(0.0, self.clock() - rendered_at / 1000)

    async def close(self) -> None:
        """Cancel renewals under way: the next request for each page starts another."""
        tasks = list(self._renewals.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, key: PageKey) -> PageHit | None:
        hit = await self.cache.get(key)
        if hit is not None:
            hit.age = self.age(hit.page.rendered_at)
        return hit

    def _count_hit(self, caller: Caller, hit: PageHit) -> PageHit:
        hot = hit.location is Location.HOT
        self.usage.count(caller.tenant_id, caller.key_id, "hot" if hot else "cold")
        return hit

    async def _serves_old(self, hit: PageHit, key: PageKey, request: RenderRequest) -> bool:
        if request.may_be_revalidated(hit.age):
            return True
        return request.may_replace_failed(hit.age) and await self.failures.last(key) is not None

    async def _find_failed(self, request: RenderRequest, key: PageKey) -> Queued | None:
        """The last render of the page, if another one would fail in the same way."""
        last = await self.failures.last(key)
        if last is None or not is_believed(request, self._since(last)):
            return None
        if last.job_key != job_key(key, request):
            return None
        job = await self.jobs.get(last.job_id)
        return Queued(job, None) if job is not None and job.status is JobState.FAILED else None

    def _since(self, failed: FailedRender) -> float:
        return max(0.0, self.clock() - failed.at)

    async def _await_page(self, queued: Queued, key: PageKey, request: RenderRequest) -> PageHit | Queued:
        job = await self.job_waiter.wait(queued.job.job_id, request.wait)
        if job is None or not job.status.is_over:
            return queued._replace(job=job or queued.job)
        if job.status is not JobState.DONE:
            failure = RenderFailure.of(job)
            assert failure is not None  # noqa: S101  (it did not end well)
            raise failure.problem(job)
        hit = await self._find(key)
        if hit is None:  # deleted in the same moment
            return queued._replace(job=job)
        hit.is_new = True
        return hit

    async def _take(self, ask: tuple[str, str]) -> LimitStatus:
        status = (await self.limits.take([ask]))[0]
        if not status.tally.allowed:
            raise LimitReached(status)
        return status

    def _renew_behind(self, caller: Caller, request: RenderRequest, key: PageKey, request_id: str) -> None:
        """Never waits, and does nothing if the page was considered a moment ago."""
        if key.name in self._renewals or len(self._renewals) >= MAX_RENEWALS:
            return
        task = asyncio.create_task(self._renew(caller, request, key, request_id))
        self._renewals[key.name] = task
        task.add_done_callback(lambda _: self._renewals.pop(key.name, None))

    async def _renew(self, caller: Caller, request: RenderRequest, key: PageKey, request_id: str) -> None:
        last = await self.failures.last(key)
        pause = REFUSED_SECONDS if last is not None and last.is_final else AGAIN_SECONDS
        if last is None or self._since(last) >= pause:
            try:
                await self._queue_as_work(caller, request, key, request_id)
            except (LimitReached, Problem) as error:
                self.log.info("render_not_queued", "an old page is not renewed", url=key.url, why=str(error))
        await asyncio.sleep(RENEWAL_SECONDS)

    async def _queue_as_work(
        self, caller: Caller, request: RenderRequest, key: PageKey, request_id: str
    ) -> None:
        """The request itself was a hit. A new job counts as work, although no request waits for it."""
        work = await self._take(caller.work)
        counts = False
        try:
            counts = (await self.queue(caller, request, key, request_id)).limit_status is not None
        finally:
            if not counts:
                await self.limits.give_back(work)


def is_believed(request: RenderRequest, age: float) -> bool:
    """Whether a final failure of this age is answered instead of rendering again; never if `max_age` is 0."""
    return age < (REFUSED_SECONDS if request.max_age is None else min(REFUSED_SECONDS, request.max_age))


async def restore_limits(limits: Limits, usage: Usage) -> None:
    """Count what was rendered since midnight, after a start with an empty Hot."""
    began, used = await usage.today()
    for tenant, tier, count in used:
        policy, subject = Caller(Role.USER, tenant_id=tenant, tier=Tier(tier)).renders
        await limits.restore(policy, subject, count, began)


def _new_job(caller: Caller, request: RenderRequest, key: PageKey, request_id: str, priority: int) -> NewJob:
    visited_as = msgspec.structs.replace(request, url=key.url)
    return NewJob(
        kind=KIND,
        tenant_id=key.tenant,
        payload=RenderPayload(request=visited_as, key_id=caller.key_id, tier=caller.tier.value),
        priority=priority,
        max_attempts=MAX_ATTEMPTS,
        idempotency_key=job_key(key, request),
        request_id=request_id,
    )
