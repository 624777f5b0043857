"""The worker: leases jobs, does them, keeps the leases alive meanwhile, and gives back what it cannot do.

It may be killed or frozen at any instant: what it held is given to another when the lease runs out, and what
it writes after that is refused. When the database is away it pauses, and goes on by itself.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, Protocol

from gossamer.doors.settling import Settling
from gossamer.doors.work import Canceled, Handler, Work
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.state import heartbeats
from gossamer.state.job_text import told
from gossamer.state.jobs import LEASE_SECONDS, Jobs, Lease, LeaseLost, Settlement, State, failure, success

WAIT_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0
PAUSES: Final = (0.1, 0.25, 0.5, 1.0, 2.0)
LOOK_SECONDS: Final = 1.0  # how often it is asked whether somebody wants a running job canceled
CANCEL_SECONDS: Final = 5.0  # for work to notice by itself that it is not wanted
INTERRUPT_SECONDS: Final = 5.0  # for work that was interrupted to tidy up before it is interrupted again
SMALL_CLAIM: Final = 20  # jobs, which are not worth dividing
AT_ONCE: Final = 0.005
LONGEST_IN_VAIN: Final = 0.25


class JobMetrics(Protocol):
    def job(self, kind: str, outcome: str, seconds: float) -> None:
        """Work on a job ended. The outcome is its new state, or `lost`."""


class Held:
    """A job that is being done."""

    def __init__(self, lease: Lease, since: float, seconds: float) -> None:
        self.lease = lease
        self.work: Work[Any] | None = None
        self.task: asyncio.Task[None] | None = None
        self.began = since
        self.lost = False
        self.settling = False
        self.cancel_at: float | None = None
        self.interrupt_at = 0.0  # not before
        self.renewed(since, seconds)

    def renewed(self, since: float, seconds: float) -> None:
        """By this process's steady clock, counted from before the database was asked."""
        self.until = since + seconds
        self.renew_at = since + seconds / 3

    def interrupt(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.task is not None and not self.settling and now >= self.interrupt_at:
            self.interrupt_at = now + INTERRUPT_SECONDS
            self.task.cancel()


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
        self._settling = Settling(jobs, log)
        self._held: dict[str, Held] = {}
        self._busy: Counter[str] = Counter()
        self._unsettled: Counter[str] = Counter()
        self._full: Collection[str] = ()  # kinds of which there was no room for more
        self._freed = asyncio.Event()
        self._in_vain = 0  # claims in a row, each of them without anything to wait for

    @property
    def running(self) -> int:
        return len(self._held)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; then end what ends soon, and give the rest back."""
        keeping = asyncio.create_task(self._keep())
        try:
            await self._claim(stop)
        finally:
            await self._wind_down()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._settling.close()
            with contextlib.suppress(Unavailable):
                async with self._jobs.database.write() as connection:
                    await heartbeats.leave(connection, self.name)

    # Claiming.

    async def _claim(self, stop: asyncio.Event) -> None:
        failures = 0
        stopped = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    await self._claim_and_wait(stopped)
                    failures = 0
                except Exception as error:  # noqa: BLE001 - whatever it is, the next claim may go well
                    failures += 1
                    self._complain(error)
                    await first(stopped, asyncio.sleep(self._pause(failures)))
        finally:
            stopped.cancel()

    async def _claim_and_wait(self, stopped: asyncio.Task[Any]) -> None:
        loop = asyncio.get_running_loop()
        self._freed.clear()
        asked, leases = self._asked(), []
        if asked:
            since = loop.time()
            leases = await self._jobs.lease(asked, worker=self.name, seconds=self._lease_seconds)
            for lease in leases:
                self._start(lease, since)
        room = self._room()
        got = Counter(lease.job.kind for lease in leases)
        if any(got[kind] == asked.get(kind) for kind in room):
            return  # there is room for more, and there may be more
        self._full = self._handlers.keys() - room.keys()
        # What has room left had nothing more to claim; what is full has to end something first.
        waiting = [self._jobs.wait(room, WAIT_SECONDS)] if room else []
        since = loop.time()
        await first(stopped, self._freed.wait(), *waiting)
        if leases or loop.time() - since > AT_ONCE:
            self._in_vain = 0
        else:  # there is something that cannot be had: another's transaction holds it
            self._in_vain += 1
            await first(stopped, asyncio.sleep(min(LONGEST_IN_VAIN, AT_ONCE * 2**self._in_vain)))

    def _complain(self, error: Exception) -> None:
        if isinstance(error, Unavailable):
            self._log.warning("worker_paused", "the database is away", worker=self.name, why=error.detail)
        else:
            self._log.error("worker_failed", "a claim went wrong", worker=self.name, cause=error)

    def _asked(self) -> dict[str, int]:
        """Of many not all at once: one half is done while the other is on its way."""
        return {
            kind: min(room, max(SMALL_CLAIM, self._handlers[kind].concurrency // 2))
            for kind, room in self._room().items()
        }

    def _room(self) -> dict[str, int]:
        return {kind: room for kind in self._handlers if (room := self._room_for(kind)) > 0}

    def _room_for(self, kind: str) -> int:
        """What is done makes room before that is written down, but not for more than can be done at once."""
        most = self._handlers[kind].concurrency
        return most - self._busy[kind] - max(0, self._unsettled[kind] - most)

    def _free(self, kind: str) -> None:
        if kind in self._full:
            self._freed.set()

    def _pause(self, failures: int) -> float:
        return PAUSES[min(failures, len(PAUSES)) - 1] * (0.5 + self._randomness())

    # Doing.

    def _start(self, lease: Lease, since: float) -> None:
        held = Held(lease, since, self._lease_seconds)
        self._held[lease.job_id] = held
        self._busy[lease.job.kind] += 1
        held.task = asyncio.create_task(self._do(held))

    async def _do(self, held: Held) -> None:
        kind = held.lease.job.kind
        outcome: State | None = None
        try:
            settlement = await self._outcome(held)
            if settlement is not None:
                outcome = await self._settling.settle(settlement)
            elif held.work is not None and held.work.finished:
                outcome = State.DONE
        finally:
            del self._held[held.lease.job_id]
            self._unsettled[kind] -= 1
            self._free(kind)
        self._report(held, outcome)

    async def _outcome(self, held: Held) -> Settlement | None:
        """What becomes of the job; None when that is decided already."""
        lease, job = held.lease, held.lease.job
        handler = self._handlers[job.kind]
        try:
            work = held.work = Work(self._jobs, lease, handler.decode(job))
            result = await handler.run(work)
            await work.end()
            return None if work.finished else success(lease, result)
        except (Canceled, asyncio.CancelledError):
            if held.lost:
                return None
            if held.work is not None and held.work.canceled:
                return Settlement(lease=lease, status=State.CANCELED)
            return Settlement(lease=lease, status=State.QUEUED, counts=False)  # it is the worker that stops
        except LeaseLost:
            return None
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is the end of its job only
            if not isinstance(error, Problem):
                self._log.error("job_defect", "a job raised", jobId=job.job_id, kind=job.kind, cause=error)
            return failure(lease, told(error), handler.policy.pause(error, job.attempt, self._randomness))
        finally:
            held.settling = True
            self._busy[job.kind] -= 1
            self._unsettled[job.kind] += 1
            self._free(job.kind)

    def _report(self, held: Held, outcome: State | None) -> None:
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
        """Renew leases, hear of cancellations, be seen to be alive."""
        loop = asyncio.get_running_loop()
        beat_at = look_at = 0.0
        while True:
            now = loop.time()
            try:
                await self._renew(now)
                if now >= look_at:
                    look_at = now + LOOK_SECONDS
                    await self._look()
                if now >= beat_at:
                    await self._beat()
                    beat_at = now + heartbeats.EVERY_SECONDS
            except Unavailable as away:
                self._log.debug("worker_unheard", "leases could not be renewed", why=away.detail)
            except Exception as error:  # noqa: BLE001 - the next round may go well
                self._log.error("worker_failed", "keeping leases went wrong", worker=self.name, cause=error)
            self._let_go(loop.time())
            await asyncio.sleep(min(LOOK_SECONDS, self._lease_seconds / 12))

    async def _renew(self, now: float) -> None:
        due = [held for held in self._held.values() if held.renew_at <= now and not held.settling]
        if not due:
            return
        kept = await self._jobs.extend([held.lease for held in due], seconds=self._lease_seconds)
        for held in due:
            canceled = kept.get(held.lease.job_id)
            if canceled is not None:
                held.renewed(now, self._lease_seconds)
            elif not held.settling and self._held.get(held.lease.job_id) is held:
                self._lose(held)
            if canceled:
                self._cancel(held)

    async def _look(self) -> None:
        if self._held:
            for job_id in await self._jobs.to_be_canceled(list(self._held)):
                if job_id in self._held:
                    self._cancel(self._held[job_id])

    async def _beat(self) -> None:
        async with self._jobs.database.write() as connection:
            await heartbeats.beat(connection, self.name, self._handlers, self.running)

    def _cancel(self, held: Held) -> None:
        if held.work is not None and held.cancel_at is None:
            held.work.canceled = True
            held.cancel_at = asyncio.get_running_loop().time() + self._cancel_seconds

    def _lose(self, held: Held) -> None:
        held.lost = True
        held.interrupt()

    def _let_go(self, now: float) -> None:
        """End the work on what is surely lost, and on what did not notice that it is not wanted."""
        for held in list(self._held.values()):
            if held.until <= now:
                self._lose(held)
            elif held.cancel_at is not None and held.cancel_at <= now:
                held.interrupt()

    # Stopping.

    async def _wind_down(self) -> None:
        tasks = {held.task for held in self._held.values() if held.task is not None}
        if not tasks:
            return
        self._log.info("worker_stopping", "ending what ends soon", worker=self.name, running=len(tasks))
        await asyncio.wait(tasks, timeout=self._stop_seconds)
        for held in list(self._held.values()):
            held.interrupt()
        _, stuck = await asyncio.wait(tasks, timeout=self._stop_seconds)
        for (
            task
        ) in stuck:  # the database is away, or work that does not end: the leases run out by themselves
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def first(*awaitables: Awaitable[Any]) -> None:
    """Until the first of them is done; tasks that were passed in live on, the others end here."""
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
