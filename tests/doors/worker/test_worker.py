"""The worker: what it does with jobs, and what happens to them when it is killed, frozen or cut off."""

import asyncio
import contextlib
import io
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, event, text
from tests.doors.worker.worker_process import (
    KIND,
    PATIENCE,
    Options,
    WorkerProcess,
    lapse,
    make_effects,
)
from tests.servers.postgres import PostgresServer
from tests.soak.jobs import freeze_alone, storm

from gossamer.doors.worker import worker as worker_module
from gossamer.doors.worker.work import Canceled, Handler, Work
from gossamer.doors.worker.worker import Worker
from gossamer.observe.logs import Log
from gossamer.problems import FETCH_TIMEOUT, NOT_FOUND, Busy, Problem, Unavailable
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.postgres import PostgresDatabase
from gossamer.state.jobs import heartbeats, job_retry
from gossamer.state.jobs.job import Job, JobError, JobFilter, JobState, NewJob
from gossamer.state.jobs.job_retry import MAX_OUTAGE_SECONDS, RetryPolicy
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import POLL_SECONDS, open_wakeups

QUICK = RetryPolicy(first=0.01)


class Task(msgspec.Struct):
    text: str = ""


@pytest.fixture
async def jobs(database: Database, database_url: str) -> AsyncIterator[Jobs]:
    jobs = Jobs(database, open_wakeups(database))
    yield jobs
    await jobs.close()


@pytest.fixture
async def tenant(database: Database) -> str:
    async with database.write() as connection:
        return (await tenants.ensure_tenant(connection, "a@example.com")).id


class Telling:
    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def job(self, _kind: str, outcome: str, _seconds: float) -> None:
        self.outcomes.append(outcome)


Run = Callable[[Work[Task]], Awaitable[Any]]


def handler(run: Run, **fields: Any) -> Handler[Task]:
    return Handler(run=run, payload=Task, **{"policy": QUICK, **fields})


@asynccontextmanager
async def working(
    jobs: Jobs, does: Mapping[str, Handler[Any]] | Run, **fields: Any
) -> AsyncIterator[Telling]:
    """A worker, until the end of the block; then it is stopped as by SIGTERM."""
    telling, stop = Telling(), asyncio.Event()
    given = does if isinstance(does, Mapping) else {KIND: handler(does)}
    fields = {"name": "w", "lease_seconds": 12.0, "stop_seconds": 0.1, "log": Log(io.StringIO()), **fields}
    worker = Worker(jobs, given, metrics=telling, **fields)
    task = asyncio.create_task(worker.run(stop))
    try:
        yield telling
    finally:
        stop.set()
        await asyncio.wait_for(task, PATIENCE)


async def alive(database: Database) -> list[Any]:
    async with database.read() as connection:
        return list(await heartbeats.alive(connection))


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = PATIENCE) -> Any:
    """What the condition answers as soon as it is true of something."""
    async with asyncio.timeout(seconds):
        while not (answer := await condition()):
            await asyncio.sleep(0.02)
        return answer


async def put(jobs: Jobs, tenant: str, payload: Any = None, **fields: Any) -> str:
    new = NewJob(kind=KIND, tenant_id=tenant, payload=payload or {}, **fields)
    return (await jobs.put(new)).job_id


async def over(jobs: Jobs, job_id: str) -> Job:
    async def ended() -> Job | None:
        job = await jobs.get(job_id)
        return job if job is not None and job.status.is_over else None

    job: Job = await until(ended)
    return job


async def in_state(jobs: Jobs, job_id: str, state: JobState) -> Job:
    async def found() -> Job | None:
        job = await jobs.get(job_id)
        return job if job is not None and job.status is state else None

    job: Job = await until(found)
    return job


async def told(jobs: Jobs, job_id: str) -> list[str]:
    return [f"{event.type} {event.message}" for event in await jobs.events(job_id)]


# Doing.


