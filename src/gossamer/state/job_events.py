"""What is told of a job while it runs, for whoever follows it.

That it was put, that it was begun for the first time and how it ended, the job's own row tells: the first
event, the second, and the last when it is over. So a job that goes well writes no events but those that its
worker tells. The others are rows, written by the statement that counts them in the job's row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.redaction import redact_values
from gossamer.state.alone import run
from gossamer.state.job_text import as_json, clean

LONGEST_MESSAGE: Final = 2_000
LONGEST_DATA: Final = 64_000


# A change of state in words, by the row as it is then.
MESSAGE: Final = (
    "CASE WHEN last_error IS NULL OR status = 'running' THEN status ELSE status || ': ' || last_error END"
)
DATA: Final = """'{"status":"' || status || '","attempt":' || attempt || '}'"""


def _events(job: str, after: str, most: str) -> str:
    """One statement: it sees the job's row and the others as they were at the same time."""
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
    SELECT job_id, event_seq, 'status_changed', {MESSAGE}, {DATA}, progress_pct, finished_at
    FROM jobs WHERE job_id = {job} AND finished_at IS NOT NULL
) AS told WHERE seq > {after} ORDER BY seq LIMIT {most}"""  # noqa: S608 - parts of a statement


_EVENTS: Final = {"postgresql": _events("$1", "$2", "$3"), "sqlite": _events("?1", "?2", "?3")}


class EventType(StrEnum):
    STATUS_CHANGED = "status_changed"  # written with every change of a job's state, by the change itself
    STEP_STARTED = "step_started"
    STEP_DONE = "step_done"
    WARNING = "warning"
    ERROR = "error"
    METRIC = "metric"


@dataclass(frozen=True, slots=True)
class NewEvent:
    type: EventType
    message: str
    data: Any = None
    progress_pct: int | None = None  # of the whole job


@dataclass(frozen=True, slots=True)
class Event:
    job_id: str
    seq: int  # 1, 2, 3 … in the order in which they became visible
    type: EventType
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
    return event.type.value, clean(event.message, LONGEST_MESSAGE), _data(event.data), progress


async def events(
    connection: AsyncConnection, job_id: str, *, after_seq: int = 0, limit: int = 500
) -> Sequence[Event]:
    """What was told of the job since event number `after_seq`, the earliest first."""
    rows = await run(connection, _EVENTS[connection.dialect.name], job_id, after_seq, limit)
    return [Event(row[0], row[1], EventType(row[2]), *row[3:]) for row in rows]


def _data(data: Any) -> str | None:
    if data is None:
        return None
    encoded = as_json(redact_values(msgspec.to_builtins(data)))
    return encoded if len(encoded) <= LONGEST_DATA else f'{{"truncated":{len(encoded)}}}'
