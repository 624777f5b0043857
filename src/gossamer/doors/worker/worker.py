"""The worker: leases jobs, runs them, renews the leases meanwhile, and gives back jobs that it cannot do.

It may be killed or frozen at any instant: another worker gets its jobs when their leases run out, and its
late writes are refused. If the database is away it pauses, and continues by itself.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, Protocol

from gossamer.concurrency.periodic import every
from gossamer.doors.worker.settlement_writer import SettlementWriter
from gossamer.doors.worker.work import Canceled, Handler, RunningJob, Work
from gossamer.observe.logs import Log, concerning
from gossamer.observe.traces import job_span
from gossamer.problems import Damaged, Problem, Unavailable, forget_frames
from gossamer.state.db import clock_steps
from gossamer.state.jobs import heartbeats
from gossamer.state.jobs.job import (
    DATABASE_AWAY,
    JobError,
    JobSettlement,
    JobState,
    Lease,
    LeaseLost,
    failure,
    given_back,
    success,
)
from gossamer.state.jobs.job_retry import MAX_OUTAGE_SECONDS, is_outage, outage_pause
from gossamer.state.jobs.jobs import LEASE_SECONDS, Jobs

WAIT_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0  # for work to end by itself
LEAVE_SECONDS: Final = 1.0  # to delete its heartbeat
GIVE_BACK_SECONDS: Final = 2.0  # to give back work that did not end
PAUSES: Final = (0.1, 0.25, 0.5, 1.0, 2.0)
LOOK_SECONDS: Final = 1.0  # how often it looks for cancellations
CANCEL_SECONDS: Final = 5.0  # for work to notice by itself that it was canceled
SMALL_CLAIM: Final = 20  # jobs; a smaller claim is not divided
AT_ONCE: Final = 0.005
MAX_IN_VAIN_SECONDS: Final = 0.25


class JobMetrics(Protocol):
    def job(self, kind: str, outcome: str, seconds: float) -> None:
        """Work on a job ended. The outcome is its new state, or `lost`."""


class Worker:
    def __init__(
        self,
        jobs: Jobs,
        handlers: Mapping[str, Handler[Any]],
        *,
        name: str,
        log: Log,
        metrics: JobMetrics | None = None,
        lease_seconds: float = LEASE_SECONDS,
        stop_seconds: float = STOP_SECONDS,
        cancel_seconds: float = CANCEL_SECONDS,
        randomness: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._jobs = jobs
        self._handlers = handlers
        self._log = log
        self._metrics = metrics
        self._lease_seconds = lease_seconds
        self._stop_seconds = stop_seconds
        self._cancel_seconds = cancel_seconds
        self._randomness = randomness
        self._settling = SettlementWriter(jobs, log)
        self._able = self._find_able()  # the kinds that can be done here
        self._held: dict[str, RunningJob] = {}
        self._busy: Counter[str] = Counter()
        self._unsettled: Counter[str] = Counter()
        self._full: Collection[str] = ()  # kinds of which there was no room for more
        self._freed = asyncio.Event()
        self._stopping = False
        self._look_at = self._beat_at = 0.0  # the next times
        self._in_vain = 0  # claims in a row that got nothing and had nothing to wait for

    @property
    def running(self) -> int:
        return len(self._held)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; then wait for jobs that end soon, and give the others back."""
        keeping = asyncio.create_task(self._keep())
        try:
            await self._claim(stop)
        finally:
            await self._wind_down()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._settling.close()
            with contextlib.suppress(Unavailable):
                await self._jobs.leave(self.name, seconds=LEAVE_SECONDS)

    # Claiming.

    async def _claim(self, stop: asyncio.Event) -> None:
        failures = 0
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    await self._claim_and_wait(stopped)
                    failures = 0
                except Exception as error:  # noqa: BLE001 - the next claim may succeed
                    failures += 1
                    self._log_failure(error)
                    await first(stopped, asyncio.sleep(self._pause(failures)))
        finally:
            stopped.cancel()

    async def _claim_and_wait(self, stopped: asyncio.Task[Any]) -> None:
        loop = asyncio.get_running_loop()
        if self._settling.is_behind:  # jobs to give back come first: a claim would end their leases
            await first(stopped, self._settling.catch_up())
        self._freed.clear()
        asked, leases = self._choose_claim(), []
        if asked:
            since = loop.time()
            leases = await self._jobs.lease(asked, worker=self.name, seconds=self._lease_seconds)
            for lease in leases:
                self._start(lease, since)
        room = self._room()
        got = Counter(lease.job.kind for lease in leases)
        if any(got[kind] == asked.get(kind) for kind in room):
            return  # there may be more to claim
        self._full = self._handlers.keys() - room.keys()
        # Kinds with room had nothing more to claim; kinds without room must end something first.
        waiting = [self._jobs.wait(room, WAIT_SECONDS)] if room else []
        since = loop.time()
        await first(stopped, self._freed.wait(), *waiting)
        if leases or loop.time() - since > AT_ONCE:
            self._in_vain = 0
        else:  # there is a job that cannot be claimed: another transaction holds it
            self._in_vain += 1
            await first(stopped, asyncio.sleep(min(MAX_IN_VAIN_SECONDS, AT_ONCE * 2**self._in_vain)))

    def _log_failure(self, error: Exception) -> None:
        if isinstance(error, Damaged):
            self._log.error("damaged", str(error), worker=self.name)
        elif isinstance(error, Unavailable):
            self._log.warning("worker_paused", "the database is away", worker=self.name, why=error.detail)
        else:
            self._log.error("worker_failed", "a claim went wrong", worker=self.name, cause=error)

    def _choose_claim(self) -> dict[str, int]:
        """How many jobs of each kind to claim. Of many, a half, which runs while the rest is claimed."""
        return {
            kind: min(room, max(SMALL_CLAIM, self._handlers[kind].concurrency // 2))
            for kind, room in self._room().items()
        }

    def _room(self) -> dict[str, int]:
        return {kind: room for kind in self._able if (room := self._room_for(kind)) > 0}

    def _room_for(self, kind: str) -> int:
        """A job that ended makes room before its end is written, but at most for one more load of jobs."""
        limit = self._handlers[kind].concurrency
        return limit - self._busy[kind] - max(0, self._unsettled[kind] - limit)

    def _free(self, kind: str) -> None:
        if kind in self._full:
            self._freed.set()

    def _pause(self, failures: int) -> float:
        return PAUSES[min(failures, len(PAUSES)) - 1] * (0.5 + self._randomness())

    # Doing.

    def _start(self, lease: Lease, since: float) -> None:
        held = RunningJob(lease, since, self._lease_seconds)
        self._held[lease.job_id] = held
        self._busy[lease.job.kind] += 1
        held.task = asyncio.create_task(self._do(held))

    async def _do(self, held: RunningJob) -> None:
        kind = held.lease.job.kind
        outcome: JobState | None = None
        try:
            settlement = await self._outcome(held)
            if settlement is not None:
                outcome = await self._settling.settle(settlement)
            elif held.work is not None and held.work.finished:
                outcome = JobState.DONE
        finally:
            del self._held[held.lease.job_id]
            self._unsettled[kind] -= 1
            self._free(kind)
        self._report(held, outcome)

    async def _outcome(self, held: RunningJob) -> JobSettlement | None:
        """Run the job. Returns its settlement; None if it is settled already, or lost."""
        lease, job = held.lease, held.lease.job
        handler = self._handlers[job.kind]
        try:
            work = held.work = Work(self._jobs, lease, handler.decode(job))
            with concerning(job.request_id), job_span(job.kind, job.job_id, job.request_id):
                result = await handler.run(work)
            await work.end()
            return None if work.finished else success(lease, result)
        except (Canceled, asyncio.CancelledError):
            if held.unheard:
                return given_back(lease, DATABASE_AWAY)
            if held.lost:
                return None
            if held.work is not None and held.work.canceled:
                return JobSettlement(lease=lease, status=JobState.CANCELED)
            return given_back(lease)
        except LeaseLost:
            return None
        except Exception as error:  # noqa: BLE001 - an error of a handler ends only its own job
            if held.stopped:
                return given_back(lease)
            if not isinstance(error, Problem):
                self._log.error("job_defect", "a job raised", jobId=job.job_id, kind=job.kind, cause=error)
            forget_frames(error)
            if self._stopping and handler.policy.is_transient(error):
                return given_back(lease, JobError.of(error))
            return self._postpone(lease, error) or failure(
                lease, JobError.of(error), handler.policy.pause(error, job.attempt, self._randomness)
            )
        finally:
            held.settling = True
            self._busy[job.kind] -= 1
            self._unsettled[job.kind] += 1
            self._free(job.kind)

    def _postpone(self, lease: Lease, error: Exception) -> JobSettlement | None:
        """Give the job back, uncounted, if the failure is an outage of ours. An outage that lasts too long
        counts like any other failure."""
        if not is_outage(error):
            return None
        job = lease.job
        begun = lease.until - round(self._lease_seconds * 1000)  # by the database's clock, like the others
        seconds = max(0, begun - (job.started_at or begun)) / 1000
        if seconds > MAX_OUTAGE_SECONDS:
            self._log.error(
                "job_held_up", str(JobError.of(error)), jobId=job.job_id, kind=job.kind, seconds=seconds
            )
            return None
        return given_back(lease, JobError.of(error), outage_pause(seconds, self._randomness))

    def _report(self, held: RunningJob, outcome: JobState | None) -> None:
        job, seconds = held.lease.job, asyncio.get_running_loop().time() - held.began
        known = "lost" if outcome is None else outcome.value
        if self._metrics is not None:
            self._metrics.job(job.kind, known, seconds)
        level = "info" if outcome is not None else "warning"
        self._log.say(
            level,
            "job",
            f"{job.kind} {known}",
            jobId=job.job_id,
            kind=job.kind,
            outcome=known,
            attempt=job.attempt,
            duration=round(seconds * 1000, 3),
            requestId=job.request_id or None,
            worker=self.name,
        )

    # Keeping.

    async def _keep(self) -> None:
        """Renew leases, look for cancellations and write the heartbeat, until cancelled."""
        await every(min(LOOK_SECONDS, self._lease_seconds / 12), self._keep_once, at_once=True)

    async def _keep_once(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        try:
            await self._renew(now)
            if now >= self._look_at:
                self._look_at = now + LOOK_SECONDS
                await self._look()
            if self._have_kinds_changed() or now >= self._beat_at:
                await self._beat()
                self._beat_at = now + heartbeats.EVERY_SECONDS
        except Unavailable as away:
            self._log.debug("worker_unheard", "leases could not be renewed", why=away.detail)
        except Exception as error:  # noqa: BLE001 - the next round may succeed
            self._log.error("worker_failed", "keeping leases went wrong", worker=self.name, cause=error)
        self._let_go(loop.time())

    def _find_able(self) -> tuple[str, ...]:
        return tuple(kind for kind, handler in self._handlers.items() if handler.ready())

    def _have_kinds_changed(self) -> bool:
        """Whether other kinds can be done here now. If so, they are claimed and announced at once."""
        able = self._find_able()
        if able == self._able:
            return False
        self._able = able
        self._freed.set()
        return True

    async def _renew(self, now: float) -> None:
        due = [held for held in self._held.values() if held.renew_at <= now and not held.settling]
        if not due:
            return
        kept = await self._jobs.extend([held.lease for held in due], seconds=self._lease_seconds)
        for held in due:
            canceled = kept.get(held.lease.job_id)
            if canceled is not None:
                held.renew(now, self._lease_seconds)
            elif not held.settling and self._held.get(held.lease.job_id) is held:
                self._lose(held)
            if canceled:
                self._cancel(held)

    async def _look(self) -> None:
        if self._held:
            for job_id in await self._jobs.find_canceled(list(self._held)):
                if job_id in self._held:
                    self._cancel(self._held[job_id])

    async def _beat(self) -> None:
        step = await clock_steps.follow(self._jobs.database)
        if step:
            self._log.warning("clock_set_back", "the clock was set back", seconds=step // 1000)
            self._freed.set()  # waiting jobs may be due now
        await self._jobs.beat(self.name, self._able, self.running)

    def _cancel(self, held: RunningJob) -> None:
        if held.work is not None and held.cancel_at is None:
            held.work.canceled = True
            held.cancel_at = asyncio.get_running_loop().time() + self._cancel_seconds

    def _lose(self, held: RunningJob) -> None:
        held.lost = True
        held.interrupt()

    def _let_go(self, now: float) -> None:
        """Interrupt jobs whose lease has run out, and canceled ones that did not stop by themselves."""
        for held in list(self._held.values()):
            if held.until <= now:
                held.unheard = not held.lost
                self._lose(held)
            elif held.cancel_at is not None and held.cancel_at <= now:
                held.interrupt()

    # Stopping.

    async def _wind_down(self) -> None:
        self._stopping = True
        tasks = {held.task for held in self._held.values() if held.task is not None}
        if not tasks:
            return
        self._log.info("worker_stopping", "ending what ends soon", worker=self.name, running=len(tasks))
        await asyncio.wait(tasks, timeout=self._stop_seconds)
        for held in list(self._held.values()):
            held.stopped = True
            held.interrupt()
        _, stuck = await asyncio.wait(tasks, timeout=GIVE_BACK_SECONDS)
        if stuck:
            await self._abandon()
        for task in stuck:
            task.cancel()

    async def _abandon(self) -> None:
        """Give back jobs that do not end. Without a database their leases run out instead."""
        held = [held for held in self._held.values() if not held.settling and not held.lost]
        for one in held:
            one.lost = True  # nothing more is written about it
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GIVE_BACK_SECONDS / 2):
                await asyncio.gather(*(self._settling.settle(given_back(one.lease)) for one in held))


async def first(*awaitables: Awaitable[Any]) -> None:
    """Wait until the first of them is done. Tasks that were passed in continue; the others are cancelled."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    ours = [task for task, given in zip(tasks, awaitables, strict=True) if task is not given]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ours:
            task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)
    for task in done:
        task.result()