async def test_what_a_handler_returns_is_the_result(jobs: Jobs, tenant: str) -> None:
    async def run(work: Work[Task]) -> dict[str, str]:
        await work.step("reading", 10)
        await work.metric("size", {"bytes": 3})
        await work.step("writing", 60)
        await work.warn("nearly done")
        return {"said": work.payload.text}

    job_id = await put(jobs, tenant, {"text": "hello"})
    async with working(jobs, run):
        job = await over(jobs, job_id)
    assert (job.status, job.result_json, job.progress_pct) == (JobState.DONE, '{"said":"hello"}', 100)
    assert await told(jobs, job_id) == [
        "status_changed queued",
        "status_changed running",
        "step_started reading",
        "metric size",
        "step_done reading",
        "step_started writing",
        "warning nearly done",
        "step_done writing",
        "status_changed done",
    ]


async def test_a_transient_error_is_tried_again_until_it_is_too_often(jobs: Jobs, tenant: str) -> None:
    async def run(work: Work[Task]) -> str:
        if work.payload.text == "always" or work.job.attempt < 3:
            raise Problem(FETCH_TIMEOUT, "slow")
        return "at last"

    once_more, hopeless = await put(jobs, tenant), await put(jobs, tenant, {"text": "always"})
    async with working(jobs, run):
        done, failed = await over(jobs, once_more), await over(jobs, hopeless)
    assert (done.status, done.attempt, done.last_error) == (JobState.DONE, 3, None)
    assert (failed.status, failed.attempt, str(failed.last_error)) == (
        JobState.FAILED,
        3,
        "FETCH_TIMEOUT: slow",
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Problem(NOT_FOUND, "no such page"), "NOT_FOUND: no such page"),
        (ValueError("token=abc is odd"), "INTERNAL_ERROR: ValueError: token=[REDACTED] is odd"),
    ],
)
async def test_a_permanent_error_is_the_end(jobs: Jobs, tenant: str, error: Exception, reason: str) -> None:
    async def run(_work: Work[Task]) -> None:
        raise error

    job_id = await put(jobs, tenant)
    async with working(jobs, run):
        job = await over(jobs, job_id)
    assert (job.status, job.attempt, str(job.last_error)) == (JobState.FAILED, 1, reason)


@pytest.mark.parametrize("payload", ["{", '{"text": 5}', "\\u0000", "[" * 5_000])
async def test_an_undecodable_payload_is_the_end(
    jobs: Jobs, database: Database, tenant: str, payload: str
) -> None:
    async def run(_work: Work[Task]) -> None:
        pytest.fail("it must not run")

    job_id = await put(jobs, tenant, delay=60)
    async with database.write() as connection:
        await connection.execute(
            text("UPDATE jobs SET payload_json = :payload, locked_until = NULL"), {"payload": payload}
        )
    async with working(jobs, run):
        job = await over(jobs, job_id)
    assert (job.status, job.attempt) == (JobState.FAILED, 1)
    assert str(job.last_error).startswith("VALIDATION_ERROR: The payload cannot be decoded: ")


async def test_a_result_that_is_no_json_is_the_end(jobs: Jobs, tenant: str) -> None:
    async def run(_work: Work[Task]) -> object:
        return object()

    job_id = await put(jobs, tenant)
    async with working(jobs, run):
        assert (await over(jobs, job_id)).status is JobState.FAILED


async def test_each_kind_has_its_own_concurrency(jobs: Jobs, tenant: str) -> None:
    running, most = {"one": 0, "three": 0}, {"one": 0, "three": 0}

    async def run(work: Work[Task]) -> None:
        kind = work.job.kind
        running[kind] += 1
        most[kind] = max(most[kind], running[kind])
        await asyncio.sleep(0.02)
        running[kind] -= 1

    ids = await jobs.put_many(
        [NewJob(kind=kind, tenant_id=tenant, payload={}) for kind in most for _ in range(9)]
    )
    async with working(jobs, {"one": handler(run, concurrency=1), "three": handler(run, concurrency=3)}):
        assert {(await over(jobs, job_id)).status for job_id in ids} == {JobState.DONE}
    assert most == {"one": 1, "three": 3}


