"""Work: a job as its handler sees it, and the declaration of a kind of job."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from gossamer.problems import Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job, Lease
from gossamer.state.jobs.job_events import JobEventType, NewEvent
from gossamer.state.jobs.job_retry import RetryPolicy
from gossamer.state.jobs.jobs import Jobs

Payload = TypeVar("Payload")

INTERRUPT_SECONDS: Final = 5.0  # for interrupted work to clean up before it is interrupted again


class Canceled(Exception):
    """The job was canceled; the work may end here."""


class Work(Generic[Payload]):
    def __init__(self, jobs: Jobs, lease: Lease, payload: Payload) -> None:
        self.payload = payload
        self.canceled = False  # handlers check it from time to time; `step` checks it and raises `Canceled`
        self.finished = False
        self._jobs = jobs
        self._lease = lease
        self._step: str | None = None

    @property
    def job(self) -> Job:
        return self._lease.job

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None:
        """End the previous part of the work, and begin the next one."""
        await self._emit(*self._step_done(), NewEvent(JobEventType.STEP_STARTED, name, data, pct))
        self._step = name
        if self.canceled:
            raise Canceled

    async def warn(self, message: str, data: Any = None) -> None:
        await self._emit(NewEvent(JobEventType.WARNING, message, data))

    async def metric(self, name: str, data: Any) -> None:
        await self._emit(NewEvent(JobEventType.METRIC, name, data))

    async def end(self) -> None:
        """End the last part of the work."""
        if self._step is not None and not self.finished:
            await self._emit(*self._step_done())
            self._step = None

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A transaction that holds the lease, for writes before the end of the job."""
        return self._jobs.holding(self._lease)

    @asynccontextmanager
    async def finishing(self, result: Any = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that ends the job, so that its writes happen once or not at all."""
        await self.end()
        async with self._jobs.finishing(self._lease, result) as connection:
            yield connection
        self.finished = True

    async def _emit(self, *events: NewEvent) -> None:
        if await self._jobs.emit(self._lease, events):
            self.canceled = True

    def _step_done(self) -> list[NewEvent]:
        return [] if self._step is None else [NewEvent(JobEventType.STEP_DONE, self._step)]


class RunningJob:
    """A job that is running here."""

    def __init__(self, lease: Lease, since: float, seconds: float) -> None:
        self.lease = lease
        self.work: Work[Any] | None = None
        self.task: asyncio.Task[None] | None = None
        self.began = since
        self.lost = False
        self.unheard = False  # lost, as far as we know because the database could not be reached
        self.settling = False
        self.stopped = False  # because the worker stops
        self.cancel_at: float | None = None
        self.interrupt_at = 0.0  # not before
        self.renew(since, seconds)

    def renew(self, since: float, seconds: float) -> None:
        """Set the deadlines by the monotonic clock, counted from before the database was asked."""
        self.until = since + seconds
        self.renew_at = since + seconds / 3

    def interrupt(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.task is not None and not self.settling and now >= self.interrupt_at:
            self.interrupt_at = now + INTERRUPT_SECONDS
            self.task.cancel()


class Handler(Struct, Generic[Payload], frozen=True, kw_only=True):
    """How jobs of one kind are run: `run` returns the result; its exception decides about a retry."""

    run: Callable[[Work[Payload]], Awaitable[Any]]
    payload: type[Payload]  # the type of the job's JSON
    concurrency: int = 4  # at a time, in one process
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    ready: Callable[[], bool] = lambda: True  # whether this process can run them now

    def decode(self, job: Job) -> Payload:
        try:
            payload: Payload = _decoder(self.payload).decode(job.payload_json)  # type: ignore[arg-type]
            return payload
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _undecodable(error) from error


@cache
def _decoder(payload: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(payload)


def _undecodable(error: Exception) -> Problem:
    return validation_error(f"The payload cannot be decoded: {error}")
