"""Serve: a rendered page from the cache, or the one job that makes it.

How old a page may be is the caller's choice. With a `max_age`, an older page is

    stale-while-revalidate   served as it is, while a render is queued behind the answer;
    stale-if-error           served as it is, when the render that should replace it has failed;

and otherwise it is as if it were not there, until a better one replaces it. Only good pages ever do.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.flows.admit import Caller
from gossamer.flows.render import KIND, Look, Payload, job_key, page_key
from gossamer.flows.render_failure import MAX_ATTEMPTS, Failure
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state import job_table, renders
from gossamer.state.hot import Hot
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Job, Jobs, NewJob, State
from gossamer.state.limits import Limits, Standing
from gossamer.state.page_cache import Asked, Found, Location, PageCache, PageKey
from gossamer.state.usage import Usage
from gossamer.web.url import Url

FAILED_SECONDS: Final = 86_400.0  # for so long it is remembered that a page could not be rendered anew
AGAIN_SECONDS: Final = 30.0  # after a failure, before a render is queued behind an old page again
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
        failures: "Failures",
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
            queued = await self.queue(caller, wish, key, request_id, also)
            return await self._made(queued, key, wish) if wish.wait else queued
        except (LimitReached, Problem):
            old = await self._kept(key) if kept is not None and wish.may_stand_in(kept.age) else None
            if old is None:
                raise
            return old._replace(stale=True)

    def ask_hot(self, key: PageKey) -> Asked:
        """Ask for a page that was a hit before, now; `hot` takes the answer."""
        return self._cache.ask(key)

    async def hot(self, caller: Caller, wish: Wish, etag: str, asked: Asked) -> float | None:
        """The age of the page, if it is still this one, still in the hot tier and fresh."""
        page = await self._cache.hot(asked)
        if page is None or page.etag != etag:
            return None
        age = self.age(page.rendered_at)
        if not wish.is_fresh(age):
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
        async with self._jobs.database.read() as connection:
            known = await renders.active(connection, key.tenant, [job_key(key)])
        if known:
            return Queued(known[job_key(key)], None)
        wanted = _new_job(caller, wish, key, request_id, priority)
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
        return wish.may_stand_in(kept.age) and await self._failures.since(key) is not None

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
        failed_at = await self._failures.since(key)
        if failed_at is None or self._clock() - failed_at >= AGAIN_SECONDS:
            try:
                await self.queue(caller, wish, key, request_id)
            except (LimitReached, Problem) as error:
                self._log.info("render_not_queued", "an old page is not renewed", url=key.url, why=str(error))
        await asyncio.sleep(LATELY_SECONDS)


def limit_name(tier: str) -> str:
    return f"renders-{tier}"


def _new_job(caller: Caller, wish: Wish, key: PageKey, request_id: str, priority: int) -> NewJob:
    return NewJob(
        kind=KIND,
        tenant_id=key.tenant,
        payload=Payload(
            url=wish.url.href,
            bot=wish.look.bot,
            keep_scripts=wish.look.keep_scripts,
            wait_for=wish.wait_for,
            timeout=wish.timeout,
            key_id=caller.key_id,
            tier=caller.tier,
        ),
        priority=priority,
        max_attempts=MAX_ATTEMPTS,
        idempotency_key=job_key(key),
        request_id=request_id,
    )


class Failures:
    """Since when a page cannot be rendered anew. Lost with Hot, which does no harm: it is tried again."""

    def __init__(self, hot: Hot) -> None:
        self._hot = hot

    async def since(self, key: PageKey) -> float | None:
        with suppress(Unavailable):
            told = await self._hot.get(_failed(key))
            return float(told) if told else None
        return None

    async def mark(self, key: PageKey, now: float) -> None:
        with suppress(Unavailable):
            await self._hot.put(_failed(key), b"%f" % now, FAILED_SECONDS)

    async def clear(self, key: PageKey) -> None:
        with suppress(Unavailable):
            await self._hot.drop(_failed(key))


def _failed(key: PageKey) -> str:
    return f"render:failed:{key.name}"
