"""The log of deliveries: what was sent to whom, what was answered, and sending it again."""

from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, and_, func, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.webhooks.deliveries import TAKEN, WebhookDelivery
from gossamer.state.webhooks.webhook_tables import webhook_deliveries
from gossamer.web.webhooks.attempt import AttemptReason, DeliveryAttempt, DeliveryState

RESENT_AT_ONCE: Final = 1_000

_rows: Final = webhook_deliveries.c
_attempts: Final = msgspec.json.Decoder(list[DeliveryAttempt])
_STATES: Final[dict[DeliveryState, ColumnElement[bool]]] = {
    DeliveryState.WAITING: _rows.due_at.is_not(None),
    DeliveryState.DELIVERED: _rows.delivered_at.is_not(None),
    DeliveryState.GIVEN_UP: and_(_rows.due_at.is_(None), _rows.delivered_at.is_(None)),
}


class LoggedDelivery(Struct, frozen=True, kw_only=True):
    id: str
    endpoint_id: str
    owner: str
    event: str
    subject: str
    state: DeliveryState
    failure: AttemptReason | None  # of the last attempt, or why there was none
    created_at: int
    due_at: int | None  # the next attempt
    delivered_at: int | None
    attempts: tuple[DeliveryAttempt, ...]


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries to list; None is all of them."""

    owner: str | None = None
    endpoint_id: str | None = None
    state: DeliveryState | None = None


async def list_deliveries(
    connection: AsyncConnection, which: DeliveryFilter, *, before: str | None = None, limit: int = 50
) -> list[LoggedDelivery]:
    """The newest first; `before` is the id of the last one already seen."""
    query = select(webhook_deliveries).order_by(_rows.id.desc()).limit(limit)
    if which.owner is not None:
        query = query.where(_rows.owner == which.owner)
    if which.endpoint_id is not None:
        query = query.where(_rows.sender == which.endpoint_id)
    if which.state is not None:
        query = query.where(_STATES[which.state])
    if before is not None:
        query = query.where(_rows.id < before)
    return [_logged(row) for row in await connection.execute(query)]


async def count_states(connection: AsyncConnection, endpoint_id: str) -> dict[DeliveryState, int]:
    found = {}
    for state, condition in _STATES.items():
        query = select(func.count()).where(_rows.sender == endpoint_id, condition)
        found[state] = await connection.scalar(query) or 0
    return found


async def get(connection: AsyncConnection, delivery_id: str) -> LoggedDelivery | None:
    query = select(webhook_deliveries).where(_rows.id == delivery_id)
    row = (await connection.execute(query)).first()
    return None if row is None else _logged(row)


async def get_contents(connection: AsyncConnection, delivery_id: str) -> WebhookDelivery | None:
    """What is stored to be sent."""
    row = (await connection.execute(select(*TAKEN).where(_rows.id == delivery_id))).first()
    return None if row is None else WebhookDelivery(*row)


async def resend(connection: AsyncConnection, delivery_id: str, *, now: int | None = None) -> bool:
    """Send one again under the same id, whatever became of it. False: it is about to be sent anyway."""
    over = and_(_rows.id == delivery_id, _rows.due_at.is_(None))
    return (await connection.execute(_again(over, now))).rowcount == 1


async def resend_given_up(
    connection: AsyncConnection, endpoint_id: str, since: int, *, now: int | None = None
) -> int:
    """Send again what was given up and happened since then, the oldest first; returns how many. At most
    `RESENT_AT_ONCE`: ask again for the rest."""
    some = (
        select(_rows.id)
        .where(_rows.sender == endpoint_id, _STATES[DeliveryState.GIVEN_UP], _rows.created_at >= since)
        .order_by(_rows.id)
        .limit(RESENT_AT_ONCE)
    )
    return (await connection.execute(_again(_rows.id.in_(some), now))).rowcount


def _again(which: ColumnElement[bool], now: int | None) -> Any:
    fresh = {"due_at": clock(now), "resent_at": clock(now), "attempt": 0, "delivered_at": None, "failure": ""}
    return update(webhook_deliveries).where(which).values(fresh)


def _logged(row: Row[Any]) -> LoggedDelivery:
    state = DeliveryState.WAITING if row.due_at is not None else DeliveryState.GIVEN_UP
    return LoggedDelivery(
        id=row.id,
        endpoint_id=row.sender,
        owner=row.owner,
        event=row.event,
        subject=row.subject,
        state=DeliveryState.DELIVERED if row.delivered_at is not None else state,
        failure=AttemptReason(row.failure) if row.failure in set(AttemptReason) else None,
        created_at=row.created_at,
        due_at=row.due_at,
        delivered_at=row.delivered_at,
        attempts=tuple(_attempts.decode(row.attempts_json)),
    )
