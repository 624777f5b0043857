"""Work: a job as the one who does it sees it, and how a kind of job is done."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.problems import Problem, validation_error
from gossamer.state.jobs import EventType, Job, Jobs, Lease, NewEvent, RetryPolicy

Payload = TypeVar("Payload")


class Canceled(Exception):
    """Somebody does not want the job any more; the work may end here."""


class Work(Generic[Payload]):
    def __init__(self, jobs: Jobs, lease: Lease, payload: Payload) -> None:
        self.payload = payload
        self.canceled = False  # ask now and then; `step` does, and raises `Canceled`
        self.finished = False
        self._jobs = jobs
        self._lease = lease
        self._step: str | None = None

    @property
    def job(self) -> Job:
        return self._lease.job

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None:
        """The next part of the work begins, and the one before it is done."""
        await self._tell(*self._step_done(), NewEvent(EventType.STEP_STARTED, name, data, pct))
        self._step = name
        if self.canceled:
            raise Canceled

    async def warn(self, message: str, data: Any = None) -> None:
        await self._tell(NewEvent(EventType.WARNING, message, data))

    async def metric(self, name: str, data: Any) -> None:
        await self._tell(NewEvent(EventType.METRIC, name, data))

    async def end(self) -> None:
        """The last part is done."""
        if self._step is not None and not self.finished:
            await self._tell(*self._step_done())
            self._step = None

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A transaction in which the job stays ours, for what is written before its end."""
        return self._jobs.holding(self._lease)

    @asynccontextmanager
    async def finishing(self, result: Any = None) -> AsyncIterator[AsyncConnection]:
        """A transaction at whose end the job is done: what is written in it is written once or not at all."""
        await self.end()
        async with self._jobs.finishing(self._lease, result) as connection:
            yield connection
        self.finished = True

    async def _tell(self, *events: NewEvent) -> None:
        if await self._jobs.emit(self._lease, events):
            self.canceled = True

    def _step_done(self) -> list[NewEvent]:
        return [] if self._step is None else [NewEvent(EventType.STEP_DONE, self._step)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler(Generic[Payload]):
    """How jobs of one kind are done: what `run` returns is the result, what it raises decides on a retry."""

    run: Callable[[Work[Payload]], Awaitable[Any]]
    payload: type[Payload]  # what the job's JSON must be
    concurrency: int = 4  # at a time, in one process
    policy: RetryPolicy = field(default_factory=RetryPolicy)

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
