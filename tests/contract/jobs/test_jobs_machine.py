"""The queue against a model of itself: whatever happens, in any order, on both databases."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete

from gossamer.state.db import tables
from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs.job import JobError, JobFilter, JobState, Lease, LeaseLost, NewJob
from gossamer.state.jobs.job_events import JobEventType, NewEvent
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import open_wakeups

START = 1_700_000_000_000
KINDS = ("audit", "render")
LEASE = 10.0


@dataclass
class Expected:
    """What the model believes of a job."""

    new: NewJob
    run_at: int
    order: int
    status: JobState = JobState.QUEUED
    attempt: int = 0
    token: str | None = None
    until: int = 0
    canceling: bool = False
    events: int = 1
    result: str | None = None

    def change(self, status: JobState) -> None:
        self.status, self.token = status, None
        self.events += 1

    def requeue(self, now: int, delay: int = 0) -> None:
        self.change(JobState.CANCELED if self.canceling else JobState.QUEUED)
        if delay:
            self.run_at = now + delay


@dataclass
class Model:
    jobs: dict[str, Expected] = field(default_factory=dict)

    def add(self, new: NewJob, run_at: int) -> None:
        self.jobs[new.job_id] = Expected(new, run_at, len(self.jobs))

    def active(self, tenant: str, key: str | None) -> str | None:
        for job_id, job in self.jobs.items():
            if (
                key is not None
                and (job.new.tenant_id, job.new.idempotency_key) == (tenant, key)
                and not (job.status.is_over or job.canceling)
            ):
                return job_id
        return None

    def lapse(self, now: int) -> None:
        for job in self.jobs.values():
            if job.status is JobState.RUNNING and job.until <= now:
                if not job.canceling and job.attempt >= job.new.max_attempts:
                    job.change(JobState.FAILED)
                else:
                    job.requeue(now)

    def claimable(self, kind: str, now: int) -> dict[str, list[str]]:
        """By tenant, the first to be taken first."""
        found: dict[str, list[str]] = {}
        for job_id, job in sorted(self.jobs.items(), key=lambda item: _order(item[1])):
            if job.new.kind == kind and job.status is JobState.QUEUED and job.run_at <= now:
                found.setdefault(job.new.tenant_id, []).append(job_id)
        return found

    def held(self, lease: Lease, now: int) -> Expected | None:
        job = self.jobs[lease.job_id]
        return job if job.token == lease.token and job.until > now else None


def _order(job: Expected) -> tuple[int, int, int]:
    return job.new.priority, job.run_at, job.order


TO_DO = (
    "extend",
    "extend",
    "finish",
    "finish_in_a_transaction",
    "fail",
    "fail_for_now",
    "release",
    "emit",
)


class Queue(RuleBasedStateMachine):
    runner: asyncio.Runner
    database: Database
    jobs: Jobs
    names: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.model = Model()
        self.leases: list[Lease] = []

    def run_now(self, awaitable: Awaitable[Any]) -> Any:
        async def outcome() -> Any:
            return await awaitable

        return self.runner.run(outcome())

    @initialize()
    def begin(self) -> None:
        self.run_now(self._clear())
        for tenant in self.names:
            new = NewJob(kind=KINDS[0], tenant_id=tenant)
            self.run_now(self.jobs.put(new, now=self.now))
            self.model.add(new, self.now)

    async def _clear(self) -> None:
        async with self.database.write() as connection:
            await connection.execute(delete(tables.job_events))
            await connection.execute(delete(tables.jobs))

    @rule(
        tenant=st.integers(0, 2),
        kind=st.sampled_from(KINDS),
        priority=st.integers(-1, 1),
        attempts=st.integers(1, 3),
        delay=st.sampled_from([0, 0, 0, 5_000, 30_000]),
        key=st.sampled_from([None, None, "k"]),
    )
    def put(self, tenant: int, kind: str, priority: int, attempts: int, delay: int, key: str | None) -> None:
        fields: dict[str, Any] = {"kind": kind, "tenant_id": self.names[tenant], "priority": priority}
        new = NewJob(**fields, max_attempts=attempts, delay=delay / 1000, idempotency_key=key)
        there = self.model.active(new.tenant_id, key)
        job = self.run_now(self.jobs.put(new, now=self.now))
        assert job.job_id == (there or new.job_id)
        if there is None:
            self.model.add(new, self.now + delay)

    @rule(room=st.integers(1, 4))
    def lease(self, room: int) -> None:
        self.model.lapse(self.now)
        wanted = dict.fromkeys(KINDS, room)
        got = self.run_now(self.jobs.lease(wanted, worker="w", seconds=LEASE, now=self.now))
        for kind in KINDS:
            of_kind = [lease for lease in got if lease.job.kind == kind]
            self._check_turns(of_kind, self.model.claimable(kind, self.now), room)
        for lease in got:
            self._begun(lease)
        self.leases += got

    def _check_turns(self, got: list[Lease], expected: dict[str, list[str]], room: int) -> None:
        """Of each tenant the first; and nobody twice before everybody once, as far as there is room."""
        taken = {tenant: [lease for lease in got if lease.job.tenant_id == tenant] for tenant in expected}
        assert sum(len(each) for each in taken.values()) == len(got) <= room
        for tenant, leases in taken.items():
            assert {lease.job_id for lease in leases} == set(expected[tenant][: len(leases)])
        assert sum(1 for each in taken.values() if each) == min(room, len(expected))

    def _begun(self, lease: Lease) -> None:
        job = self.model.jobs[lease.job_id]
        job.change(JobState.RUNNING)
        job.attempt += 1
        job.token, job.until = lease.token, self.now + int(LEASE * 1000)
        assert (lease.job.attempt, lease.until) == (job.attempt, job.until)

    @precondition(lambda self: self.leases)
    @rule(number=st.integers(1, 4), what=st.sampled_from(TO_DO))
    def work(self, number: int, what: str) -> None:
        """With one of the last few leases, which may have ended in any way."""
        lease = self.leases[-min(number, len(self.leases))]
        getattr(self, f"_{what}")(lease, self.model.held(lease, self.now))

    @rule(seconds=st.sampled_from([1, 4, 5, 9, 10, 11, 30]))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds * 1000

    def _extend(self, lease: Lease, job: Expected | None) -> None:
        kept = self.run_now(self.jobs.extend([lease], seconds=LEASE, now=self.now))
        assert kept == ({} if job is None else {lease.job_id: job.canceling})
        if job is not None:
            job.until = self.now + int(LEASE * 1000)

    def _finish(self, lease: Lease, job: Expected | None) -> None:
        assert self.run_now(self.jobs.finish(lease, lease.token, now=self.now)) == (job is not None)
        if job is not None:
            job.change(JobState.DONE)
            job.result = f'"{lease.token}"'

    def _finish_in_a_transaction(self, lease: Lease, job: Expected | None) -> None:
        assert self.run_now(self._finishing(lease)) == (job is not None)
        if job is not None:
            job.change(JobState.DONE)
            job.result = f'"{lease.token}"'

    async def _finishing(self, lease: Lease) -> bool:
        with suppress(LeaseLost):
            async with self.jobs.finishing(lease, lease.token, now=self.now):
                pass
            return True
        return False

    def _fail(self, lease: Lease, job: Expected | None, retry_in: int | None = None) -> None:
        done = self.run_now(
            self.jobs.fail(lease, JobError(code="NO", detail="no"), retry_in=retry_in, now=self.now)
        )
        assert done == (job is not None)
        if job is None:
            return
        if retry_in is None or job.attempt >= job.new.max_attempts:
            job.change(JobState.FAILED)
        else:
            job.requeue(self.now, retry_in * 1000)

    def _fail_for_now(self, lease: Lease, job: Expected | None) -> None:
        self._fail(lease, job, 3)

    def _release(self, lease: Lease, job: Expected | None) -> None:
        """Even late, as long as nobody has noticed that the lease has run out."""
        known = self.model.jobs[lease.job_id]
        job = known if known.token == lease.token else None
        assert self.run_now(self.jobs.release(lease, now=self.now)) == (job is not None)
        if job is not None:
            job.attempt -= 1
            job.requeue(self.now)

    def _emit(self, lease: Lease, job: Expected | None) -> None:
        events = [NewEvent(JobEventType.WARNING, "one"), NewEvent(JobEventType.METRIC, "two", {"n": 2})]
        if job is None:
            with pytest.raises(LeaseLost):
                self.run_now(self.jobs.emit(lease, events, now=self.now))
        else:
            assert self.run_now(self.jobs.emit(lease, events, now=self.now)) == job.canceling
            job.events += 2

    @rule(number=st.integers(0, 20))
    def cancel(self, number: int) -> None:
        if not self.model.jobs:
            return
        job_id = list(self.model.jobs)[number % len(self.model.jobs)]
        job = self.model.jobs[job_id]
        now = self.run_now(self.jobs.cancel(job_id, now=self.now))
        if job.status is JobState.QUEUED:
            job.canceling = True
            job.change(JobState.CANCELED)
        elif job.status is JobState.RUNNING:
            job.canceling = True
        assert now.status is job.status

    @invariant()
    def the_queue_is_as_the_model_says(self) -> None:
        found = {job.job_id: job for job in self.run_now(self.jobs.list_jobs(JobFilter(), limit=1_000))}
        assert set(found) == set(self.model.jobs)
        for job_id, expected in self.model.jobs.items():
            job = found[job_id]
            assert (job.status, job.attempt, job.event_seq) == (
                expected.status,
                expected.attempt,
                expected.events,
            )
            assert (job.run_at, job.result_json) == (expected.run_at, expected.result)

    def teardown(self) -> None:
        for job_id, expected in self.model.jobs.items():
            numbers = [event.seq for event in self.run_now(self.jobs.events(job_id))]
            assert numbers == list(range(1, expected.events + 1))


async def _open(url: str) -> tuple[Database, list[str]]:
    database = open_database(url)
    await database.migrate()
    async with database.write() as connection:
        made = [await tenants.ensure_tenant(connection, f"{name}@example.com") for name in "abc"]
    return database, [tenant.id for tenant in made]


def test_any_order_of_events_leaves_the_queue_as_it_should_be(database_url: str) -> None:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        database, names = runner.run(_open(database_url))
        jobs = Jobs(database, open_wakeups(database))
        machine = type(
            "Machine", (Queue,), {"runner": runner, "database": database, "jobs": jobs, "names": names}
        )
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=30,
                    stateful_step_count=40,
                    deadline=None,
                    derandomize=True,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(jobs.close())
            runner.run(database.close())
