"""Changes that monitors have found, and their last checks."""

from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Table, delete, func, insert, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.monitors.monitor_tables import monitor_changes, monitor_checks
from gossamer.web.monitors.rules.comparing import ChangeVerdict

MAX_CHANGES: Final = 200  # of a monitor; older ones go
MAX_CHECKS: Final = 200
REMOVED_AT_ONCE: Final = 200

_changes: Final = monitor_changes.c
_checks: Final = monitor_checks.c
_verdict: Final = msgspec.json.Decoder(ChangeVerdict)


class StoredChange(Struct, frozen=True, kw_only=True):
    id: str
    monitor_id: str
    tenant_id: str
    check_id: str
    url: str
    seen_at: int = 0
    before_id: str | None
    after_id: str | None
    verdict: ChangeVerdict
    told: bool
    acknowledged_at: int | None = None


class CheckOutcome(StrEnum):
    FIRST = "first"  # there was nothing to compare with
    SAME = "same"
    CHANGED = "changed"
    UNCONFIRMED = "unconfirmed"  # a second look did not see it
    FAILED = "failed"  # something could not be read


class StoredCheck(Struct, frozen=True):
    id: str  # of the job
    monitor_id: str
    tenant_id: str
    result: CheckOutcome
    detail_json: str = "{}"
    at: int = 0


async def add(connection: AsyncConnection, change: StoredChange, *, now: int | None = None) -> None:
    await connection.execute(
        insert(monitor_changes).values(
            id=change.id,
            monitor_id=change.monitor_id,
            tenant_id=change.tenant_id,
            check_id=change.check_id,
            url=change.url,
            seen_at=clock(now),
            before_id=change.before_id,
            after_id=change.after_id,
            verdict_json=msgspec.json.encode(change.verdict).decode(),
            told=change.told,
        )
    )


async def add_check(connection: AsyncConnection, check: StoredCheck, *, now: int | None = None) -> None:
    await connection.execute(
        insert(monitor_checks).values(
            id=check.id,
            monitor_id=check.monitor_id,
            tenant_id=check.tenant_id,
            at=clock(now),
            result=check.result.value,
            detail_json=check.detail_json,
        )
    )


async def get(connection: AsyncConnection, monitor_id: str, change_id: str) -> StoredChange | None:
    query = select(monitor_changes).where(_changes.monitor_id == monitor_id, _changes.id == change_id)
    row = (await connection.execute(query)).first()
    return None if row is None else _change(row)


async def listing(
    connection: AsyncConnection, monitor_id: str, *, before: str | None = None, limit: int = 50
) -> list[StoredChange]:
    """The newest first."""
    query = select(monitor_changes).where(_changes.monitor_id == monitor_id)
    if before is not None:
        query = query.where(_changes.id < before)
    rows = await connection.execute(query.order_by(_changes.id.desc()).limit(limit))
    return [_change(row) for row in rows]


async def list_checks(
    connection: AsyncConnection, monitor_id: str, *, before: str | None = None, limit: int = 50
) -> list[StoredCheck]:
    query = select(monitor_checks).where(_checks.monitor_id == monitor_id)
    if before is not None:
        query = query.where(_checks.id < before)
    rows = await connection.execute(query.order_by(_checks.id.desc()).limit(limit))
    return [
        StoredCheck(row.id, row.monitor_id, row.tenant_id, CheckOutcome(row.result), row.detail_json, row.at)
        for row in rows
    ]


async def acknowledge(
    connection: AsyncConnection, monitor_id: str, change_id: str | None, *, now: int | None = None
) -> int:
    """Somebody has seen it, or all of them; returns how many were new."""
    unseen = update(monitor_changes).where(
        _changes.monitor_id == monitor_id, _changes.acknowledged_at.is_(None)
    )
    if change_id is not None:
        unseen = unseen.where(_changes.id == change_id)
    return (await connection.execute(unseen.values(acknowledged_at=clock(now)))).rowcount


async def prune(connection: AsyncConnection, monitor_id: str) -> None:
    """Only the last ones are kept."""
    await _prune(connection, monitor_changes, _changes.monitor_id == monitor_id, MAX_CHANGES)
    await _prune(connection, monitor_checks, _checks.monitor_id == monitor_id, MAX_CHECKS)


async def count_old(connection: AsyncConnection, before: int) -> int:
    """Changes and checks from before this time."""
    changes = select(func.count()).select_from(monitor_changes).where(_changes.seen_at < before)
    checks = select(func.count()).select_from(monitor_checks).where(_checks.id < _first_id(before))
    return (await connection.scalar(changes) or 0) + (await connection.scalar(checks) or 0)


async def drop_old(connection: AsyncConnection, before: int) -> list[str]:
    """Remove some changes from before this time; returns their monitors, whose snapshots are swept next."""
    some = select(_changes.id).where(_changes.seen_at < before).order_by(_changes.seen_at)
    gone = delete(monitor_changes).where(_changes.id.in_(some.limit(REMOVED_AT_ONCE)))
    return list((await connection.scalars(gone.returning(_changes.monitor_id))).all())


async def drop_old_checks(connection: AsyncConnection, before: int) -> int:
    """Remove some checks from before this time; returns how many. 0: none is left."""
    some = select(_checks.id).where(_checks.id < _first_id(before)).order_by(_checks.id)
    gone = delete(monitor_checks).where(_checks.id.in_(some.limit(REMOVED_AT_ONCE)))
    return (await connection.execute(gone)).rowcount


def _first_id(moment: int) -> str:
    """The ids of jobs, and so of checks, tell when they were made."""
    return str(ULID.from_timestamp(max(moment, 0) / 1000))[:10]


async def drop_all(connection: AsyncConnection, monitor_id: str) -> None:
    """A monitor has a bounded number of them."""
    await connection.execute(delete(monitor_changes).where(_changes.monitor_id == monitor_id))
    await connection.execute(delete(monitor_checks).where(_checks.monitor_id == monitor_id))


async def _prune(connection: AsyncConnection, table: Table, mine: ColumnElement[bool], most: int) -> None:
    last = select(table.c.id).where(mine).order_by(table.c.id.desc()).offset(most).limit(1)
    oldest = await connection.scalar(last)
    if oldest is not None:
        await connection.execute(delete(table).where(mine, table.c.id <= oldest))


def _change(row: Row[Any]) -> StoredChange:
    columns = dict(row._mapping)
    return StoredChange(verdict=_verdict.decode(columns.pop("verdict_json")), **columns)
