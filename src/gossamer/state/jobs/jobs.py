"""The job queue, in the database: everything that is done later or takes long.

A lease lasts some seconds and has its own token. Every change of a running job requires the token before
the lease runs out, so a worker that was away for too long can change nothing. An attempt is counted when it
begins: a job that kills its worker fails in the end, and does not loop. The clock is the database's; `now`
(milliseconds) is for tests. `job.py` shows the states.

`put` and the other functions of `job_table` work on an open connection, for callers that write more in the
same transaction; they call `Jobs.wake` after it.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.db.single import Executor, Rows
from gossamer.state.jobs import heartbeats, job_events, job_table, lease_statements
from gossamer.state.jobs import job_statements as statements
from gossamer.state.jobs.job import (
    STATES,
    EventHead,
    Job,
    JobError,
    JobFilter,
    JobSettlement,
    JobState,
    Lease,
    LeaseLost,
    NewJob,
    QueueDepth,
    failure,
    given_back,
    job_of,
    lease_of,
    success,
)
from gossamer.state.jobs.job_events import Event, NewEvent
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.wakeups.wakeups import Wakeups

LEASE_SECONDS: Final = 60.0
KEPT_DAYS: Final = 30.0
# How often delayed jobs and lapsed leases are looked for while there is plenty to claim; else at every claim.
_RIPEN_SECONDS: Final = 0.25


class JobTurns:
    """The tenant that was served last, for each kind of job.

    Tenants are served in the order of their ids, in turns, so that none waits behind all jobs of another.
    Each process has its own position."""

    def __init__(self) -> None:
        self._served: dict[str, str] = {}

    def claims(self, room: Mapping[str, int]) -> list[tuple[str, int, str]]:
        """Kind, how many, and the tenant after which to begin."""
        return [(kind, count, self._served.get(kind, "")) for kind, count in room.items() if count > 0]

    def left(self, wanted: Sequence[tuple[str, int, str]], claimed: Rows) -> list[tuple[str, int, str]]:
        """The demand that is left after these were claimed."""
        got = Counter(row.kind for row in claimed)
        return [(kind, count - got[kind], served) for kind, count, served in wanted if count > got[kind]]

    def serve(self, claimed: Iterable[Job]) -> None:
        by_kind: dict[str, Counter[str]] = {}
        for (kind, tenant), count in Counter((job.kind, job.tenant_id) for job in claimed).items():
            by_kind.setdefault(kind, Counter())[tenant] = count
        for kind, served in by_kind.items():
            most = max(served.values())
            before = self._served.get(kind, "")
            # Of the tenants with the most turns, the last one in order.
            ordered = sorted((tenant <= before, tenant) for tenant in served if served[tenant] == most)
            self._served[kind] = ordered[-1][1]


class Jobs:
    def __init__(self, database: Database, wakeups: Wakeups) -> None:
        self.database = database
        self._wakeups = wakeups
        self._turns = JobTurns()
        self._ripe_at = 0.0

    # Putting jobs in.

    async def put(self, new: NewJob, *, now: int | None = None) -> Job:
        """The job, or the one that is already queued or running under the same key: compare `job_id`."""
        async with self.database.executor() as executor:
            job = await job_table.put(executor, new, now=now)
        self.wake(job.kind)
        return job

    async def put_many(self, new: Sequence[NewJob], *, now: int | None = None) -> list[str]:
        """The ids of the jobs in the order given; for a key that was there already, its job's."""
        async with self.database.executor() as executor:
            ids = await job_table.put_many(executor, new, now=now)
        self.wake(*{job.kind for job in new})
        return ids

    def wake(self, *kinds: str) -> None:
        """Wake workers after jobs were put in a transaction of the caller. Saves them up to 100 ms."""
        self._wakeups.wake(kinds)

    # Taking them out.

    async def lease(
        self,
        room: Mapping[str, int],
        *,
        worker: str,
        seconds: float = LEASE_SECONDS,
        now: int | None = None,
    ) -> list[Lease]:
        """Lease jobs, at most `room[kind]` of each kind. Tenants take turns; a tenant's jobs come by
        `priority`, then by age."""
        wanted = self._turns.claims(room)
        if not wanted:
            return []
        token, length = secrets.token_hex(16), round(seconds * 1000)
        async with self.database.executor() as executor:
            ripened = await self._ripen(executor, now, unless_recent=True)
            rows = await statements.claim(executor, wanted, worker, token, length, now)
            if ripened is None and len(rows) < sum(count for _, count, _ in wanted):
                ripened = await self._ripen(executor, now, unless_recent=False)
                left = self._turns.left(wanted, rows)
                if ripened and left:
                    rows = [*rows, *await statements.claim(executor, left, worker, token, length, now)]
        leases = [lease_of(row) for row in rows]
        self._turns.serve(lease.job for lease in leases)
        self._wakeups.wake(ripened or ())
        return leases

    async def wait(self, kinds: Collection[str], timeout: float) -> bool:
        """Until there may be something to lease; False when there was nothing for `timeout` seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        ordered = sorted(kinds)
        with self._wakeups.waiting(kinds) as waiter:
            while not waiter.sure and (left := until - loop.time()) > 0:
                async with self.database.read() as connection:
                    pause = await statements.look(connection, ordered, None)
                if pause == 0:
                    return True
                ripe_in = left if pause is None else pause / 1000
                await waiter.wait(min(left, ripe_in, self._wakeups.poll_seconds))
            return waiter.sure

    # Working on them. Each of these returns whether the lease was still held; if not, nothing was changed.

    async def extend(
        self, leases: Iterable[Lease], *, seconds: float = LEASE_SECONDS, now: int | None = None
    ) -> dict[str, bool]:
        """By job id, for those that are still held: whether the job is to be canceled."""
        held = [(lease.job_id, lease.token) for lease in leases]
        async with self.database.executor() as executor:
            rows = await lease_statements.extend(executor, held, round(seconds * 1000), now)
        return {row.job_id: bool(row.cancel_requested) for row in rows}

    async def finish(self, lease: Lease, result: Any = None, *, now: int | None = None) -> bool:
        return bool(await self.settle([success(lease, result)], now=now))

    async def fail(
        self, lease: Lease, error: JobError, *, retry_in: float | None = None, now: int | None = None
    ) -> bool:
        """The attempt failed: try again after `retry_in` seconds, if an attempt is left."""
        return bool(await self.settle([failure(lease, error, retry_in)], now=now))

    async def release(self, lease: Lease, *, now: int | None = None) -> bool:
        """Give the job back undone; the attempt does not count."""
        return bool(await self.settle([given_back(lease)], now=now))

    async def settle(
        self, settlements: Sequence[JobSettlement], *, now: int | None = None
    ) -> dict[str, JobState]:
        """The new states of those that were still held, by job id."""
        async with self.database.executor() as executor:
            rows = await lease_statements.settle(executor, [each.as_row() for each in settlements], now)
        self._wakeups.wake({kind for _, kind, status, *_ in rows if status == "queued"})
        return {job_id: STATES[status] for job_id, _, status, *_ in rows}

    async def emit(self, lease: Lease, events: Sequence[NewEvent], *, now: int | None = None) -> bool:
        """Write events, and return whether the job is to be canceled. Raises `LeaseLost`."""
        rows = [job_events.as_row(event) for event in events]
        async with self.database.executor() as executor:
            emitted = await lease_statements.emit(executor, lease.job_id, lease.token, rows, now)
        if emitted is None:
            raise LeaseLost
        return bool(emitted.cancel_requested)

    @asynccontextmanager
    async def holding(self, lease: Lease, *, now: int | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits only while the lease is held.

        Raises `LeaseLost` before the body runs; no other worker can take the lease while it does."""
        async with self.database.write() as connection:
            if not await lease_statements.hold(connection, lease.job_id, lease.token, now):
                raise LeaseLost
            yield connection

    @asynccontextmanager
    async def finishing(
        self, lease: Lease, result: Any = None, *, now: int | None = None
    ) -> AsyncIterator[AsyncConnection]:
        """The same, and the job is done at its end: what is written in it is written once, or not at all."""
        done = success(lease, result).as_row()
        async with self.holding(lease, now=now) as connection:
            yield connection
            if not await lease_statements.settle(connection, [done], now):
                raise LeaseLost

    async def cancel(self, job_id: str, *, by: Actor | None = None, now: int | None = None) -> Job | None:
        """Cancel a queued job at once, and ask the worker of a running one to stop. The job as it now is.
        With `by`, the first time is recorded in the log of activity."""
        if by is not None:
            return await self._cancel_and_record(job_id, by, now)
        async with self.database.executor() as executor:
            row = await lease_statements.cancel(executor, job_id, now)
        return await self.get(job_id) if row is None else job_of(row)

    async def _cancel_and_record(self, job_id: str, by: Actor, now: int | None) -> Job | None:
        async with self.database.write() as connection:
            before = await job_table.get(connection, job_id)
            row = await lease_statements.cancel(connection, job_id, now)
            if before is None or row is None or before.cancel_requested:
                return before if row is None else job_of(row)
            job = job_of(row)
            entry = ActivityEntry(job.tenant_id, Action.JOB_CANCELED, job.job_id, by, job.kind)
            await activity.record(connection, entry, now=now)
            return job

    async def find_canceled(self, job_ids: Collection[str]) -> set[str]:
        """Which of these are to be canceled."""
        async with self.database.read() as connection:
            return await job_table.find_canceled(connection, job_ids)

    # Workers.

    async def beat(self, worker: str, kinds: Collection[str], running: int) -> None:
        """The worker is alive, and works on these kinds."""
        async with self.database.write(quiet=True) as connection:
            await heartbeats.beat(connection, worker, kinds, running)

    async def leave(self, worker: str, *, seconds: float) -> None:
        """The worker has stopped. Gives up after `seconds`."""
        async with self.database.write(seconds=seconds) as connection:
            await heartbeats.leave(connection, worker)

    # Looking at them.

    async def get(self, job_id: str) -> Job | None:
        async with self.database.read() as connection:
            return await job_table.get(connection, job_id)

    async def events(self, job_id: str, *, after_seq: int = 0, limit: int = 500) -> Sequence[Event]:
        async with self.database.read() as connection:
            return await job_events.events(connection, job_id, after_seq=after_seq, limit=limit)

    async def heads(self, job_ids: Collection[str]) -> dict[str, EventHead]:
        """The last events of these, by job id."""
        async with self.database.read() as connection:
            return await job_table.heads(connection, job_ids)

    async def list_jobs(
        self, which: JobFilter, *, before: str | None = None, limit: int = 50
    ) -> Sequence[Job]:
        """The newest first; `before` is the id of the last one already seen."""
        async with self.database.scan() as connection:
            return await job_table.list_jobs(connection, which, before=before, limit=limit)

    async def depths(self, *, now: int | None = None) -> Sequence[QueueDepth]:
        async with self.database.read() as connection:
            return await job_table.depths(connection, now=now)

    async def forget_old(self, *, days: float = KEPT_DAYS, now: int | None = None) -> int:
        """Delete a batch of jobs that ended more than `days` ago, and return how many. 0: none is left."""
        async with self.database.write() as connection:
            return await job_table.forget_old(connection, days=days, now=now)

    async def close(self) -> None:
        await self._wakeups.close()

    async def _ripen(self, executor: Executor, now: int | None, *, unless_recent: bool) -> set[str] | None:
        """The kinds that have more to claim now; None when it was too soon to look."""
        time = asyncio.get_running_loop().time()
        if now is None and unless_recent and time < self._ripe_at:
            return None
        self._ripe_at = time + _RIPEN_SECONDS
        return await statements.ripen(executor, now)
