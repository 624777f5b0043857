"""The events of a job.

Three of them follow from the job's own row: that it was put (the first), that it was begun for the first time
(the second) and how it ended (the last). So a job that goes well writes only the events of its worker. All
others are rows, written by the statement that counts them in the job's row.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.observe.redaction import redact_values
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.single import run
from gossamer.state.jobs.job import as_json, clean

MAX_MESSAGE_CHARS: Final = 2_000
MAX_DATA_CHARS: Final = 64_000


def _message(error: str) -> str:
    """A change of state in words, by the row as it is then. The error is the same line as `str(JobError)`."""
    code, label, detail = (f"({error} ->> '{name}')" for name in ("code", "label", "detail"))
    line = f"{code} || ': ' || COALESCE({label} || ': ', '') || {detail}"
    return f"CASE WHEN last_error IS NULL OR status = 'running' THEN status ELSE status || ': ' || {line} END"


MESSAGE_P: Final = _message("last_error::json")
MESSAGE_S: Final = _message("last_error")
DATA: Final = """'{"status":"' || status || '","attempt":' || attempt || '}'"""


def _events(job: str, after: str, limit: str, message: str) -> str:
    """One statement, so that the job's row and the events are read at the same instant."""
    return f"""
SELECT * FROM (
    SELECT job_id, seq, event_type, message, data_json, progress_pct, created_at
    FROM job_events WHERE job_id = {job}
    UNION ALL
    SELECT job_id, 1, 'status_changed', 'queued', '{{"status":"queued","attempt":0}}', 0, queued_at
    FROM jobs WHERE job_id = {job}
    UNION ALL
    SELECT job_id, 2, 'status_changed', 'running', '{{"status":"running","attempt":1}}', 0, started_at
    FROM jobs WHERE job_id = {job} AND started_at IS NOT NULL
    UNION ALL
    SELECT job_id, event_seq, 'status_changed', {message}, {DATA}, progress_pct, finished_at
    FROM jobs WHERE job_id = {job} AND finished_at IS NOT NULL
) AS events WHERE seq > {after} ORDER BY seq LIMIT {limit}"""  # noqa: S608 - parts of a statement


_EVENTS: Final = {
    "postgresql": _events("$1", "$2", "$3", MESSAGE_P),
    "sqlite": _events("?1", "?2", "?3", MESSAGE_S),
}


class JobEventType(StrEnum):
    STATUS_CHANGED = "status_changed"  # written by every statement that changes the state
    STEP_STARTED = "step_started"
    STEP_DONE = "step_done"
    WARNING = "warning"
    ERROR = "error"
    METRIC = "metric"


class NewEvent(Struct, frozen=True):
    type: JobEventType
    message: str
    data: Any = None
    progress_pct: int | None = None  # of the whole job


class Event(Struct, frozen=True):
    job_id: str
    seq: int  # 1, 2, 3 … in the order in which they became visible
    type: JobEventType
    message: str
    data_json: str | None
    progress_pct: int | None
    created_at: int

    @property
    def event_id(self) -> str:
        return f"{self.job_id}-{self.seq}"


def as_row(event: NewEvent) -> tuple[str, str, str | None, int | None]:
    """As it is stored: redacted and bounded."""
    progress = None if event.progress_pct is None else min(100, max(0, event.progress_pct))
    return event.type.value, clean(event.message, MAX_MESSAGE_CHARS), _data(event.data), progress


async def events(
    connection: AsyncConnection, job_id: str, *, after_seq: int = 0, limit: int = 500
) -> Sequence[Event]:
    """The events of the job after number `after_seq`, the earliest first."""
    rows = await run(connection, _EVENTS[connection.dialect.name], job_id, after_seq, limit)
    return [Event(row[0], row[1], JobEventType(row[2]), *row[3:]) for row in rows]


def _data(data: Any) -> str | None:
    if data is None:
        return None
    encoded = as_json(redact_values(msgspec.to_builtins(data)))
    return encoded if len(encoded) <= MAX_DATA_CHARS else f'{{"truncated":{len(encoded)}}}'
