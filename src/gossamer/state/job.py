"""What a job is, and the states that it goes through.

           put                lease                 finish
    (new) ────▶ queued ─────────────────▶ running ────────▶ done
                 │  ▲                      │ │ │
                 │  │ release              │ │ │ fail: for good, or in the last attempt
                 │  │ fail: try again      │ │ │ the lease ran out in the last attempt
                 │  │ the lease ran out    │ │ └──────────▶ failed
                 │  └──────────────────────┘ │
                 │ cancel                    │ cancel, and the worker agreed or lost its lease
                 └───────────────────────────┴────────────▶ canceled

Times are milliseconds by the database's clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from gossamer.state.job_id import new_job_id
from gossamer.state.job_text import LONGEST_ERROR, as_json, clean

MAX_ATTEMPTS: Final = 3


class State(StrEnum):
    QUEUED = "queued"  # waits for a worker, or for its time
    RUNNING = "running"  # a worker has a lease on it
    DONE = "done"  # it has a result
    FAILED = "failed"  # it is not tried again; `last_error` says why
    CANCELED = "canceled"  # somebody did not want it any more

    @property
    def is_over(self) -> bool:
        return self not in (State.QUEUED, State.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    kind: str
    tenant_id: str
    payload: Any = None  # whatever msgspec can write as JSON
    job_id: str = field(default_factory=new_job_id)
    priority: int = 0  # among the jobs of the tenant: the smaller, the sooner
    max_attempts: int = MAX_ATTEMPTS
    run_at: int | None = None  # not before this time
    delay: float = 0.0  # or not before so many seconds from now
    idempotency_key: str | None = None  # unique among the tenant's queued and running jobs, till canceled
    request_id: str = ""

    def as_row(self) -> tuple[Any, ...]:
        return (
            self.job_id,
            self.tenant_id,
            self.kind,
            self.priority,
            self.max_attempts,
            self.run_at,
            round(self.delay * 1000),
            self.idempotency_key,
            as_json(self.payload),
            self.request_id,
        )


@dataclass(frozen=True, slots=True)
class Job:
    job_id: str
    tenant_id: str
    kind: str
    priority: int
    attempt: int  # how many have begun
    max_attempts: int
    queued_at: int
    run_at: int  # not before this time
    started_at: int | None  # the first attempt
    finished_at: int | None
    locked_until: int | None  # the end of the lease; while queued, the time to wait for
    locked_by: str | None
    idempotency_key: str | None
    payload_json: str
    result_json: str | None
    last_error: str | None  # of the last attempt, unless that went well
    progress_pct: int
    event_seq: int  # how many events there are
    request_id: str
    cancel_requested: bool
    status: State


COLUMNS: Final = (*(each.name for each in fields(Job)), "lease_token")
STATES: Final = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a job for a while."""

    job: Job
    token: str = field(repr=False)
    until: int

    @property
    def job_id(self) -> str:
        return self.job.job_id


class LeaseLost(Exception):
    """The lease ran out, or was ended: the job is not ours any more, and nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How work on a job ended, and what becomes of the job."""

    lease: Lease
    status: State  # QUEUED: it goes back to the queue
    delay: float = 0.0  # seconds for which it stays there
    counts: bool = True  # as an attempt
    result_json: str | None = None
    error: str | None = None

    def as_row(self) -> tuple[Any, ...]:
        return (
            self.lease.job_id,
            self.lease.token,
            self.status.value,
            round(self.delay * 1000),
            0 if self.counts else 1,
            self.result_json,
            self.error,
        )


@dataclass(frozen=True, slots=True)
class Head:
    """How far a job is told of."""

    seq: int  # of its last event
    is_over: bool


@dataclass(frozen=True, slots=True)
class Depth:
    """How many jobs of a kind are in a state."""

    kind: str
    status: State
    count: int
    oldest_seconds: float  # how long the first of them has waited since its time came, or has been running


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs to list; None is all of them."""

    tenant_id: str | None = None
    kind: str | None = None
    status: State | None = None


def success(lease: Lease, result: Any) -> Settlement:
    return Settlement(lease=lease, status=State.DONE, result_json=as_json(result))


def failure(lease: Lease, error: str, retry_in: float | None) -> Settlement:
    """Tried again after `retry_in` seconds, if it may be and there is an attempt left; else it is over."""
    kept = clean(error, LONGEST_ERROR)
    if retry_in is None or lease.job.attempt >= lease.job.max_attempts:
        return Settlement(lease=lease, status=State.FAILED, error=kept)
    return Settlement(lease=lease, status=State.QUEUED, delay=retry_in, error=kept)


def job_of(row: Iterable[Any]) -> Job:
    """Of a row in the order of `COLUMNS`. Whoever may see a job may not work on it, so not its token."""
    return _job_and_token(row)[0]


def lease_of(row: Iterable[Any]) -> Lease:
    job, token = _job_and_token(row)
    return Lease(job, token, job.locked_until or 0)


def _job_and_token(row: Iterable[Any]) -> tuple[Job, str]:
    *values, cancel_requested, status, token = row
    values += bool(cancel_requested), STATES[status]
    return Job(*values), token
