"""Webhooks that are to be delivered.

A delivery is queued in the transaction of what it tells about. A process takes those that are due for a while
and tries; if it does not say how that ended, another process tries again. The id and the body stay the same,
so a receiver can tell a repeat from news.

All deliveries of one sender to one address share an endpoint. Those of an endpoint are taken in their order
and few at a time, and when one fails, the others wait too: a receiver that is away is not asked for each of
them, and delays no other receiver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.state.db.database import clock
from gossamer.state.operations.operation_tables import webhook_deliveries

TAKEN_MS: Final = 120_000  # longer than the attempts of an endpoint take
KEEP_MS: Final = 30 * 86_400_000
# Seconds until the next attempt; after the last one it is given up.
PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200)
HOLD_MS: Final = 30_000  # for which the other deliveries of an endpoint wait after a failure
DEADLINE_MS: Final = 2 * 86_400_000  # after which a failure gives up everything as old
ENDPOINT_AT_ONCE: Final = 4
_LOOKED_AT: Final = 500  # of those that are due

_rows: Final = webhook_deliveries.c


@dataclass(frozen=True, slots=True)
class NewWebhook:
    sender: str  # whose secret signs it
    url: str  # empty: where the sender's subscription says
    event: str  # such as `alert.raised`
    body: str


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    id: str
    sender: str
    url: str
    event: str
    body: str
    created_at: int
    attempt: int  # from 1

    @property
    def endpoint(self) -> tuple[str, str]:
        return self.sender, self.url


_TAKEN: Final = (
    _rows.id,
    _rows.sender,
    _rows.url,
    _rows.event,
    _rows.body,
    _rows.created_at,
    _rows.attempt,
)


async def queue(connection: AsyncConnection, new: Sequence[NewWebhook], *, now: int | None = None) -> None:
    if not new:
        return
    times = insert(webhook_deliveries).values(created_at=clock(now), due_at=clock(now))
    rows = [
        {
            "id": delivery_id,
            "sender": one.sender,
            "url": one.url,
            "event": one.event,
            "body": one.body,
            "attempt": 0,
            "failure": "",
        }
        for delivery_id, one in zip(_ids(len(new)), new, strict=True)
    ]
    await connection.execute(times, rows)


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_rows.id).where(_rows.due_at <= clock(now)).limit(1)
    return await connection.scalar(first) is not None


async def take_due(
    connection: AsyncConnection, limit: int, *, now: int | None = None
) -> list[WebhookDelivery]:
    """Take some of those that are due, the oldest first, and few of one endpoint."""
    oldest = (
        select(_rows.id, _rows.sender, _rows.url, _rows.due_at)
        .where(_rows.due_at <= clock(now))
        .order_by(_rows.due_at, _rows.id)
        .limit(_LOOKED_AT)
        .subquery()
    )
    turn = func.row_number().over(
        partition_by=(oldest.c.sender, oldest.c.url), order_by=(oldest.c.due_at, oldest.c.id)
    )
    ranked = select(oldest.c.id, oldest.c.due_at, turn.label("turn")).subquery()
    chosen = (
        select(ranked.c.id)
        .where(ranked.c.turn <= ENDPOINT_AT_ONCE)
        .order_by(ranked.c.due_at, ranked.c.id)
        .limit(limit)
    )
    # Locked by themselves, because rows cannot be locked below a window.
    free = select(_rows.id).where(_rows.id.in_(chosen), _rows.due_at <= clock(now))
    taken = (
        update(webhook_deliveries)
        .where(_rows.id.in_(free.with_for_update(skip_locked=True)))
        .values(attempt=_rows.attempt + 1, due_at=clock(now) + TAKEN_MS)
        .returning(*_TAKEN)
    )
    return sorted((WebhookDelivery(*row) for row in await connection.execute(taken)), key=lambda one: one.id)


async def succeed(connection: AsyncConnection, delivery: WebhookDelivery, *, now: int | None = None) -> None:
    done = update(webhook_deliveries).where(_rows.id == delivery.id)
    await connection.execute(done.values(delivered_at=clock(now), due_at=None, failure=""))


async def fail(
    connection: AsyncConnection, delivery: WebhookDelivery, why: str, *, now: int | None = None
) -> bool:
    """It is tried again later. False: it was the last attempt."""
    time = now if now is not None else await connection.scalar(select(clock())) or 0
    again = delivery.attempt <= len(PAUSES) and delivery.created_at > time - DEADLINE_MS
    due = time + PAUSES[delivery.attempt - 1] * 1000 if again else None
    failed = update(webhook_deliveries).where(
        _rows.id == delivery.id, _rows.delivered_at.is_(None), _rows.attempt == delivery.attempt
    )
    await connection.execute(failed.values(due_at=due, failure=why))
    return again


async def hold_endpoint(
    connection: AsyncConnection, failed: Sequence[WebhookDelivery], why: str, *, now: int | None = None
) -> None:
    """These have just failed: let the others of their endpoint wait, and give up those that are too old."""
    sender, url = failed[0].endpoint
    others = select(_rows.id).where(
        _rows.sender == sender,
        _rows.url == url,
        _rows.due_at <= clock(now) + HOLD_MS,
        _rows.id.not_in([one.id for one in failed]),
    )
    for which, due in (
        (_rows.created_at <= clock(now) - DEADLINE_MS, None),
        (_rows.created_at > clock(now) - DEADLINE_MS, clock(now) + HOLD_MS),
    ):
        # Another process may do the same; neither waits for the other.
        free = others.where(which).with_for_update(skip_locked=True)
        held = update(webhook_deliveries).where(_rows.id.in_(free))
        await connection.execute(held.values(due_at=due, **({"failure": why} if due is None else {})))


async def give_back(
    connection: AsyncConnection, untried: Sequence[WebhookDelivery], *, now: int | None = None
) -> None:
    """They were taken and not tried, because an earlier one of their endpoint failed."""
    for one in untried:
        mine = update(webhook_deliveries).where(_rows.id == one.id, _rows.attempt == one.attempt)
        await connection.execute(mine.values(attempt=one.attempt - 1, due_at=clock(now) + HOLD_MS))


async def forget_old(connection: AsyncConnection, *, now: int | None = None) -> int:
    old = delete(webhook_deliveries).where(_rows.created_at <= clock(now) - KEEP_MS, _rows.due_at.is_(None))
    return (await connection.execute(old)).rowcount


async def forget_senders(connection: AsyncConnection, senders: Sequence[str]) -> None:
    """Remove everything that these have sent, or were about to send."""
    await connection.execute(delete(webhook_deliveries).where(_rows.sender.in_(senders)))


def _ids(count: int) -> list[str]:
    """In order, although they are made in the same millisecond."""
    first: Any = int.from_bytes(ULID().bytes)
    return [str(ULID.from_bytes((first + place).to_bytes(16))) for place in range(count)]