# Keeping.


async def test_a_lease_is_renewed_while_the_work_goes_on(jobs: Jobs, tenant: str, database_url: str) -> None:
    ends: list[int] = []

    async def run(work: Work[Task]) -> None:
        while len(set(ends)) < 3:
            job = await jobs.get(work.job.job_id)
            ends.append((job and job.locked_until) or 0)
            await asyncio.sleep(0.05)

    job_id = await put(jobs, tenant)
    async with working(jobs, run, lease_seconds=6.0), working(jobs, run, name="other", lease_seconds=6.0):
        job = await over(jobs, job_id)
    assert ends == sorted(ends)
    assert (job.status, job.attempt) == (JobState.DONE, 1)


async def test_work_whose_lease_is_lost_is_ended_and_changes_nothing(
    jobs: Jobs, database: Database, tenant: str
) -> None:
    ended = asyncio.Event()

    async def run(_work: Work[Task]) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    job_id = await put(jobs, tenant)
    async with working(jobs, run, lease_seconds=1.0) as telling:
        await in_state(jobs, job_id, JobState.RUNNING)
        async with database.write() as connection:
            await connection.execute(text("UPDATE jobs SET lease_token = 'anothers', locked_until = 9e15"))
        await asyncio.wait_for(ended.wait(), PATIENCE)
        await until(lambda: _true(telling.outcomes == ["lost"]))
    job = await jobs.get(job_id)
    assert job is not None
    assert (job.status, job.attempt) == (JobState.RUNNING, 1)


async def _true(answer: bool) -> bool:
    return answer


async def test_a_running_job_is_canceled_at_its_next_step(jobs: Jobs, tenant: str) -> None:
    async def run(work: Work[Task]) -> None:
        for number in range(1_000):
            await work.step(f"part {number}")
            await asyncio.sleep(0.05)

    job_id = await put(jobs, tenant)
    async with working(jobs, run):
        await in_state(jobs, job_id, JobState.RUNNING)
        await jobs.cancel(job_id)
        assert (await over(jobs, job_id)).status is JobState.CANCELED


async def test_work_that_does_not_notice_is_interrupted(jobs: Jobs, tenant: str) -> None:
    async def run(_work: Work[Task]) -> None:
        await asyncio.sleep(60)

    job_id = await put(jobs, tenant)
    async with working(jobs, run, cancel_seconds=0.2):
        await in_state(jobs, job_id, JobState.RUNNING)
        await jobs.cancel(job_id)
        assert (await over(jobs, job_id)).status is JobState.CANCELED


async def test_work_that_is_interrupted_has_time_to_tidy_up(jobs: Jobs, tenant: str) -> None:
    tidied: list[str] = []

    async def run(work: Work[Task]) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.5)  # several rounds of keeping
            tidied.append(work.job.job_id)

    job_id = await put(jobs, tenant)
    async with working(jobs, run, cancel_seconds=0.0, lease_seconds=0.6):
        await in_state(jobs, job_id, JobState.RUNNING)
        await jobs.cancel(job_id)
        await over(jobs, job_id)
    assert tidied == [job_id]


async def test_work_may_finish_although_it_was_to_be_canceled(jobs: Jobs, tenant: str) -> None:
    async def run(work: Work[Task]) -> str:
        with contextlib.suppress(Canceled):
            while True:
                await work.step("on and on")
                await asyncio.sleep(0.02)
        return "what there is"

    job_id = await put(jobs, tenant)
    async with working(jobs, run):
        await in_state(jobs, job_id, JobState.RUNNING)
        await jobs.cancel(job_id)
        assert (await over(jobs, job_id)).status is JobState.DONE


