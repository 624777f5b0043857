"""Jobs: everything that is done later or takes long. One queue, in the database, in which nothing gets stuck.

A lease lasts some seconds and has a token of its own. Whatever is done with a running job is done under the
token and before the lease runs out, so a worker that was away for too long can change nothing. An attempt is
counted when it begins: a job that kills its worker ends as failed, not as a loop. The clock is the
database's; `now` (milliseconds) is for tests. The states are drawn in `job.py`.

`put` and the other functions of `job_table` work on an open connection, for who has more to write in the same
transaction; then `Jobs.wake` after it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state import job_events, job_table, lease_statements
from gossamer.state import job_statements as statements
from gossamer.state.alone import Hand
from gossamer.state.database import Database
from gossamer.state.job import (
    STATES,
    Depth,
    Filter,
    Head,
    Job,
    Lease,
    LeaseLost,
    NewJob,
    Settlement,
    State,
    failure,
    job_of,
    lease_of,
    success,
)
from gossamer.state.job_events import Event, EventType, NewEvent
from gossamer.state.job_retry import RetryPolicy
from gossamer.state.job_table import get, listing, put, put_many
from gossamer.state.job_turns import Turns
from gossamer.state.wakeups import Wakeups, open_wakeups

__all__ = [
    "Jobs", "Job", "NewJob", "State", "Lease", "LeaseLost", "Settlement", "success", "failure", "RetryPolicy",
    "Event", "EventType", "NewEvent", "Filter", "Depth", "Wakeups", "open_wakeups", "LEASE_SECONDS",
    "put", "put_many", "get", "listing",
]  # fmt: skip

LEASE_SECONDS: Final = 60.0
KEPT_DAYS: Final = 30.0
# How often what has ripened is looked for while there is plenty to claim; else at every claim.
_RIPEN_SECONDS: Final = 0.25


class Jobs:
    def __init__(self, database: Database, wakeups: Wakeups) -> None:
        self.database = database
        self._wakeups = wakeups
        self._turns = Turns()
        self._ripe_at = 0.0

    # Putting jobs in.

    async def put(self, new: NewJob, *, now: int | None = None) -> Job:
        """The job, or the one that is already queued or running under the same key: `job_id` tells."""
        async with self.database.alone() as hand:
            job = await job_table.put(hand, new, now=now)
        self.wake(job.kind)
        return job

    async def put_many(self, new: Sequence[NewJob], *, now: int | None = None) -> list[str]:
        """The ids of the jobs in the order given; for a key that was there already, its job's."""
        async with self.database.alone() as hand:
            ids = await job_table.put_many(hand, new, now=now)
        self.wake(*{job.kind for job in new})
        return ids

    def wake(self, *kinds: str) -> None:
        """For who has put jobs by `put` in a transaction of its own: saves the others up to 100 ms."""
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
        """Jobs to work on, of each kind at most so many. Tenants take turns; of a tenant's jobs, those of
        the smallest `priority` come first, then the oldest."""
        wanted = self._turns.wanted(room)
        if not wanted:
            return []
        token, length = secrets.token_hex(16), round(seconds * 1000)
        async with self.database.alone() as hand:
            ripened = await self._ripen(hand, now, unless_recent=True)
            rows = await statements.claim(hand, wanted, worker, token, length, now)
            if ripened is None and len(rows) < sum(count for _, count, _ in wanted):
                ripened = await self._ripen(hand, now, unless_recent=False)
                left = self._turns.left(wanted, rows)
                if ripened and left:
                    rows = [*rows, *await statements.claim(hand, left, worker, token, length, now)]
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

    # Working on them. Each of these answers whether the lease was still held; if not, nothing was changed.

    async def extend(
        self, leases: Iterable[Lease], *, seconds: float = LEASE_SECONDS, now: int | None = None
    ) -> dict[str, bool]:
        """Those that are still held, each by its job's id with whether it is to be canceled."""
        held = [(lease.job_id, lease.token) for lease in leases]
        async with self.database.alone() as hand:
            rows = await lease_statements.extend(hand, held, round(seconds * 1000), now)
        return {row.job_id: bool(row.cancel_requested) for row in rows}

    async def finish(self, lease: Lease, result: Any = None, *, now: int | None = None) -> bool:
        return bool(await self.settle([success(lease, result)], now=now))

    async def fail(
        self, lease: Lease, error: str, *, retry_in: float | None = None, now: int | None = None
    ) -> bool:
        """It went wrong: tried again after `retry_in` seconds, if there is an attempt left."""
        return bool(await self.settle([failure(lease, error, retry_in)], now=now))

    async def release(self, lease: Lease, *, now: int | None = None) -> bool:
        """Give the job back undone; the attempt does not count."""
        return bool(await self.settle([Settlement(lease=lease, status=State.QUEUED, counts=False)], now=now))

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> dict[str, State]:
        """Any number at once; the new states of those that were still held, by their jobs' ids."""
        async with self.database.alone() as hand:
            rows = await lease_statements.settle(hand, [each.as_row() for each in settlements], now)
        self._wakeups.wake({kind for _, kind, status, *_ in rows if status == "queued"})
        return {job_id: STATES[status] for job_id, _, status, *_ in rows}

    async def emit(self, lease: Lease, events: Sequence[NewEvent], *, now: int | None = None) -> bool:
        """Tell those who follow the job. Whether it is to be canceled; raises `LeaseLost`."""
        rows = [job_events.as_row(event) for event in events]
        async with self.database.alone() as hand:
            told = await lease_statements.emit(hand, lease.job_id, lease.token, rows, now)
        if told is None:
            raise LeaseLost
        return bool(told.cancel_requested)

    @asynccontextmanager
    async def holding(self, lease: Lease, *, now: int | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction for what belongs to the job: it is written while the job is ours, or not at all.

        Raises `LeaseLost` before the body runs; nobody can take the lease while it does."""
        async with self.database.write() as connection:
            if not await lease_statements.hold(connection, lease.job_id, lease.token, now):
                raise LeaseLost
            yield connection

    @asynccontextmanager
    async def finishing(
        self, lease: Lease, result: Any = None, *, now: int | None = None
    ) -> AsyncIterator[AsyncConnection]:
        """The same, and at its end the job is done: what is written in it is written once, or not at all."""
        done = success(lease, result).as_row()
        async with self.holding(lease, now=now) as connection:
            yield connection
            if not await lease_statements.settle(connection, [done], now):
                raise LeaseLost

    async def cancel(self, job_id: str, *, now: int | None = None) -> Job | None:
        """Queued: it is over. Running: its worker is told. Over: nothing. The job as it now stands."""
        async with self.database.alone() as hand:
            row = await lease_statements.cancel(hand, job_id, now)
        return await self.get(job_id) if row is None else job_of(row)

    async def to_be_canceled(self, job_ids: Collection[str]) -> set[str]:
        """Which of these somebody does not want any more."""
        async with self.database.read() as connection:
            return await job_table.to_be_canceled(connection, job_ids)

    # Looking at them.

    async def get(self, job_id: str) -> Job | None:
        async with self.database.read() as connection:
            return await job_table.get(connection, job_id)

    async def events(self, job_id: str, *, after_seq: int = 0, limit: int = 500) -> Sequence[Event]:
        async with self.database.read() as connection:
            return await job_events.events(connection, job_id, after_seq=after_seq, limit=limit)

    async def heads(self, job_ids: Collection[str]) -> dict[str, Head]:
        """How far these are told of, by their ids."""
        async with self.database.read() as connection:
            return await job_table.heads(connection, job_ids)

    async def listing(self, which: Filter, *, before: str | None = None, limit: int = 50) -> Sequence[Job]:
        """The newest first; `before` is the id of the last one already seen."""
        async with self.database.read() as connection:
            return await job_table.listing(connection, which, before=before, limit=limit)

    async def depths(self, *, now: int | None = None) -> Sequence[Depth]:
        async with self.database.read() as connection:
            return await job_table.depths(connection, now=now)

    async def forget_old(self, *, days: float = KEPT_DAYS, now: int | None = None) -> int:
        """Delete a batch of what has been over for so long; how much it was. 0: nothing is left to forget."""
        async with self.database.write() as connection:
            return await job_table.forget_old(connection, days=days, now=now)

    async def close(self) -> None:
        await self._wakeups.close()

    async def _ripen(self, hand: Hand, now: int | None, *, unless_recent: bool) -> set[str] | None:
        """The kinds that there is more of; None when it was not looked for."""
        time = asyncio.get_running_loop().time()
        if now is None and unless_recent and time < self._ripe_at:
            return None
        self._ripe_at = time + _RIPEN_SECONDS
        return await statements.ripen(hand, now)
