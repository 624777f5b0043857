"""The health of endpoints: how long one that fails is left alone, and when it is disabled.

    closed ──(a failure)──▶ open: nothing is sent, for longer after every failure
    open ──(the time is over)──▶ half-open: one delivery goes ahead
    half-open ──(it is heard)──▶ closed
    half-open ──(a failure)──▶ open
    any ──(failing for days, or 410)──▶ disabled, until somebody enables it

It is in the database, so that all processes leave an endpoint alone together.
"""

from typing import Any, Final

import msgspec
from sqlalchemy import Row, func, or_, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.webhooks import deliveries, publishing
from gossamer.state.webhooks.publishing import WebhookEvent
from gossamer.state.webhooks.webhook_tables import webhook_endpoints
from gossamer.web.webhooks.attempt import AttemptReason, DisabledReason
from gossamer.web.webhooks.event_type import EventType

HOLDS: Final = (30, 60, 120, 300, 600)  # seconds, by the number of failures
FAILING_MS: Final = 3 * 86_400_000  # after which an endpoint is disabled
TOLD_MS: Final = 86_400_000  # for which operators see that it was

_rows: Final = webhook_endpoints.c


class DisabledEndpoint(msgspec.Struct, frozen=True, rename="camel"):
    """An endpoint that hears nothing any more."""

    id: str
    url: str
    reason: DisabledReason


async def note_success(connection: AsyncConnection, endpoint_id: str, *, now: int | None = None) -> None:
    heard = update(webhook_endpoints).where(_rows.id == endpoint_id)
    await connection.execute(
        heard.values(failures=0, failing_since=None, held_until=None, delivered_at=clock(now))
    )


async def note_failure(
    connection: AsyncConnection, endpoint_id: str, reason: AttemptReason, *, now: int | None = None
) -> tuple[int, DisabledEndpoint | None]:
    """For how many milliseconds its other deliveries wait; and the endpoint, if it was disabled now."""
    time = now if now is not None else await connection.scalar(select(clock())) or 0
    query = select(webhook_endpoints).where(_rows.id == endpoint_id).with_for_update()
    row = (await connection.execute(query)).first()
    if row is None or row.disabled_at is not None:
        return HOLDS[0] * 1000, None
    hold = HOLDS[min(row.failures, len(HOLDS) - 1)] * 1000
    since = row.failing_since or time
    failed = update(webhook_endpoints).where(_rows.id == endpoint_id)
    await connection.execute(
        failed.values(failures=_rows.failures + 1, failing_since=since, held_until=time + hold)
    )
    if reason is AttemptReason.GONE:
        return hold, await disable(connection, row, DisabledReason.GONE, now=time)
    if since <= time - FAILING_MS:
        return hold, await disable(connection, row, DisabledReason.FAILING, now=time)
    return hold, None


async def count_failing(connection: AsyncConnection, seconds: float, *, now: int | None = None) -> int:
    """Endpoints that have failed for so long; those that were disabled for it count for a day more."""
    is_missed = or_(_rows.disabled_at.is_(None), _rows.disabled_at > clock(now) - TOLD_MS)
    by_itself = or_(_rows.disabled_reason.is_(None), _rows.disabled_reason != DisabledReason.ASKED.value)
    failing = select(func.count()).where(
        _rows.failing_since <= clock(now) - round(seconds * 1000),
        _rows.ended_at.is_(None),
        is_missed,
        by_itself,
    )
    return await connection.scalar(failing) or 0


async def disable(
    connection: AsyncConnection, endpoint: Row[Any], reason: DisabledReason, *, now: int
) -> DisabledEndpoint:
    """Let it hear nothing, give up what waits for it, and tell the owner's other endpoints."""
    off = update(webhook_endpoints).where(_rows.id == endpoint.id)
    await connection.execute(off.values(disabled_at=now, disabled_reason=reason.value, updated_at=now))
    await deliveries.give_up_waiting(connection, endpoint.id)
    told = DisabledEndpoint(endpoint.id, endpoint.url, reason)
    event = WebhookEvent(
        type=EventType.WEBHOOK_DISABLED,
        tenant_id=endpoint.tenant_id,
        owner=endpoint.owner,
        subject=endpoint.id,
        data=told,
    )
    await publishing.publish(connection, event, now=now)
    return told