async def test_a_stopping_worker_gives_its_jobs_back(jobs: Jobs, database: Database, tenant: str) -> None:
    async def run(_work: Work[Task]) -> None:
        await asyncio.sleep(60)

    ids = [await put(jobs, tenant) for _ in range(3)]
    async with working(jobs, run):
        for job_id in ids:
            await in_state(jobs, job_id, JobState.RUNNING)
        [worker] = await until(lambda: alive(database))
        assert (worker.name, worker.kinds) == ("w", (KIND,))
    for job_id in ids:
        job = await jobs.get(job_id)
        assert job is not None
        assert (job.status, job.attempt, job.locked_until) == (JobState.QUEUED, 0, None)
    async with database.read() as connection:
        assert await heartbeats.alive(connection) == []


@pytest.mark.parametrize("stubborn", ["raises", "stays"])
async def test_work_that_takes_its_interruption_badly_spends_no_attempt(
    jobs: Jobs, tenant: str, stubborn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "GIVE_BACK_SECONDS", 0.5)
    over = asyncio.Event()

    async def run(_work: Work[Task]) -> None:
        try:
            await over.wait()
        except asyncio.CancelledError:
            if stubborn == "raises":
                raise RuntimeError("something was closed under it") from None
            await over.wait()

    job_id = await put(jobs, tenant)
    async with working(jobs, run):
        await in_state(jobs, job_id, JobState.RUNNING)
    job = await jobs.get(job_id)
    assert job is not None
    assert (job.status, job.attempt, job.locked_until) == (JobState.QUEUED, 0, None)


async def test_a_stopping_worker_lets_short_work_end(jobs: Jobs, tenant: str) -> None:
    async def run(_work: Work[Task]) -> None:
        await asyncio.sleep(0.2)

    job_id = await put(jobs, tenant)
    async with working(jobs, run, stop_seconds=5.0):
        await in_state(jobs, job_id, JobState.RUNNING)
    job = await jobs.get(job_id)
    assert job is not None
    assert job.status is JobState.DONE


