"""Webhooks that are to be delivered.

A delivery is queued in the transaction of what it tells about. A process takes those that are due for a while
and tries; if it does not say how that ended, another process tries again. The id and the body stay the same,
so a receiver can tell a repeat from news.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.state.db.database import clock
from gossamer.state.operations.operation_tables import webhook_deliveries

TAKEN_MS: Final = 60_000  # longer than an attempt takes
KEEP_MS: Final = 30 * 86_400_000
# Seconds until the next attempt; after the last one it is given up.
PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200)

_rows: Final = webhook_deliveries.c


@dataclass(frozen=True, slots=True)
class NewWebhook:
    sender: str  # whose secret signs it
    url: str
    event: str  # such as `alert.raised`
    body: str


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    id: str
    sender: str
    url: str
    event: str
    body: str
    attempt: int  # from 1


async def queue(connection: AsyncConnection, new: Sequence[NewWebhook], *, now: int | None = None) -> None:
    for one in new:
        await connection.execute(
            insert(webhook_deliveries).values(
                id=str(ULID()),
                sender=one.sender,
                url=one.url,
                event=one.event,
                body=one.body,
                created_at=clock(now),
                due_at=clock(now),
                attempt=0,
                failure="",
            )
        )


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_rows.id).where(_rows.due_at <= clock(now)).limit(1)
    return await connection.scalar(first) is not None


async def take_due(
    connection: AsyncConnection, limit: int, *, now: int | None = None
) -> list[WebhookDelivery]:
    """Take some of those that are due, the oldest first."""
    due = select(_rows.id).where(_rows.due_at <= clock(now)).order_by(_rows.due_at, _rows.id).limit(limit)
    taken = (
        update(webhook_deliveries)
        .where(_rows.id.in_(due.with_for_update(skip_locked=True)))
        .values(attempt=_rows.attempt + 1, due_at=clock(now) + TAKEN_MS)
        .returning(_rows.id, _rows.sender, _rows.url, _rows.event, _rows.body, _rows.attempt)
    )
    return sorted((WebhookDelivery(*row) for row in await connection.execute(taken)), key=lambda one: one.id)


async def succeed(connection: AsyncConnection, delivery: WebhookDelivery, *, now: int | None = None) -> None:
    done = update(webhook_deliveries).where(_rows.id == delivery.id)
    await connection.execute(done.values(delivered_at=clock(now), due_at=None, failure=""))


async def fail(
    connection: AsyncConnection, delivery: WebhookDelivery, why: str, *, now: int | None = None
) -> bool:
    """It is tried again later. False: it was the last attempt."""
    again = delivery.attempt <= len(PAUSES)
    due = clock(now) + PAUSES[delivery.attempt - 1] * 1000 if again else None
    failed = update(webhook_deliveries).where(
        _rows.id == delivery.id, _rows.delivered_at.is_(None), _rows.attempt == delivery.attempt
    )
    await connection.execute(failed.values(due_at=due, failure=why))
    return again


async def forget_old(connection: AsyncConnection, *, now: int | None = None) -> int:
    old = delete(webhook_deliveries).where(_rows.created_at <= clock(now) - KEEP_MS, _rows.due_at.is_(None))
    return (await connection.execute(old)).rowcount
