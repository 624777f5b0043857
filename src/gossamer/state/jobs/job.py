"""Jobs, leases and settlements, and the states that a job goes through.

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

import json
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from gossamer.observe.redaction import redact, redact_values
from gossamer.problems import INTERNAL_ERROR, SERVICE_UNAVAILABLE, Problem
from gossamer.web.outcome.job_state import JobState as JobState  # a part of what is told here

MAX_ATTEMPTS: Final = 3
MAX_ERROR_CHARS: Final = 2_000
MAX_ERROR_VALUE_CHARS: Final = 500


ErrorValue = str | int | float | bool | None


class JobError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an attempt at a job failed: kept as JSON, and shown as one line, `str(error)`."""

    code: str  # of the problem, or INTERNAL_ERROR
    detail: str  # what happened, in a sentence
    label: str | None = None  # a short cause, shown between code and detail
    details: dict[str, ErrorValue] = {}  # the simple values of the problem's `details`

    @classmethod
    def of(cls, error: BaseException) -> "JobError":
        """An error as it may be kept: without secrets, and bounded."""
        if not isinstance(error, Problem):
            return cls(code=INTERNAL_ERROR.code, detail=_clean_detail(f"{type(error).__name__}: {error}"))
        known = redact_values({name: value for name, value in error.details.items() if _is_simple(value)})
        return cls(
            code=error.kind.code,
            detail=_clean_detail(error.detail),
            label=error.label,
            details={name: _clean_value(value) for name, value in known.items()},
        )

    @property
    def reason(self) -> str | None:
        """`details.reason` of the problem, where there was one."""
        reason = self.details.get("reason")
        return None if reason is None else str(reason)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.code, self.label, self.detail) if part is not None)


DATABASE_AWAY: Final = JobError(
    code=SERVICE_UNAVAILABLE.code, detail="The database was away for longer than the job may be held."
)
_decode_error: Final = msgspec.json.Decoder(JobError).decode


def _is_simple(value: object) -> bool:
    return isinstance(value, ErrorValue)


def _clean_detail(text: str) -> str:
    return clean(text, MAX_ERROR_CHARS)


def _clean_value(value: ErrorValue) -> ErrorValue:
    return clean(value, MAX_ERROR_VALUE_CHARS) if isinstance(value, str) else value


def clean(text: str, max_chars: int) -> str:
    """Redacted; without NUL, which PostgreSQL refuses, and without halves of surrogate pairs."""
    valid = text[: 4 * max_chars].encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    kept = redact(valid)
    return kept if len(kept) <= max_chars else kept[: max_chars - 1] + "…"


def as_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can escape
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits each
_LOW_BITS: Final = 40
_LOW: Final = (1 << _LOW_BITS) - 1


class JobIds:
    """Makes ULIDs, which begin with the time; in one process each is greater than the one before.

    Ids that are made in the same instant share their beginning, which is encoded once: jobs are put by the
    thousand."""

    def __init__(self) -> None:
        self._last = 0
        self._high = -1
        self._beginning = ""

    def __call__(self) -> str:
        milliseconds = time.time_ns() // 1_000_000
        if milliseconds > self._last >> 80:
            self._last = milliseconds << 80 | secrets.randbits(80)
        else:
            self._last += 1
        high, low = self._last >> _LOW_BITS, self._last & _LOW
        if high != self._high:
            self._high, self._beginning = high, _encode(high, 18)
        ending = _PAIRS[low >> 30] + _PAIRS[low >> 20 & 1023] + _PAIRS[low >> 10 & 1023] + _PAIRS[low & 1023]
        return self._beginning + ending


def _encode(number: int, length: int) -> str:
    return "".join(_PAIRS[number >> shift & 1023] for shift in range(5 * length - 10, -1, -10))


new_job_id: Final = JobIds()


class NewJob(Struct, frozen=True, kw_only=True):
    kind: str
    tenant_id: str
    payload: Any = None  # whatever msgspec can write as JSON
    job_id: str = msgspec.field(default_factory=new_job_id)
    priority: int = 0  # among the jobs of the tenant: smaller is sooner
    max_attempts: int = MAX_ATTEMPTS
    run_at: int | None = None  # not before this time
    delay: float = 0.0  # or this many seconds from now
    idempotency_key: str | None = None  # unique among the tenant's queued and running jobs
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


class Job(Struct, frozen=True):
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
    progress_pct: int
    event_seq: int  # how many events there are
    request_id: str
    last_error: JobError | None  # of the last attempt, unless that went well
    cancel_requested: bool
    status: JobState


COLUMNS: Final = (*(each.name for each in fields(Job)), "lease_token")
STATES: Final = {state.value: state for state in JobState}


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
    """The lease ran out, or was ended: another worker may have the job. Nothing was changed."""


class JobSettlement(Struct, frozen=True, kw_only=True):
    """How work on a job ended, and the state that follows."""

    lease: Lease
    status: JobState  # QUEUED: it goes back to the queue
    delay: float = 0.0  # seconds for which it stays there
    counts: bool = True  # as an attempt
    result_json: str | None = None
    error: JobError | None = None

    def as_row(self) -> tuple[Any, ...]:
        return (
            self.lease.job_id,
            self.lease.token,
            self.status.value,
            round(self.delay * 1000),
            0 if self.counts else 1,
            self.result_json,
            None if self.error is None else as_json(self.error),
        )


class EventHead(Struct, frozen=True):
    """The last event of a job."""

    seq: int
    is_over: bool


class QueueDepth(Struct, frozen=True):
    """How many jobs of a kind are in a state."""

    kind: str
    status: JobState
    count: int
    oldest_seconds: float  # how long the oldest has been due, or running


class JobFilter(Struct, frozen=True):
    """Which jobs to list; None is all of them."""

    tenant_id: str | None = None
    kind: str | None = None
    status: JobState | None = None


def success(lease: Lease, result: Any) -> JobSettlement:
    return JobSettlement(lease=lease, status=JobState.DONE, result_json=as_json(result))


def failure(lease: Lease, error: JobError, retry_in: float | None) -> JobSettlement:
    """Queued again after `retry_in` seconds if an attempt is left, else failed. None: never again."""
    if retry_in is None or lease.job.attempt >= lease.job.max_attempts:
        return JobSettlement(lease=lease, status=JobState.FAILED, error=error)
    return JobSettlement(lease=lease, status=JobState.QUEUED, delay=retry_in, error=error)


def given_back(lease: Lease, error: JobError | None = None, delay: float = 0.0) -> JobSettlement:
    """Back to the queue, by no fault of the job: the attempt does not count."""
    return JobSettlement(lease=lease, status=JobState.QUEUED, delay=delay, counts=False, error=error)


def job_of(row: Iterable[Any]) -> Job:
    """The job in a row of `COLUMNS`, without its lease token: seeing a job gives no right to work on it."""
    return _job_and_token(row)[0]


def lease_of(row: Iterable[Any]) -> Lease:
    job, token = _job_and_token(row)
    return Lease(job, token, job.locked_until or 0)


def _job_and_token(row: Iterable[Any]) -> tuple[Job, str]:
    *values, error, cancel_requested, status, token = row
    values += None if error is None else _decode_error(error), bool(cancel_requested), STATES[status]
    return Job(*values), token
