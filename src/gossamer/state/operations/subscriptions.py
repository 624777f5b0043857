"""Subscriptions: who is told of a crawl or a batch, and how.

What happens is queued in `webhook_deliveries`, in the transaction in which it happens: that the work started,
and that pages have a result. The end is told by whoever notices it first (`tell_ended`), because work ends in
many ways, also with a worker that dies. It is told once: the subscription says so in the same transaction.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Row, delete, insert, null, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.database import clock
from gossamer.state.db.tables import jobs
from gossamer.state.jobs.job import JobError
from gossamer.state.operations import webhook_deliveries
from gossamer.state.operations.operation_tables import webhook_subscriptions
from gossamer.state.operations.webhook_deliveries import DEADLINE_MS, NewWebhook
from gossamer.web.outcome.webhook import EventPage, LongWork, StoredEvent, WorkEvent

NATIVE: Final = "gossamer"
PAGES_PER_EVENT: Final = 50  # at most, so that a body is bounded
ENDED_AT_ONCE: Final = 100

_rows: Final = webhook_subscriptions.c
_CRAWL_ENDS: Final = {"done": WorkEvent.COMPLETED, "canceled": WorkEvent.CANCELED}
_JOB_ENDS: Final = {
    "done": WorkEvent.COMPLETED,
    "failed": WorkEvent.FAILED,
    "canceled": WorkEvent.CANCELED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    work_id: str  # of the crawl, or of the batch's job
    tenant_id: str
    kind: LongWork
    owner: str  # whose secret signs its events
    url: str
    events: frozenset[WorkEvent]
    shape: str = NATIVE
    metadata: Mapping[str, str]
    headers_sealed: bytes | None = None

    @property
    def pages_per_event(self) -> int:
        """Receivers that were written for another product expect each page by itself."""
        return PAGES_PER_EVENT if self.shape == NATIVE else 1


async def add(connection: AsyncConnection, new: Subscription, *, now: int | None = None) -> None:
    """Runs in the transaction that starts the work."""
    await connection.execute(
        insert(webhook_subscriptions).values(
            work_id=new.work_id,
            tenant_id=new.tenant_id,
            kind=new.kind.value,
            owner=new.owner,
            url=new.url,
            events=",".join(sorted(new.events)),
            shape=new.shape,
            metadata_json=msgspec.json.encode(new.metadata).decode(),
            headers_sealed=new.headers_sealed,
            created_at=clock(now),
        )
    )
    if new.kind is LongWork.CRAWL:
        await connection.execute(update(crawls).where(crawls.c.id == new.work_id).values(has_webhook=True))
    await _tell(connection, new, [StoredEvent(WorkEvent.STARTED)], now)


async def get(connection: AsyncConnection, work_id: str) -> Subscription | None:
    return (await some(connection, [work_id])).get(work_id)


async def some(connection: AsyncConnection, work_ids: Collection[str]) -> dict[str, Subscription]:
    """The subscriptions that there are, by the id of the work."""
    query = select(webhook_subscriptions).where(_rows.work_id.in_(work_ids))
    return {row.work_id: _subscription(row) for row in await connection.execute(query)}


async def tell_pages(
    connection: AsyncConnection, to: Subscription, pages: Sequence[EventPage], *, now: int | None = None
) -> None:
    """Runs in the transaction that stores the pages."""
    size = to.pages_per_event
    parts = [tuple(pages[first : first + size]) for first in range(0, len(pages), size)]
    await _tell(connection, to, [StoredEvent(WorkEvent.PAGE, part) for part in parts], now)


async def is_any_ended(connection: AsyncConnection) -> bool:
    """Whether there is an end that was not told."""
    return any([(await connection.execute(query.limit(1))).first() is not None for query in _ended()])


async def tell_ended(connection: AsyncConnection, *, now: int | None = None) -> int:
    """Tell the end of work that is over; returns of how much."""
    ended: list[Any] = []
    for query in _ended():
        locked = query.limit(ENDED_AT_ONCE).with_for_update(of=webhook_subscriptions, skip_locked=True)
        ended += (await connection.execute(locked)).all()
    ids = [row.work_id for row in ended]
    if ids:
        over = update(webhook_subscriptions).where(_rows.work_id.in_(ids))
        await connection.execute(over.values(ended_at=clock(now)))
    for row in ended:
        ends = _CRAWL_ENDS if row.kind == LongWork.CRAWL else _JOB_ENDS
        event = StoredEvent(ends[row.ended_as], error=_error(row.last_error))
        await _tell(connection, _subscription(row), [event], now)
    return len(ids)


async def reopen(connection: AsyncConnection, work_id: str) -> None:
    """The work goes on, and will end again."""
    await connection.execute(
        update(webhook_subscriptions).where(_rows.work_id == work_id).values(ended_at=None)
    )


async def remove(connection: AsyncConnection, work_ids: Sequence[str]) -> None:
    """The work is deleted: nothing of it is kept, nor told."""
    gone = delete(webhook_subscriptions).where(_rows.work_id.in_(work_ids)).returning(_rows.work_id)
    if senders := (await connection.scalars(gone)).all():
        await webhook_deliveries.forget_senders(connection, senders)


async def forget_headers(connection: AsyncConnection, *, now: int | None = None) -> None:
    """They may be secret, and when all events were told or given up nobody needs them."""
    old = update(webhook_subscriptions).where(
        _rows.headers_sealed.is_not(None), _rows.ended_at <= clock(now) - DEADLINE_MS
    )
    await connection.execute(old.values(headers_sealed=None))


async def _tell(
    connection: AsyncConnection, to: Subscription, events: Sequence[StoredEvent], now: int | None
) -> None:
    new = [
        NewWebhook(
            to.work_id, "", f"{to.kind.value}.{event.event.value}", msgspec.json.encode(event).decode()
        )
        for event in events
        if event.event in to.events
    ]
    await webhook_deliveries.queue(connection, new, now=now)


def _ended() -> list[Any]:
    """Queries for the subscriptions of work that is over, with the state in which it ended."""
    of_crawls = (
        select(webhook_subscriptions, crawls.c.state.label("ended_as"), null().label("last_error"))
        .join(crawls, crawls.c.id == _rows.work_id)
        .where(crawls.c.state.in_(tuple(_CRAWL_ENDS)))
    )
    of_jobs = (
        select(webhook_subscriptions, jobs.c.status.label("ended_as"), jobs.c.last_error)
        .join(jobs, jobs.c.job_id == _rows.work_id)
        .where(jobs.c.status.in_(tuple(_JOB_ENDS)))
    )
    return [query.where(_rows.ended_at.is_(None)) for query in (of_crawls, of_jobs)]


def _error(stored: str | None) -> str:
    return str(msgspec.json.decode(stored, type=JobError)) if stored else ""


def _subscription(row: Row[Any]) -> Subscription:
    return Subscription(
        work_id=row.work_id,
        tenant_id=row.tenant_id,
        kind=LongWork(row.kind),
        owner=row.owner,
        url=row.url,
        events=frozenset(WorkEvent(name) for name in row.events.split(",") if name),
        shape=row.shape,
        metadata=msgspec.json.decode(row.metadata_json, type=dict[str, str]),
        headers_sealed=row.headers_sealed,
    )
