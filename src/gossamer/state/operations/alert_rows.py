"""Alerts as they are stored.

    waiting ──(has lasted long enough)──▶ raised ──(is over)──▶ resolved
       └──(is over)──▶ deleted

An alert that was resolved and comes again is another row. Acknowledging changes nothing but who knows of it.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from sqlalchemy import Row, delete, insert, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.operations.operation_tables import alerts

KEEP_MS: Final = 90 * 86_400_000  # resolved ones

_alerts: Final = alerts.c


class AlertSeverity(StrEnum):
    WARNING = "warning"  # serving, with something missing
    CRITICAL = "critical"  # something does not work


class Sighting(Struct, frozen=True):
    """Something that is wrong now, by the rule that found it."""

    rule: str
    subject: str
    severity: AlertSeverity
    detail: str
    patience: float = 0.0  # seconds that it must last before it is raised


class StoredAlert(Struct, frozen=True):
    id: str
    rule: str
    subject: str
    severity: AlertSeverity
    detail: str
    since: int
    seen_at: int
    raised_at: int | None
    resolved_at: int | None
    acknowledged_at: int | None
    acknowledged_by: str | None


class AlertChanges(Struct, frozen=True):
    """What one evaluation has changed."""

    raised: Sequence[StoredAlert]
    resolved: Sequence[StoredAlert]


async def apply(
    connection: AsyncConnection, sightings: Sequence[Sighting], *, now: int | None = None
) -> AlertChanges:
    """Make the open alerts be those that were seen. Only the process that has the duty calls this."""
    time = await connection.scalar(select(clock(now))) or 0
    known = {(row.rule, row.subject): row for row in await list_open(connection, waiting=True)}
    seen = {(one.rule, one.subject): one for one in sightings}
    raised = []
    for key, sighting in seen.items():
        row = known.get(key) or await _begin(connection, sighting, time)
        is_raised = row.raised_at is None and time - row.since >= sighting.patience * 1000
        values = {"seen_at": time, "detail": sighting.detail, "severity": sighting.severity.value}
        if is_raised:
            values["raised_at"] = time
        changed = update(alerts).where(_alerts.id == row.id).values(values).returning(alerts)
        after = _stored((await connection.execute(changed)).one())
        raised += [after] if is_raised else []
    over = [row for key, row in known.items() if key not in seen]
    return AlertChanges(raised, await _end(connection, over, time))


async def _begin(connection: AsyncConnection, sighting: Sighting, time: int) -> StoredAlert:
    values = {
        "id": str(ULID()),
        "rule": sighting.rule,
        "subject": sighting.subject,
        "severity": sighting.severity.value,
        "detail": sighting.detail,
        "since": time,
        "seen_at": time,
    }
    added = insert(alerts).values(values).returning(alerts)
    return _stored((await connection.execute(added)).one())


async def _end(connection: AsyncConnection, over: Sequence[StoredAlert], time: int) -> Sequence[StoredAlert]:
    waiting = [row.id for row in over if row.raised_at is None]
    raised = [row.id for row in over if row.raised_at is not None]
    if waiting:
        await connection.execute(delete(alerts).where(_alerts.id.in_(waiting)))
    if not raised:
        return []
    ended = update(alerts).where(_alerts.id.in_(raised)).values(resolved_at=time).returning(alerts)
    return [_stored(row) for row in await connection.execute(ended)]


async def list_open(connection: AsyncConnection, *, waiting: bool = False) -> list[StoredAlert]:
    """Those that are raised and not resolved; with `waiting` also those that have not lasted long enough."""
    query = select(alerts).where(_alerts.resolved_at.is_(None)).order_by(_alerts.id)
    if not waiting:
        query = query.where(_alerts.raised_at.is_not(None))
    return [_stored(row) for row in await connection.execute(query)]


async def list_resolved(connection: AsyncConnection, limit: int) -> list[StoredAlert]:
    """The latest first."""
    query = select(alerts).where(_alerts.resolved_at.is_not(None)).order_by(_alerts.resolved_at.desc())
    return [_stored(row) for row in await connection.execute(query.limit(limit))]


async def acknowledge(
    connection: AsyncConnection, alert_id: str, who: str, *, now: int | None = None
) -> tuple[StoredAlert, bool] | None:
    """The alert, and whether this was the first time. None: there is none of this id, or it is resolved."""
    first = update(alerts).where(
        _alerts.id == alert_id, _alerts.resolved_at.is_(None), _alerts.acknowledged_at.is_(None)
    )
    changed = first.values(acknowledged_at=clock(now), acknowledged_by=who).returning(alerts)
    row = (await connection.execute(changed)).one_or_none()
    if row is not None:
        return _stored(row), True
    query = select(alerts).where(_alerts.id == alert_id, _alerts.resolved_at.is_(None))
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else (_stored(row), False)


async def forget_old(connection: AsyncConnection, *, now: int | None = None) -> int:
    old = delete(alerts).where(_alerts.resolved_at <= clock(now) - KEEP_MS)
    return (await connection.execute(old)).rowcount


def _stored(row: Row[tuple[object, ...]]) -> StoredAlert:
    fields = dict(row._mapping)
    return StoredAlert(**{**fields, "severity": AlertSeverity(fields["severity"])})
