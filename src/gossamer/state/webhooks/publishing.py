"""Publishing: in the transaction of what it tells, an event becomes a delivery for everybody who listens.

It costs one look at an index when nobody does. Where even that is too much, as where jobs end, the statement
itself looks, and leaves a row in `ended_work` if anybody of the tenant listens; `tell_ended` publishes those.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import bindparam, delete, exists, literal, null, select, text

from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into
from gossamer.state.db.tables import jobs
from gossamer.state.jobs.job import JobError
from gossamer.state.webhooks import deliveries, endpoints
from gossamer.state.webhooks.deliveries import NewDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.state.webhooks.webhook_tables import LISTENING, ended_work, webhook_endpoints
from gossamer.web.webhooks.event_type import EventType
from gossamer.web.webhooks.webhook import EventPage, LongWork, StoredEvent, WorkEvent

ENDED_AT_ONCE: Final = 100

_JOB, _CRAWL = "job", "crawl"
_GROUPS: Final = {"batch": "batch", "audit": "audit", "site_audit": "audit"}  # by the kind of job; else `job`
_ENDS: Final = {
    "done": WorkEvent.COMPLETED,
    "failed": WorkEvent.FAILED,
    "canceled": WorkEvent.CANCELED,
}


class _AuditJob(msgspec.Struct):
    """What is needed of the payload of an audit's job."""

    audit_id: str


_audit: Final = msgspec.json.Decoder(_AuditJob)


class WebhookEvent(Struct, frozen=True, kw_only=True):
    """Something that happened."""

    type: EventType
    tenant_id: str = ""  # whose it is; an operator's event is nobody's
    owner: str = ""  # a wallet of the public tenant; empty: the tenant
    subject: str  # the id of what it happened to
    data: Any  # whatever msgspec can write as JSON
    key: str | None = None  # an event with the same key is queued once


async def publish(connection: AsyncConnection, *events: WebhookEvent, now: int | None = None) -> int:
    """In the transaction of what they tell about; returns how many deliveries were queued. Who listens is
    looked up once for all events of an owner."""
    by_owner: dict[_Audience, list[WebhookEvent]] = {}
    for event in events:
        by_owner.setdefault(_audience(event), []).append(event)
    listening = {owner: await _list_listening(connection, owner, own) for owner, own in by_owner.items()}
    new = [
        _delivery(to, event, event.data)
        for event in events
        for to in listening[_audience(event)]
        if to.hears(event.type) and to.work_id in (None, event.subject)
    ]
    await deliveries.queue(connection, new, now=now)
    return len(new)


async def publish_pages(
    connection: AsyncConnection,
    kind: LongWork,
    tenant_id: str,
    work_id: str,
    pages: Sequence[EventPage],
    *,
    now: int | None = None,
) -> None:
    """In the transaction that stores the pages."""
    event = WebhookEvent(
        type=EventType(f"{kind}.{WorkEvent.PAGE}"), tenant_id=tenant_id, subject=work_id, data=None
    )
    new: list[NewDelivery] = []
    for to in await _list_listening(connection, _audience(event), [event]):
        size = to.pages_per_event
        parts = [tuple(pages[first : first + size]) for first in range(0, len(pages), size)]
        if to.hears(event.type):
            new += [_delivery(to, event, StoredEvent(WorkEvent.PAGE, part)) for part in parts]
    await deliveries.queue(connection, new, now=now)


async def add_bound(
    connection: AsyncConnection, new: WebhookEndpoint, kind: LongWork, *, now: int | None = None
) -> None:
    """Add an endpoint of the work that this transaction starts, and tell it so."""
    await endpoints.add(connection, new, now=now)
    event = work_event(kind, WorkEvent.STARTED, new.tenant_id, new.work_id or "")
    if new.hears(event.type):
        await deliveries.queue(connection, [_delivery(new, event, event.data)], now=now)


