"""What is told of a job while it runs, for whoever follows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.redaction import redact_values
from gossamer.state.job_text import as_json, clean
from gossamer.state.tables import job_events

LONGEST_MESSAGE: Final = 2_000
LONGEST_DATA: Final = 64_000


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
    query = select(job_events).where(job_events.c.job_id == job_id, job_events.c.seq > after_seq)
    rows = await connection.execute(query.order_by(job_events.c.seq).limit(limit))
    return [Event(row[0], row[1], EventType(row[2]), *row[3:]) for row in rows]


def _data(data: Any) -> str | None:
    if data is None:
        return None
    encoded = as_json(redact_values(msgspec.to_builtins(data)))
    return encoded if len(encoded) <= LONGEST_DATA else f'{{"truncated":{len(encoded)}}}'
