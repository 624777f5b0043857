"""Jobs: what the queue promises, on both databases."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import select, text, update
from sqlalchemy.exc import IntegrityError
from ulid import ULID

from gossamer.problems import FETCH_TIMEOUT, NOT_FOUND, Problem, Unavailable
from gossamer.state.db import tables
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats, job_table
from gossamer.state.jobs import job_statements as statements
from gossamer.state.jobs.job import (
    Job,
    JobError,
    JobFilter,
    JobSettlement,
    JobState,
    Lease,
    LeaseLost,
    NewJob,
    success,
)
from gossamer.state.jobs.job_events import JobEventType, NewEvent
from gossamer.state.jobs.job_retry import RetryPolicy
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import once, tenants
from gossamer.state.tenants.activity import Action, ActivityFilter, Actor, Via, list_activity
from gossamer.state.wakeups.wakeups import open_wakeups

NOW = 1_700_000_000_000
MINUTE = 60_000
LATE = JobError(code="FETCH_TIMEOUT", detail="slow")


@pytest.fixture
async def jobs(database: Database, database_url: str) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


@pytest.fixture
async def tenant(database: Database) -> str:
    return await a_tenant(database, "a@example.com")


async def a_tenant(database: Database, email: str) -> str:
    async with database.write() as connection:
        return (await tenants.ensure_tenant(connection, email)).id


async def put(jobs: Jobs, tenant: str, *, now: int | None = NOW, **fields: Any) -> Job:
    return await jobs.put(NewJob(tenant_id=tenant, **{"kind": "audit", **fields}), now=now)


async def lease(jobs: Jobs, count: int = 1, *, now: int | None = NOW, worker: str = "w") -> list[Lease]:
    return await jobs.lease({"audit": count}, worker=worker, now=now)


async def leased(jobs: Jobs, *, now: int = NOW, worker: str = "w") -> Lease:
    [only] = await lease(jobs, now=now, worker=worker)
    return only


async def now_is(jobs: Jobs, job_id: str) -> Job:
    job = await jobs.get(job_id)
    assert job is not None
    return job


async def told(jobs: Jobs, job_id: str) -> list[str]:
    return [event.message for event in await jobs.events(job_id)]


# Putting jobs in.


async def test_a_new_job_is_queued(jobs: Jobs, tenant: str) -> None:
    job = await put(jobs, tenant, payload={"url": "https://a.example/\0"}, request_id="wl_1")
    assert job == await jobs.get(job.job_id)
    assert (job.status, job.attempt, job.max_attempts, job.progress_pct) == (JobState.QUEUED, 0, 3, 0)
    assert (job.queued_at, job.run_at, job.started_at, job.finished_at) == (NOW, NOW, None, None)
    assert msgspec.json.decode(job.payload_json) == {"url": "https://a.example/\0"}
    assert (job.request_id, job.locked_by, job.cancel_requested) == ("wl_1", None, False)
    assert await told(jobs, job.job_id) == ["queued"]


async def test_a_key_is_unique_among_queued_and_running_jobs_of_a_tenant(
    jobs: Jobs, tenant: str, database: Database
) -> None:
    first = await put(jobs, tenant, idempotency_key="k", payload=1)
    assert (await put(jobs, tenant, idempotency_key="k", payload=2)) == first
    held = await leased(jobs)
    assert (await put(jobs, tenant, idempotency_key="k")).job_id == first.job_id
    others = await a_tenant(database, "b@example.com")
    assert (await put(jobs, others, idempotency_key="k")).job_id != first.job_id
    await jobs.finish(held, now=NOW)
    again = await put(jobs, tenant, idempotency_key="k")
    assert again.job_id != first.job_id
    assert await told(jobs, first.job_id) == ["queued", "running", "done"]


async def test_fifty_at_once_under_one_key_are_one_job(jobs: Jobs, tenant: str) -> None:
    made = await asyncio.gather(*(put(jobs, tenant, idempotency_key="k", now=None) for _ in range(50)))
    assert len({job.job_id for job in made}) == 1
    assert len(await jobs.list_jobs(JobFilter())) == 1


async def test_many_are_put_at_once(jobs: Jobs, tenant: str) -> None:
    there = await put(jobs, tenant, idempotency_key="there")
    keys = [None, "there", "new", "new", None]
    ids = await jobs.put_many([NewJob(kind="audit", tenant_id=tenant, idempotency_key=key) for key in keys])
    assert ids[1] == there.job_id
    assert ids[2] == ids[3]
    assert len(set(ids)) == 4
    assert {job.job_id for job in await jobs.list_jobs(JobFilter())} == set(ids)
    assert await jobs.put_many([]) == []


async def test_what_many_have_in_common_is_each_ones_own(jobs: Jobs, database: Database, tenant: str) -> None:
    others = await a_tenant(database, "b@example.com")
    common: dict[str, Any] = {"priority": 7, "max_attempts": 2, "payload": {"a": 1}, "request_id": "wl_1"}
    for fields in ({"run_at": NOW + 5}, {"idempotency_key": "k"}, {"delay": 5.0}, {"payload": None}):
        new = [NewJob(kind="audit", tenant_id=each, **{**common, **fields}) for each in (tenant, others)]
        single = await put(jobs, tenant, **{**common, **fields, "idempotency_key": None})
        for given, job_id in zip(new, await jobs.put_many(new, now=NOW), strict=True):
            key, theirs = given.idempotency_key, given.tenant_id
            expected = replace(single, job_id=given.job_id, tenant_id=theirs, idempotency_key=key)
            assert await now_is(jobs, job_id) == expected
    mixed = [NewJob(kind=kind, tenant_id=tenant, run_at=at) for kind, at in (("x", NOW + 1), ("y", None))]
    both = [await now_is(jobs, job_id) for job_id in await jobs.put_many(mixed, now=NOW)]
    assert [(job.kind, job.run_at) for job in both] == [("x", NOW + 1), ("y", NOW)]


def test_ids_of_jobs_are_ulids_in_the_order_in_which_they_are_made() -> None:
    ids = [NewJob(kind="audit", tenant_id="t").job_id for _ in range(20_000)]
    assert sorted(set(ids)) == ids
    assert [str(ULID.from_str(one)) for one in ids[::1_000]] == ids[::1_000]
    assert abs(ULID.from_str(ids[-1]).timestamp - time.time()) < 60


async def test_a_job_belongs_to_the_transaction_that_puts_it(
    jobs: Jobs, database: Database, tenant: str
) -> None:
    async def put_once(answer: bytes) -> str:
        async with database.write() as connection:
            job = await job_table.put(connection, NewJob(kind="audit", tenant_id=tenant))
            await once.remember(connection, "0" * 64, "1" * 64, answer, 60)
        return job.job_id

    first = await put_once(b"first")
    with pytest.raises(once.AlreadyDone):
        await put_once(b"second")
    assert [job.job_id for job in await jobs.list_jobs(JobFilter())] == [first]


async def test_a_tenant_must_exist(jobs: Jobs) -> None:
    with pytest.raises(IntegrityError):
        await put(jobs, str(ULID()))


# Taking them out.


async def test_a_lease_is_for_a_while_and_counts_as_an_attempt(jobs: Jobs, tenant: str) -> None:
    job = await put(jobs, tenant)
    held = await leased(jobs, worker="me")
    assert (held.job_id, held.job.attempt, held.until) == (job.job_id, 1, NOW + MINUTE)
    assert (held.job.status, held.job.locked_by, held.job.started_at) == (JobState.RUNNING, "me", NOW)
    assert await lease(jobs, now=NOW + MINUTE - 1) == []
    assert await told(jobs, job.job_id) == ["queued", "running"]


async def test_only_what_was_asked_for_is_leased(jobs: Jobs, tenant: str) -> None:
    kinds = ["audit", "render", "audit", "crawl", "render"]
    await jobs.put_many([NewJob(kind=kind, tenant_id=tenant) for kind in kinds], now=NOW)
    got = await jobs.lease({"audit": 1, "render": 5, "crawl": 0, "batch": 3}, worker="w", now=NOW)
    assert sorted(held.job.kind for held in got) == ["audit", "render", "render"]
    assert await jobs.lease({}, worker="w", now=NOW) == []


async def test_priority_goes_before_age(jobs: Jobs, tenant: str) -> None:
    late, first, soon = [
        await put(jobs, tenant, priority=priority, now=NOW + at) for priority, at in ((5, 0), (0, 1), (0, 2))
    ]
    got = [await leased(jobs, now=NOW + 10) for _ in range(3)]
    assert [held.job_id for held in got] == [first.job_id, soon.job_id, late.job_id]


@pytest.mark.parametrize("when", [{"run_at": NOW + 5_000}, {"delay": 5.0}])
async def test_a_delayed_job_waits_for_its_time(jobs: Jobs, tenant: str, when: dict[str, Any]) -> None:
    job = await put(jobs, tenant, **when)
    assert (job.status, job.run_at) == (JobState.QUEUED, NOW + 5_000)
    assert await lease(jobs, now=NOW + 4_999) == []
    assert (await leased(jobs, now=NOW + 5_000)).job_id == job.job_id
    assert await told(jobs, job.job_id) == ["queued", "running"]


async def test_tenants_take_turns(jobs: Jobs, database: Database) -> None:
    names = [await a_tenant(database, f"{name}@example.com") for name in "abc"]
    new = [NewJob(kind="audit", tenant_id=tenant) for tenant in names for _ in range(4)]
    await jobs.put_many(new, now=NOW)
    turns = [[held.job.tenant_id for held in await lease(jobs, 2)] for _ in range(6)]
    for at in range(0, 6, 3):
        assert sorted(tenant for turn in turns[at : at + 3] for tenant in turn) == sorted(names * 2)


@pytest.mark.parametrize("room", [1, 2, 10])
async def test_one_job_does_not_wait_behind_ten_thousand(jobs: Jobs, database: Database, room: int) -> None:
    many, one = sorted([await a_tenant(database, f"{name}@example.com") for name in "ab"])
    for _ in range(2):
        await jobs.put_many([NewJob(kind="audit", tenant_id=many, priority=-1) for _ in range(5_000)])
    await lease(jobs, room, now=None)
    theirs = await put(jobs, one, now=None)
    batches = [await lease(jobs, room, now=None) for _ in range(2)]
    assert theirs.job_id in [held.job_id for batch in batches for held in batch]
    assert [len(batch) for batch in batches] == [room, room]


async def test_every_tenant_of_many_has_its_turn(jobs: Jobs, database: Database) -> None:
    many = await a_tenant(database, "many@example.com")
    others = [await a_tenant(database, f"{number}@example.com") for number in range(50)]
    await jobs.put_many([NewJob(kind="audit", tenant_id=tenant) for tenant in [many] * 500 + others])
    got = [held.job.tenant_id for _ in range(6) for held in await lease(jobs, 10, now=None)]
    assert set(others) <= set(got)


async def test_a_claim_reads_few_of_many_rows(jobs: Jobs, database: Database, tenant: str) -> None:
    await jobs.put_many([NewJob(kind="audit", tenant_id=tenant) for _ in range(5_000)])
    async with database.write() as connection:
        if database.dialect == "postgresql":
            await statements.claim(connection, [("audit", 10, "")], "w", "0" * 32, 1_000, None)
            read = "SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'jobs'"
            assert sum((await connection.execute(text(read))).one()) < 100
        else:
            explain = f"EXPLAIN QUERY PLAN {statements.CLAIM_S}"
            plan = str((await connection.exec_driver_sql(explain, (None, "[]", 1, "", "", 1))).all())
            assert plan.count("SEARCH jobs USING INDEX ix_jobs_claimable (") == 3
            assert "SCAN jobs" not in plan


async def test_racing_for_jobs_each_is_leased_once(jobs: Jobs, tenant: str) -> None:
    ids = await jobs.put_many([NewJob(kind="audit", tenant_id=tenant) for _ in range(200)])
    got: list[str] = []

    async def take() -> None:
        while batch := await lease(jobs, 7, now=None):
            got.extend(held.job_id for held in batch)

    await asyncio.gather(*(take() for _ in range(4)))
    assert sorted(got) == sorted(ids)


# Leases end.


async def test_a_lease_that_ran_out_is_given_to_another(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    first = await leased(jobs)
    second = await leased(jobs, now=NOW + MINUTE, worker="other")
    assert (second.job_id, second.job.attempt) == (first.job_id, 2)
    assert second.token != first.token
    assert await told(jobs, first.job_id) == [
        "queued",
        "running",
        "queued: LEASE_EXPIRED: the worker w was not heard from in time",
        "running",
    ]


async def test_who_lost_the_lease_can_change_nothing(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    late = await leased(jobs)
    winner = await leased(jobs, now=NOW + MINUTE, worker="other")
    await refused(jobs, late, NOW + MINUTE + 1)
    assert not await jobs.release(late, now=NOW + MINUTE + 1)
    assert await jobs.finish(winner, "mine", now=NOW + MINUTE + 2)
    assert (await now_is(jobs, late.job_id)).result_json == '"mine"'


async def test_a_lease_ends_by_the_clock_even_if_nobody_else_wants_it(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    late = await leased(jobs)
    await refused(jobs, late, NOW + MINUTE)
    # To give it back is no harm: nothing was written about it, and nobody has it.
    assert await jobs.release(late, now=NOW + MINUTE)


async def refused(jobs: Jobs, late: Lease, now: int) -> None:
    before = await now_is(jobs, late.job_id)
    assert not await jobs.finish(late, "late", now=now)
    assert not await jobs.fail(late, LATE, now=now)
    assert not await jobs.fail(late, LATE, retry_in=1, now=now)
    assert await jobs.extend([late], now=now) == {}
    with pytest.raises(LeaseLost):
        await jobs.emit(late, [NewEvent(JobEventType.WARNING, "late")], now=now)
    with pytest.raises(LeaseLost):
        async with jobs.finishing(late, now=now):
            pytest.fail("it must not begin")
    assert await now_is(jobs, late.job_id) == before


async def test_a_lease_is_extended(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    assert await jobs.extend([held], now=NOW + MINUTE - 1) == {held.job_id: False}
    assert await lease(jobs, now=NOW + MINUTE) == []
    assert await jobs.finish(held, now=NOW + 2 * MINUTE - 2)


async def test_a_poison_job_ends_as_failed(jobs: Jobs, tenant: str) -> None:
    """It kills whoever works on it, so nobody ever says that it failed."""
    job = await put(jobs, tenant, max_attempts=2)
    await leased(jobs)
    await leased(jobs, now=NOW + MINUTE)
    assert await lease(jobs, now=NOW + 2 * MINUTE) == []
    ended = await now_is(jobs, job.job_id)
    assert (ended.status, ended.attempt, ended.finished_at) == (JobState.FAILED, 2, NOW + 2 * MINUTE)
    assert str(ended.last_error) == (
        "LEASE_EXPIRED: the worker w was not heard from in time, in the last of 2 attempts"
    )
    assert (await told(jobs, job.job_id))[-1].startswith("failed: LEASE_EXPIRED")


# Working on them.


async def test_finishing(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    assert await jobs.finish(held, {"score": 7}, now=NOW + 5)
    done = await now_is(jobs, held.job_id)
    assert (done.status, done.result_json, done.progress_pct) == (JobState.DONE, '{"score":7}', 100)
    assert (done.finished_at, done.locked_until, done.locked_by) == (NOW + 5, None, None)
    assert not await jobs.finish(held, now=NOW + 6)


async def test_settling_many_at_once(jobs: Jobs, tenant: str) -> None:
    await jobs.put_many([NewJob(kind="audit", tenant_id=tenant) for _ in range(5)], now=NOW)
    held = await lease(jobs, 5)
    stale = dataclasses.replace(held[4], token="0" * 32)
    settled = await jobs.settle(
        [
            success(held[0], 1),
            JobSettlement(lease=held[1], status=JobState.FAILED, error=LATE),
            JobSettlement(lease=held[2], status=JobState.QUEUED, delay=1.5, error=LATE),
            JobSettlement(lease=held[3], status=JobState.CANCELED),
            JobSettlement(lease=stale, status=JobState.DONE),
        ],
        now=NOW + 1,
    )
    states = (JobState.DONE, JobState.FAILED, JobState.QUEUED, JobState.CANCELED)
    assert settled == {held[at].job_id: state for at, state in enumerate(states)}
    assert (await now_is(jobs, held[2].job_id)).run_at == NOW + 1_501
    assert (await now_is(jobs, held[4].job_id)).status is JobState.RUNNING


async def test_what_is_written_while_finishing_is_written_once(
    jobs: Jobs, database: Database, tenant: str
) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)

    async def finish(name: str, *, fail: bool = False) -> None:
        async with jobs.finishing(held, "result", now=NOW) as connection:
            mine = update(tables.tenants).where(tables.tenants.c.id == tenant)
            await connection.execute(mine.values(name=tables.tenants.c.name + name))
            if fail:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        await finish("x", fail=True)
    await finish("y")
    with pytest.raises(LeaseLost):
        await finish("z")
    async with database.read() as connection:
        named = select(tables.tenants.c.name).where(tables.tenants.c.id == tenant)
        assert await connection.scalar(named) == "y"
    assert (await now_is(jobs, held.job_id)).result_json == '"result"'


async def test_failing_for_good(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    secret = Problem(NOT_FOUND, "password=hunter2 \0 \ud800")
    assert await jobs.fail(held, JobError.of(secret), now=NOW + 1)
    failed = await now_is(jobs, held.job_id)
    assert (failed.status, failed.finished_at) == (JobState.FAILED, NOW + 1)
    assert str(failed.last_error) == r"NOT_FOUND: password=[REDACTED] \0 \ud800"
    assert (await told(jobs, held.job_id))[-1] == f"failed: {failed.last_error}"


async def test_an_error_is_kept_as_values(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    raised = Problem(
        FETCH_TIMEOUT, "slow", details={"reason": "whole_timeout", "token": "\0x", "parts": [1], "count": 2}
    )
    raised.label = "whole_timeout/load"
    assert await jobs.fail(held, JobError.of(raised), now=NOW + 1)
    error = (await now_is(jobs, held.job_id)).last_error
    assert error is not None
    assert (error.code, error.reason, error.detail) == ("FETCH_TIMEOUT", "whole_timeout", "slow")
    assert error.details == {"reason": "whole_timeout", "token": "[REDACTED]", "count": 2}
    assert str(error) == "FETCH_TIMEOUT: whole_timeout/load: slow"
    assert (await told(jobs, held.job_id))[-1] == f"failed: {error}"


async def test_failing_until_the_attempts_are_used_up(jobs: Jobs, tenant: str) -> None:
    job = await put(jobs, tenant)
    now = NOW
    for attempt in (1, 2, 3):
        held = await leased(jobs, now=now)
        assert held.job.attempt == attempt
        assert await jobs.fail(held, LATE, retry_in=2.0, now=now)
        assert await lease(jobs, now=now + 1_999) == []
        now += 2_000
    assert (await now_is(jobs, job.job_id)).status is JobState.FAILED
    assert await lease(jobs, now=now + MINUTE) == []


async def test_a_released_job_has_lost_no_attempt(jobs: Jobs, tenant: str) -> None:
    job = await put(jobs, tenant, max_attempts=1)
    for _ in range(3):
        assert await jobs.release(await leased(jobs), now=NOW + 1)
    assert (await now_is(jobs, job.job_id)).attempt == 0
    assert (await leased(jobs, now=NOW + 1)).job_id == job.job_id


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (Problem(FETCH_TIMEOUT, "slow"), True),
        (Unavailable("database", "away"), True),
        (Problem(NOT_FOUND, "none"), False),
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (ValueError("a defect"), False),
    ],
)
def test_which_errors_pass(error: Exception, transient: bool) -> None:
    assert RetryPolicy().is_transient(error) is transient
    assert (RetryPolicy().pause(error, 1, lambda: 0.0) is not None) is transient


def test_pauses_grow_with_jitter_and_have_an_end() -> None:
    policy, error = RetryPolicy(longest=60.0), Problem(FETCH_TIMEOUT, "slow")
    assert [policy.pause(error, attempt, lambda: 0.0) for attempt in range(1, 8)] == [2, 4, 8, 16, 32, 60, 60]
    assert policy.pause(error, 2, lambda: 1.0) == 6.0
    assert policy.pause(Problem(FETCH_TIMEOUT, "slow", retryAfter=90), 1, lambda: 0.0) == 90.0


def test_a_kind_of_job_may_see_errors_its_own_way() -> None:
    policy = RetryPolicy(transient=frozenset({"NOT_FOUND"}), permanent=frozenset({"FETCH_TIMEOUT"}))
    assert policy.is_transient(Problem(NOT_FOUND, "not yet"))
    assert not policy.is_transient(Problem(FETCH_TIMEOUT, "slow"))


# Telling about them.


async def test_events_are_numbered_and_redacted(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    assert not await jobs.emit(
        held,
        [
            NewEvent(JobEventType.STEP_STARTED, "fetch", progress_pct=10),
            NewEvent(
                JobEventType.METRIC, "sizes", {"bytes": 5, "authorization": "Bearer abcdefgh", "t": "\ud800"}
            ),
            NewEvent(JobEventType.STEP_DONE, "fetch with token=abc", progress_pct=150),
        ],
        now=NOW + 7,
    )
    events = await jobs.events(held.job_id, after_seq=2)
    assert [event.seq for event in events] == [3, 4, 5]
    assert events[0].event_id == f"{held.job_id}-3"
    assert [event.progress_pct for event in events] == [10, None, 100]
    assert events[2].message == "fetch with token=[REDACTED]"
    assert "abcdefgh" not in (events[1].data_json or "")
    assert {event.created_at for event in events} == {NOW + 7}
    assert (await now_is(jobs, held.job_id)).progress_pct == 100
    assert [event.seq for event in await jobs.events(held.job_id, limit=2)] == [1, 2]


async def test_changes_say_what_they_are(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    running = (await jobs.events(held.job_id))[1]
    assert running.type is JobEventType.STATUS_CHANGED
    assert msgspec.json.decode(running.data_json or "") == {"status": "running", "attempt": 1}


async def test_only_what_the_jobs_own_row_does_not_tell_is_a_row(
    jobs: Jobs, database: Database, tenant: str
) -> None:
    job = await put(jobs, tenant)
    await jobs.release(await leased(jobs, now=NOW + 1), now=NOW + 2)
    await jobs.fail(await leased(jobs, now=NOW + 3), LATE, retry_in=1, now=NOW + 4)
    await jobs.finish(await leased(jobs, now=NOW + 2_000), now=NOW + 2_001)
    events = await jobs.events(job.job_id)
    assert [(event.seq, event.message, event.created_at - NOW, event.progress_pct) for event in events] == [
        (1, "queued", 0, 0),
        (2, "running", 1, 0),
        (3, "queued", 2, 0),
        (4, "running", 3, 0),
        (5, "queued: FETCH_TIMEOUT: slow", 4, 0),
        (6, "running", 2_000, 0),
        (7, "done", 2_001, 100),
    ]
    attempts = [msgspec.json.decode(event.data_json or "")["attempt"] for event in events]
    assert attempts == [0, 1, 0, 1, 1, 2, 2]
    assert [event.seq for event in await jobs.events(job.job_id, after_seq=5)] == [6, 7]
    async with database.read() as connection:
        rows = await connection.scalars(select(tables.job_events.c.seq).order_by(tables.job_events.c.seq))
        assert rows.all() == [3, 4, 5, 6]


async def test_too_much_data_is_said_to_be_too_much(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    await jobs.emit(held, [NewEvent(JobEventType.METRIC, "m" * 5_000, "x" * 100_000)], now=NOW)
    event = (await jobs.events(held.job_id))[-1]
    assert (len(event.message), event.data_json) == (2_000, '{"truncated":100002}')


# Cancelling them.


async def test_a_queued_job_is_canceled_at_once(jobs: Jobs, tenant: str) -> None:
    for delay in (0.0, 60.0):
        job = await put(jobs, tenant, delay=delay)
        canceled = await jobs.cancel(job.job_id, now=NOW + 1)
        assert canceled is not None
        assert (canceled.status, canceled.finished_at) == (JobState.CANCELED, NOW + 1)
        assert await told(jobs, job.job_id) == ["queued", "canceled"]
    assert await lease(jobs, now=NOW + 2 * MINUTE) == []


async def test_a_running_job_is_told(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    canceled = await jobs.cancel(held.job_id, now=NOW + 1)
    assert canceled is not None
    assert (canceled.status, canceled.cancel_requested) == (JobState.RUNNING, True)
    assert await jobs.find_canceled([held.job_id]) == {held.job_id}
    assert await jobs.extend([held], now=NOW + 2) == {held.job_id: True}
    assert await jobs.emit(held, [NewEvent(JobEventType.WARNING, "stopping")], now=NOW + 3)


async def test_who_asks_for_what_is_being_canceled_gets_a_job_of_their_own(jobs: Jobs, tenant: str) -> None:
    first = await put(jobs, tenant, idempotency_key="k")
    held = await leased(jobs)
    await jobs.cancel(first.job_id, now=NOW + 1)
    second = await put(jobs, tenant, idempotency_key="k")
    assert second.job_id != first.job_id
    assert (await put(jobs, tenant, idempotency_key="k")).job_id == second.job_id
    await jobs.release(held, now=NOW + 2)  # which is canceled then, and no second one under the key
    assert (await now_is(jobs, first.job_id)).status is JobState.CANCELED


@pytest.mark.parametrize("how", ["release", "fail", "lapse"])
async def test_what_is_to_be_canceled_does_not_go_back_to_the_queue(
    jobs: Jobs, tenant: str, how: str
) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    await jobs.cancel(held.job_id, now=NOW)
    if how == "release":
        await jobs.release(held, now=NOW + 1)
    elif how == "fail":
        await jobs.fail(held, LATE, retry_in=5, now=NOW + 1)
    assert await lease(jobs, now=NOW + 2 * MINUTE) == []
    assert (await now_is(jobs, held.job_id)).status is JobState.CANCELED


async def test_what_is_over_stays_as_it_is(jobs: Jobs, tenant: str) -> None:
    await put(jobs, tenant)
    held = await leased(jobs)
    await jobs.finish(held, now=NOW)
    assert await jobs.cancel(held.job_id) == await jobs.get(held.job_id)
    assert await jobs.cancel(str(ULID())) is None


async def test_the_first_cancelling_is_recorded_with_its_author(
    jobs: Jobs, database: Database, tenant: str
) -> None:
    by = Actor("01KEY", "sk_live_a...", Via.KEY, "127.0.0.9", "wl_1")
    await put(jobs, tenant)
    held = await leased(jobs)
    for _ in range(2):  # a running job may be asked again
        canceled = await jobs.cancel(held.job_id, by=by, now=NOW + 1)
        assert canceled is not None
        assert canceled.cancel_requested
    await jobs.finish(held, now=NOW + 2)
    over = await jobs.cancel(held.job_id, by=by)
    assert over == await jobs.get(held.job_id)
    assert await jobs.cancel(str(ULID()), by=by) is None
    async with database.read() as connection:
        entries = await list_activity(connection, ActivityFilter(tenant_id=tenant))
    assert [(entry.action, entry.subject, entry.actor, entry.at) for entry in entries] == [
        (Action.JOB_CANCELED, held.job_id, by, NOW + 1)
    ]


# Looking at them.


async def test_listing_pages_through_own_jobs(jobs: Jobs, database: Database, tenant: str) -> None:
    others = await a_tenant(database, "b@example.com")
    ids = sorted(await jobs.put_many([NewJob(kind="audit", tenant_id=tenant) for _ in range(5)]))
    await put(jobs, others)
    await put(jobs, tenant, kind="render")
    await jobs.cancel(ids[0])
    mine = JobFilter(tenant_id=tenant, kind="audit")
    first = await jobs.list_jobs(mine, limit=3)
    second = await jobs.list_jobs(mine, before=first[-1].job_id, limit=3)
    assert [job.job_id for job in [*first, *second]] == ids[::-1]
    assert [job.job_id for job in await jobs.list_jobs(replace(mine, status=JobState.CANCELED))] == ids[:1]
    assert len(await jobs.list_jobs(JobFilter())) == 7


async def test_how_deep_the_queue_is(jobs: Jobs, tenant: str) -> None:
    for at in (0, 4_000, 5_000):
        await put(jobs, tenant, now=NOW + at)
    await put(jobs, tenant, kind="render", delay=100.0)
    await leased(jobs, now=NOW + 5_000)
    depths = {(depth.kind, depth.status): depth for depth in await jobs.depths(now=NOW + 6_000)}
    assert set(depths) == {("audit", JobState.QUEUED), ("audit", JobState.RUNNING)}
    assert (depths["audit", JobState.QUEUED].count, depths["audit", JobState.QUEUED].oldest_seconds) == (
        2,
        2.0,
    )
    assert depths["audit", JobState.RUNNING].oldest_seconds == 1.0


async def test_the_old_is_forgotten(jobs: Jobs, tenant: str) -> None:
    over, running, queued = [await put(jobs, tenant, now=None) for _ in range(3)]
    await jobs.cancel(over.job_id)
    await jobs.lease({"audit": 1}, worker="w")
    later = over.queued_at + 31 * 86_400_000
    assert await jobs.forget_old(now=later - 2 * 86_400_000) == 0
    assert await jobs.forget_old(now=later) == 1
    assert await jobs.forget_old(now=later) == 0
    assert {job.job_id for job in await jobs.list_jobs(JobFilter())} == {running.job_id, queued.job_id}
    assert await jobs.events(over.job_id) == []


async def test_heartbeats(database: Database) -> None:
    async with database.write() as connection:
        await heartbeats.beat(connection, "a", ["render", "audit"], 1, now=NOW)
        await heartbeats.beat(connection, "b", ["audit"], 0, now=NOW)
        await heartbeats.beat(connection, "a", ["audit"], 2, now=NOW + 30_000)
        alive = await heartbeats.alive(connection, now=NOW + 50_000)
        assert [(each.name, each.kinds, each.running) for each in alive] == [("a", ("audit",), 2)]
        assert (alive[0].started_at, alive[0].seen_at) == (NOW, NOW + 30_000)
        assert await heartbeats.forget_dead(connection, now=NOW + 86_400_000) == 1
        await heartbeats.leave(connection, "a")
        assert await heartbeats.alive(connection, now=NOW) == []
