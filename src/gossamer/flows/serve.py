"""Serve: a rendered page from the cache, or the one job that makes it.

How old a page may be is the caller's choice. With a `max_age`, an older page is

    stale-while-revalidate   served as it is, while a render is queued behind the answer;
    stale-if-error           served as it is, when the render that should replace it has failed;

and otherwise it is as if it were not there, until a better one replaces it. Only good pages ever do. Where
none can be had, and would not be had by trying again, that is believed for a while too, or for `max_age`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.flows.admit import Caller
from gossamer.flows.render import KIND, Look, Payload, job_key, page_key
from gossamer.flows.render_failure import MAX_ATTEMPTS, Failure
from gossamer.logs import Log
from gossamer.problems import Problem
from gossamer.state import job_table, renders
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Job, Jobs, NewJob, State
from gossamer.state.limits import Limits, Standing
from gossamer.state.page_cache import Found, Location, PageCache, PageKey
from gossamer.state.render_failures import Failed, RenderFailures
from gossamer.state.usage import Usage
from gossamer.web.url import Url

AGAIN_SECONDS: Final = 30.0  # after a failure, before a render is queued behind an old page again
REFUSED_SECONDS: Final = 300.0  # after one that trying again would not have changed, before it is tried again
LATELY_SECONDS: Final = 2.0  # for so long who queued a render behind an answer need not look again
MOST_BEHIND: Final = 1_000  # renders to be queued behind answers at a time

Also = Callable[[AsyncConnection, Job], Awaitable[None]]  # what else belongs into the transaction of the job


class LimitReached(Exception):
    """The tenant may not render more now."""

    def __init__(self, standing: Standing) -> None:
        super().__init__(standing.policy.name)
        self.standing = standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    url: Url
    look: Look = field(default_factory=Look)
    wait_for: str | None = None
    timeout: float = 30.0  # seconds
    wait: float = 0.0  # seconds to wait for a render
    max_age: float | None = None  # seconds; None takes what is there
    stale_while_revalidate: float = 0.0
    stale_if_error: float = 0.0

    def is_fresh(self, age: float) -> bool:
        return self.max_age is None or age <= self.max_age

    def may_be_revalidated(self, age: float) -> bool:
        return self.max_age is not None and age <= self.max_age + self.stale_while_revalidate

    def believes(self, age: float) -> bool:
        """In a failure; with a `max_age` of 0 in none."""
        return age < (REFUSED_SECONDS if self.max_age is None else min(REFUSED_SECONDS, self.max_age))

    def may_stand_in(self, age: float) -> bool:
        """For one that could not be made."""
        return self.max_age is not None and age <= self.max_age + self.stale_if_error


class Hit(NamedTuple):
    found: Found
    age: float  # seconds since it was rendered
    stale: bool = False
    made: bool = False  # for this request, which waited for it

    @property
    def is_ordinary(self) -> bool:
        """As most are: fresh, and from the hot tier."""
        return self.found.location is Location.HOT and not self.stale and not self.made


class HotPage(NamedTuple):
    """A page that was served from the hot tier, to know it again by."""

    name: str
    edition: int
    rendered_at: int


class Queued(NamedTuple):
    job: Job
    standing: Standing | None  # how the tenant stands with its limit, when it was counted


class Serving:
    def __init__(
        self,
        cache: PageCache,
        jobs: Jobs,
        ends: Ends,
        limits: Limits,
        usage: Usage,
        failures: RenderFailures,
        log: Log,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._jobs = jobs
        self._ends = ends
        self._limits = limits
        self._usage = usage
        self._failures = failures
        self._log = log
        self._clock = clock
        self._behind: dict[str, asyncio.Task[None]] = {}

    async def ask(
        self, caller: Caller, wish: Wish, request_id: str, also: Also | None = None
    ) -> Hit | Queued:
        """Raises `LimitReached`, and for who waits the problem that the render ended with."""
        key = page_key(caller.tenant_id, wish.url, wish.look)
        kept = await self._kept(key)
        if kept is not None and wish.is_fresh(kept.age):
            return self._hit(caller, kept)
        if kept is not None and await self._serves_old(kept, key, wish):
            self._queue_behind(caller, wish, key, request_id)
            return self._hit(caller, kept._replace(stale=True))
        if kept is not None:
            await kept.found.close()
        self._usage.count(caller.tenant_id, caller.key_id, "miss")
        try:
            failed = await self._failed(caller, wish, key)
            queued = failed or await self.queue(caller, wish, key, request_id, also)
            return await self._made(queued, key, wish) if wish.wait else queued
        except (LimitReached, Problem):
            old = await self._kept(key) if kept is not None and wish.may_stand_in(kept.age) else None
            if old is None:
                raise
            return old._replace(stale=True)

    async def has(self, caller: Caller, wish: Wish) -> bool:
        """Whether `ask` would answer with a fresh page from the cache now."""
        kept = await self._kept(page_key(caller.tenant_id, wish.url, wish.look))
        if kept is None:
            return False
        await kept.found.close()
        return wish.is_fresh(kept.age)

    def again(self, caller: Caller, wish: Wish, page: HotPage, start: bytes | None) -> float | None:
        """The age of a page, if Hot, who was asked for its start, still has this one, and it is fresh."""
        age = self.age(page.rendered_at)
        if not wish.is_fresh(age) or not self._cache.is_still(page.name, page.edition, start):
            return None
        self._usage.count(caller.tenant_id, caller.key_id, "hot")
        return age

    async def queue(
        self,
        caller: Caller,
        wish: Wish,
        key: PageKey,
        request_id: str,
        also: Also | None = None,
        *,
        priority: int = 0,
    ) -> Queued:
        """The job for the page: the one there is, or a new one, which counts as a render."""
        wanted = _new_job(caller, wish, key, request_id, priority)
        async with self._jobs.database.read() as connection:
            known = await renders.active(connection, key.tenant, [wanted.idempotency_key or ""])
        for job in known.values():
            return Queued(job, None)
        standing = await self._take(caller)
        counts = False
        try:
            async with self._jobs.database.write() as connection:
                job = await job_table.put(connection, wanted)
                if also is not None:
                    await also(connection, job)
            counts = job.job_id == wanted.job_id  # else somebody else was quicker
        finally:
            if not counts:
                await self._limits.give_back(standing)
        self._jobs.wake(KIND)
        return Queued(job, standing if counts else None)

    def age(self, rendered_at: int) -> float:
        """In seconds; whoever rendered it may have a clock that is ahead of ours."""
        return max(0.0, self._clock() - rendered_at / 1000)

    async def close(self) -> None:
        """What was to be queued behind answers is forgotten: the next who asks for the page does it again."""
        tasks = list(self._behind.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _kept(self, key: PageKey) -> Hit | None:
        found = await self._cache.get(key)
        return None if found is None else Hit(found, self.age(found.page.rendered_at))

    def _hit(self, caller: Caller, hit: Hit) -> Hit:
        hot = hit.found.location is Location.HOT
        self._usage.count(caller.tenant_id, caller.key_id, "hot" if hot else "cold")
        return hit

    async def _serves_old(self, kept: Hit, key: PageKey, wish: Wish) -> bool:
        if wish.may_be_revalidated(kept.age):
            return True
        return wish.may_stand_in(kept.age) and await self._failures.last(key) is not None

    async def _failed(self, caller: Caller, wish: Wish, key: PageKey) -> Queued | None:
        """The last render of the page, where another one would fail likewise."""
        last = await self._failures.last(key)
        if last is None or not wish.believes(self._since(last)):
            return None
        if last.job_key != job_key(key, _payload(caller, wish)):
            return None
        job = await self._jobs.get(last.job_id)
        return Queued(job, None) if job is not None and job.status is State.FAILED else None

    def _since(self, failed: Failed) -> float:
        return max(0.0, self._clock() - failed.at)

    async def _made(self, queued: Queued, key: PageKey, wish: Wish) -> Hit | Queued:
        job = await self._ends.wait(queued.job.job_id, wish.wait)
        if job is None or not job.status.is_over:
            return queued._replace(job=job or queued.job)
        if job.status is not State.DONE:
            failure = Failure.of(job)
            assert failure is not None  # noqa: S101  (it did not end well)
            raise failure.problem(job)
        kept = await self._kept(key)
        if kept is None:  # deleted in the same moment
            return queued._replace(job=job)
        return kept._replace(made=True)

    async def _take(self, caller: Caller) -> Standing:
        standing = (await self._limits.take([(limit_name(caller.tier), caller.tenant_id)]))[0]
        if not standing.tally.allowed:
            raise LimitReached(standing)
        return standing

    def _queue_behind(self, caller: Caller, wish: Wish, key: PageKey, request_id: str) -> None:
        """Never waits, and does nothing when the same was just done."""
        if key.name in self._behind or len(self._behind) >= MOST_BEHIND:
            return
        task = asyncio.create_task(self._renew(caller, wish, key, request_id))
        self._behind[key.name] = task
        task.add_done_callback(lambda _: self._behind.pop(key.name, None))

    async def _renew(self, caller: Caller, wish: Wish, key: PageKey, request_id: str) -> None:
        last = await self._failures.last(key)
        pause = REFUSED_SECONDS if last is not None and last.is_final else AGAIN_SECONDS
        if last is None or self._since(last) >= pause:
            try:
                await self.queue(caller, wish, key, request_id)
            except (LimitReached, Problem) as error:
                self._log.info("render_not_queued", "an old page is not renewed", url=key.url, why=str(error))
        await asyncio.sleep(LATELY_SECONDS)


def limit_name(tier: str) -> str:
    return f"renders-{tier}"


async def restore_limits(limits: Limits, usage: Usage) -> None:
    """After a start with nothing in Hot: what was rendered since midnight counts until the next one."""
    began, used = await usage.today()
    for tenant, tier, count in used:
        await limits.restore(limit_name(tier), tenant, count, began)


def _payload(caller: Caller, wish: Wish) -> Payload:
    return Payload(
        url=wish.url.href,
        bot=wish.look.bot,
        keep_scripts=wish.look.keep_scripts,
        wait_for=wish.wait_for,
        timeout=wish.timeout,
        key_id=caller.key_id,
    )


def _new_job(caller: Caller, wish: Wish, key: PageKey, request_id: str, priority: int) -> NewJob:
    payload = _payload(caller, wish)
    return NewJob(
        kind=KIND,
        tenant_id=key.tenant,
        payload=payload,
        priority=priority,
        max_attempts=MAX_ATTEMPTS,
        idempotency_key=job_key(key, payload),
        request_id=request_id,
    )