def work_event(
    group: str, happened: WorkEvent, tenant_id: str, subject: str, *, error: str = ""
) -> WebhookEvent:
    return WebhookEvent(
        type=EventType(f"{group}.{happened}"),
        tenant_id=tenant_id,
        subject=subject,
        data=StoredEvent(happened, error=error),
    )


async def note_ended_crawls(connection: AsyncConnection, crawl_ids: Sequence[str]) -> None:
    """In the transaction that ends them. Statements that end jobs do the same by themselves."""
    listens = exists().where(webhook_endpoints.c.tenant_id == crawls.c.tenant_id, text(LISTENING))
    ended = select(crawls.c.id, literal(_CRAWL)).where(crawls.c.id.in_(crawl_ids), listens)
    noted = insert_into(connection, ended_work).from_select(["work_id", "kind"], ended)
    await connection.execute(noted.on_conflict_do_nothing())


async def is_any_ended(connection: AsyncConnection) -> bool:
    return await connection.scalar(select(ended_work.c.work_id).limit(1)) is not None


async def tell_ended(connection: AsyncConnection, *, now: int | None = None) -> int:
    """Publish the end of work that is over; returns how much of it there was."""
    some = select(ended_work).order_by(ended_work.c.work_id).limit(ENDED_AT_ONCE)
    noted = (await connection.execute(some.with_for_update(skip_locked=True))).all()
    ids = [row.work_id for row in noted]
    if not ids:
        return 0
    await connection.execute(delete(ended_work).where(ended_work.c.work_id.in_(ids)))
    over = [row for query in _ENDED for row in await connection.execute(query, {"ids": ids})]
    await publish(connection, *map(_end, over), now=now)
    await endpoints.end_work(connection, [row.id for row in over], now=now)
    return len(ids)


_ENDED_JOBS: Final = select(
    jobs.c.job_id.label("id"),
    jobs.c.tenant_id,
    jobs.c.kind,
    jobs.c.status,
    jobs.c.finished_at,
    jobs.c.last_error,
    jobs.c.payload_json,
).where(jobs.c.job_id.in_(bindparam("ids", expanding=True)), jobs.c.finished_at.is_not(None))
_ENDED_CRAWLS: Final = select(
    crawls.c.id,
    crawls.c.tenant_id,
    literal(_CRAWL).label("kind"),
    crawls.c.state.label("status"),
    crawls.c.finished_at,
    null().label("last_error"),
).where(crawls.c.id.in_(bindparam("ids", expanding=True)), crawls.c.state.in_(("done", "canceled")))


_ENDED: Final = (_ENDED_JOBS, _ENDED_CRAWLS)


def _end(row: Any) -> WebhookEvent:
    group = _CRAWL if row.kind == _CRAWL else _GROUPS.get(row.kind, _JOB)
    subject = _audit.decode(row.payload_json).audit_id if group == "audit" else row.id
    error = str(msgspec.json.decode(row.last_error, type=JobError)) if row.last_error else ""
    return work_event(group, _ENDS[row.status], row.tenant_id, subject, error=error)


class _Audience(NamedTuple):
    """Whose endpoints may hear of an event."""

    tenant_id: str
    owner: str
    is_operators: bool


def _audience(event: WebhookEvent) -> _Audience:
    return _Audience(event.tenant_id, event.owner or event.tenant_id, event.type.is_for_operators)


async def _list_listening(
    connection: AsyncConnection, audience: _Audience, events: Sequence[WebhookEvent]
) -> list[WebhookEndpoint]:
    if audience.is_operators:
        return await endpoints.list_operators(connection)
    subjects = {event.subject for event in events}
    return await endpoints.list_listening(connection, audience.tenant_id, audience.owner, subjects)


def _delivery(to: WebhookEndpoint, event: WebhookEvent, data: Any) -> NewDelivery:
    return NewDelivery(
        sender=to.id,
        event=event.type,
        body=msgspec.json.encode(data).decode(),
        owner=to.owner,
        subject=event.subject,
        key=event.key,
        not_before=to.held_until or 0,
    )