# Waking up.


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """Everything that is asked of databases, and what is asked of this one straight through the driver."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    if isinstance(database, PostgresDatabase):
        assert database._alone._idle
        for connection in database._alone._idle:
            connection.add_query_logger(lambda query: asked.append(query.query))
    yield asked
    event.remove(Engine, "before_cursor_execute", note)


async def test_an_idle_worker_asks_nothing_and_wakes_at_once(
    jobs: Jobs, tenant: str, database_url: str
) -> None:
    began: list[float] = []

    async def run(_work: Work[Task]) -> None:
        began.append(time.monotonic())

    elsewhere = open_database(database_url)
    others = Jobs(elsewhere, open_wakeups(elsewhere))  # as in another process: no signal leads here
    async with working(jobs, run):
        await over(jobs, await put(jobs, tenant))
        with statements(jobs.database) as asked:
            await asyncio.sleep(1.0)
        assert len(asked) <= 2  # a look after its own last write
        waits = []
        for _ in range(3):
            put_at = time.monotonic()
            await over(jobs, await put(others, tenant))
            waits.append(began[-1] - put_at)
    await elsewhere.close()
    assert min(waits) < 5  # and not at the next poll


@pytest.mark.parametrize("how", ["release", "fail"])
async def test_what_another_gives_back_is_begun_at_once(
    jobs: Jobs, tenant: str, database_url: str, how: str
) -> None:
    async def run(_work: Work[Task]) -> None:
        pass

    elsewhere = open_database(database_url)
    others = Jobs(elsewhere, open_wakeups(elsewhere))
    job_id = await put(others, tenant)
    [lease] = await others.lease({KIND: 1}, worker="other")
    async with working(jobs, run):
        await over(jobs, await put(jobs, tenant))  # it is up, and has nothing left to do
        error = JobError(code="NO", detail="no")
        given_back = others.release(lease) if how == "release" else others.fail(lease, error, retry_in=0.0)
        assert await given_back
        async with asyncio.timeout(POLL_SECONDS / 2):
            await over(jobs, job_id)
    await elsewhere.close()


async def test_a_delayed_job_begins_in_time(jobs: Jobs, tenant: str) -> None:
    began: list[float] = []

    async def run(_work: Work[Task]) -> None:
        began.append(time.monotonic())

    async with working(jobs, run):
        await over(jobs, await put(jobs, tenant))
        put_at = time.monotonic()
        with statements(jobs.database) as asked:
            await over(jobs, await put(jobs, tenant, delay=0.5))
    assert 0.5 <= began[-1] - put_at < POLL_SECONDS / 2
    assert sum("WITH RECURSIVE" in statement for statement in asked) <= 4  # claims


# Faults.

Spawn = Callable[..., WorkerProcess]


@pytest.fixture
async def spawn(database: Database, database_url: str) -> AsyncIterator[Spawn]:
    """Starts a worker that is a process of its own."""
    await make_effects(database)
    started: list[WorkerProcess] = []

    def start(name: str, **options: Any) -> WorkerProcess:
        started.append(WorkerProcess(Options(database_url, name, **options)))
        assert started[-1].line() == "ready"
        return started[-1]

    yield start
    for process in started:
        process.kill()


async def effects(database: Database) -> list[tuple[str, str, int]]:
    async with database.read() as connection:
        rows = await connection.execute(text("SELECT job_id, worker, attempt FROM effects ORDER BY job_id"))
        return [(row[0], row[1], row[2]) for row in rows]


async def test_a_job_of_a_killed_worker_is_finished_by_another_once(
    jobs: Jobs, database: Database, tenant: str, spawn: Spawn
) -> None:
    job_id = await put(jobs, tenant)
    victim = spawn("victim", holds=True)
    assert victim.line() == f"began {job_id}"
    victim.kill()
    assert await lapse(database, "victim")
    spawn("other")
    job = await over(jobs, job_id)
    assert (job.status, job.attempt) == (JobState.DONE, 2)
    assert await effects(database) == [(job_id, "other", 2)]


async def test_what_a_frozen_worker_writes_after_its_lease_is_refused(
    jobs: Jobs, database: Database, database_url: str, tenant: str, spawn: Spawn
) -> None:
    job_id = await put(jobs, tenant)
    frozen = spawn("frozen", holds=True)
    assert frozen.line() == f"began {job_id}"
    await freeze_alone(frozen, database_url)
    assert await lapse(database, "frozen")
    spawn("other")
    await over(jobs, job_id)
    frozen.let_go()
    frozen.thaw()
    assert await asyncio.to_thread(frozen.line) == "ended lost"
    assert await effects(database) == [(job_id, "other", 2)]


async def test_a_job_that_kills_its_worker_ends_as_failed(
    jobs: Jobs, database: Database, tenant: str, spawn: Spawn
) -> None:
    poison = await put(jobs, tenant, {"kills": True}, max_attempts=2)
    for number in range(2):
        assert spawn(f"victim-{number}").wait() == -signal.SIGKILL
        assert await lapse(database, f"victim-{number}")
    spawn("survivor")
    job = await over(jobs, poison)
    assert (job.status, job.attempt) == (JobState.FAILED, 2)
    assert "LEASE_EXPIRED: the worker victim-1" in str(job.last_error)
    await over(jobs, await put(jobs, tenant))
    assert len(await effects(database)) == 1


async def test_two_workers_racing_for_a_thousand_jobs_do_each_once(
    jobs: Jobs, database: Database, tenant: str, spawn: Spawn
) -> None:
    racers = [spawn(name, concurrency=20) for name in ("one", "two")]
    ids = await jobs.put_many([NewJob(kind=KIND, tenant_id=tenant, payload={}) for _ in range(1_000)])
    done = await until(lambda: _when_as_many(database, 1_000), 40)
    assert sorted(job_id for job_id, _, _ in done) == sorted(ids)
    assert {attempt for _, _, attempt in done} == {1}
    assert {worker for _, worker, _ in done} == {"one", "two"}
    for racer in racers:
        assert racer.stop() == 0


async def _when_as_many(database: Database, count: int) -> list[tuple[str, str, int]]:
    found = await effects(database)
    return found if len(found) >= count else []


async def test_a_worker_whose_clock_is_wrong_does_no_harm(
    jobs: Jobs, database: Database, tenant: str, spawn: Spawn
) -> None:
    for name, clock in (("right", 0), ("early", -600), ("late", 600)):
        spawn(name, clock=clock)
    new = [NewJob(kind=KIND, tenant_id=tenant, payload={"seconds": 0.3}) for _ in range(12)]
    ids = await jobs.put_many(new)
    done = [await over(jobs, job_id) for job_id in ids]
    assert {(job.status, job.attempt) for job in done} == {(JobState.DONE, 1)}
    assert len(await effects(database)) == 12
    assert all(job.queued_at <= (job.started_at or 0) <= job.queued_at + 20_000 for job in done)


async def test_a_restart_of_postgres_under_load_loses_nothing(postgres: PostgresServer) -> None:
    database = open_database(postgres.url)
    jobs = Jobs(database, open_wakeups(database))
    await make_effects(database)
    async with database.write() as connection:
        tenant = (await tenants.ensure_tenant(connection, "a@example.com")).id

    async def run(work: Work[Task]) -> None:
        await asyncio.sleep(0.02)
        row = {"job_id": work.job.job_id, "worker": "w", "attempt": work.job.attempt}
        async with work.finishing() as connection:
            await connection.execute(text("INSERT INTO effects VALUES (:job_id, :worker, :attempt)"), row)

    new = [NewJob(kind=KIND, tenant_id=tenant, payload={}, max_attempts=10) for _ in range(300)]
    ids = await jobs.put_many(new)
    async with working(jobs, run, lease_seconds=3.0):
        for _ in range(2):
            await until(lambda: _when_as_many(database, 30))
            await asyncio.to_thread(postgres.kill)
            await asyncio.to_thread(postgres.start)
        done = await until(lambda: _when_as_many(database, 300), 30)
    assert sorted(job_id for job_id, _, _ in done) == sorted(ids)
    assert {job.status for job in await jobs.list_jobs(JobFilter(), limit=500)} == {JobState.DONE}
    await jobs.close()
    await database.close()


async def test_a_storm_of_kills_and_freezes(database_url: str, database: Database) -> None:
    """The short form of `scripts/soak jobs`."""
    outcome = await storm(database_url, jobs=300, workers=4, lease=30.0, every=0.7, overtaken=True)
    assert outcome.kills > 0
    assert outcome.freezes > 0
    assert outcome.complaints == []


# Our own outages.


@pytest.mark.parametrize(
    "away",
    [Unavailable("database", "away"), Busy("database", "too many"), Unavailable("blobs", "away")],
    ids=["database", "busy", "blobs"],
)
async def test_an_outage_of_ours_costs_a_job_no_attempt(
    jobs: Jobs, tenant: str, away: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_retry, "_MIN_PAUSE", 0.05)
    times = 0

    async def run(work: Work[Task]) -> str:
        nonlocal times
        times += 1
        if times <= 5:
            raise away
        return "done"

    job_id = await put(jobs, tenant, max_attempts=1)
    async with working(jobs, run, randomness=lambda: 0.0) as telling:
        job = await over(jobs, job_id)
    assert (job.status, job.attempt, job.last_error) == (JobState.DONE, 1, None)
    assert telling.outcomes == ["queued"] * 5 + ["done"]


async def test_while_it_lasts_a_job_says_what_it_waits_for(jobs: Jobs, tenant: str) -> None:
    async def run(work: Work[Task]) -> None:
        raise Unavailable("blobs", "the bucket is missing")

    async def tried() -> Job | None:
        job = await jobs.get(job_id)
        return job if job is not None and job.last_error else None

    job_id = await put(jobs, tenant, max_attempts=1)
    async with working(jobs, run):
        job = await until(tried)
    assert "the bucket is missing" in str(job.last_error)
    assert not job.status.is_over


async def test_what_goes_on_failing_on_us_ends_like_any_other_failure(
    jobs: Jobs, tenant: str, database: Database
) -> None:
    stream = io.StringIO()

    async def run(work: Work[Task]) -> None:
        raise Unavailable("database", "the statement took too long")

    job_id = await put(jobs, tenant, max_attempts=1)
    (lease,) = await jobs.lease({KIND: 1}, worker="earlier")
    await jobs.release(lease)
    async with database.write() as connection:
        hours = round(MAX_OUTAGE_SECONDS * 1000) + 60_000
        earlier = ", ".join(f"{name} = {name} - {hours}" for name in ("queued_at", "started_at"))
        await connection.execute(text(f"UPDATE jobs SET {earlier}"))
    async with working(jobs, run, log=Log(stream)):
        job = await over(jobs, job_id)
    assert job.status is JobState.FAILED
    assert "job_held_up" in stream.getvalue()


async def test_what_a_worker_lost_while_nobody_heard_it_costs_no_attempt(
    postgres: PostgresServer,
) -> None:
    """Away for longer than a lease: the worker is back first, and gives back what nobody else has taken."""
    database = open_database(postgres.url, deadline=5.0)
    jobs = Jobs(database, open_wakeups(database))
    async with database.write() as connection:
        tenant = (await tenants.ensure_tenant(connection, "a@example.com")).id
    begun, interrupted = asyncio.Event(), asyncio.Event()

    async def run(work: Work[Task]) -> str:
        if begun.is_set():
            return "done"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()
        return "never"

    job_id = await put(jobs, tenant, max_attempts=1)
    async with working(jobs, run, lease_seconds=1.0):
        await begun.wait()
        postgres.stop()
        await asyncio.wait_for(interrupted.wait(), PATIENCE)
        postgres.start()
        job = await over(jobs, job_id)
    assert (job.status, job.attempt) == (JobState.DONE, 1)
    await jobs.close()
    await database.close()


async def test_a_failure_that_may_pass_costs_nothing_while_the_worker_stops(jobs: Jobs, tenant: str) -> None:
    begun, stopping = asyncio.Event(), asyncio.Event()

    async def run(work: Work[Task]) -> None:
        begun.set()
        await stopping.wait()
        raise Problem(FETCH_TIMEOUT, "The browser was closed.")

    job_id = await put(jobs, tenant, max_attempts=1)
    async with working(jobs, run, stop_seconds=PATIENCE):
        await begun.wait()
        asyncio.get_running_loop().call_later(0.2, stopping.set)
    job = await jobs.get(job_id)
    assert job is not None
    assert (job.status, job.attempt) == (JobState.QUEUED, 0)


async def test_a_clock_that_was_set_back_holds_no_job_up(jobs: Jobs, tenant: str, database: Database) -> None:
    """As it is after the step: a job that was to wait for seconds waits for an hour."""

    async def run(work: Work[Task]) -> str:
        return "done"

    job_id = await put(jobs, tenant, delay=3600.0)
    async with database.write() as connection:
        await heartbeats.beat(connection, "w", [KIND], 0)
        await connection.execute(text("UPDATE workers SET seen_at = seen_at + 3600000"))
    stream = io.StringIO()
    async with working(jobs, run, log=Log(stream)):
        assert (await over(jobs, job_id)).status is JobState.DONE
    assert "clock_set_back" in stream.getvalue()
