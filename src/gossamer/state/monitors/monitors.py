"""The monitors themselves."""

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from sqlalchemy import Row, delete, func, insert, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.monitors.monitor_tables import monitors
from gossamer.web.monitors.monitor_spec import MonitorSpec

_rows: Final = monitors.c
_spec: Final = msgspec.json.Decoder(MonitorSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMonitor:
    id: str
    tenant_id: str
    owner: str
    name: str
    spec: MonitorSpec  # without headers
    headers_sealed: bytes | None = field(repr=False)
    edition: int  # of the spec
    muted: bool
    snoozed_until: int | None
    failures: int  # checks in a row
    failing_since: int | None
    last_problem: str
    checked_at: int | None
    changed_at: int | None
    changes: int
    job_id: str  # of the last check
    created_at: int
    updated_at: int

    def is_quiet(self, now: int) -> bool:
        """Whether nobody wants to be told."""
        return self.muted or (self.snoozed_until is not None and now < self.snoozed_until)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStoredMonitor:
    tenant_id: str
    owner: str
    name: str
    spec: MonitorSpec
    headers_sealed: bytes | None = field(default=None, repr=False)
    id: str = field(default_factory=lambda: str(ULID()))


async def read_clock(connection: AsyncConnection, now: int | None = None) -> int:
    """The database's time."""
    return int(await connection.scalar(select(clock(now))) or 0)


async def add(connection: AsyncConnection, new: NewStoredMonitor, *, now: int | None = None) -> StoredMonitor:
    values = {
        "id": new.id,
        "tenant_id": new.tenant_id,
        "owner": new.owner,
        "name": new.name,
        "spec_json": _encode(new.spec),
        "headers_sealed": new.headers_sealed,
        "edition": 1,
        "muted": False,
        "failures": 0,
        "last_problem": "",
        "changes": 0,
        "job_id": "",
        "created_at": clock(now),
        "updated_at": clock(now),
    }
    added = insert(monitors).values(values).returning(monitors)
    return _monitor((await connection.execute(added)).one())


async def get(connection: AsyncConnection, monitor_id: str, owner: str | None = None) -> StoredMonitor | None:
    """An owner of None may see all."""
    query = select(monitors).where(_rows.id == monitor_id)
    if owner is not None:
        query = query.where(_rows.owner == owner)
    row = (await connection.execute(query)).first()
    return None if row is None else _monitor(row)


async def lock(connection: AsyncConnection, monitor_id: str) -> StoredMonitor | None:
    """The same; until the transaction ends nobody else changes it."""
    query = select(monitors).where(_rows.id == monitor_id).with_for_update()
    row = (await connection.execute(query)).first()
    return None if row is None else _monitor(row)


async def listing(
    connection: AsyncConnection, *, owner: str | None, before: str | None = None, limit: int = 50
) -> list[StoredMonitor]:
    """The newest first; an owner of None may see all. `before` is the id of the last one already seen."""
    query = select(monitors).order_by(_rows.id.desc()).limit(limit)
    if owner is not None:
        query = query.where(_rows.owner == owner)
    if before is not None:
        query = query.where(_rows.id < before)
    return [_monitor(row) for row in await connection.execute(query)]


async def count(connection: AsyncConnection, tenant: str) -> int:
    query = select(func.count()).select_from(monitors).where(_rows.tenant_id == tenant)
    return await connection.scalar(query) or 0


async def change(
    connection: AsyncConnection,
    monitor: StoredMonitor,
    *,
    name: str,
    spec: MonitorSpec,
    headers_sealed: bytes | None,
    now: int | None = None,
) -> bool:
    """Returns whether the spec is another one: then looks by the old one must not be compared."""
    is_other = _encode(spec) != _encode(monitor.spec) or headers_sealed != monitor.headers_sealed
    values: dict[str, Any] = {"name": name, "updated_at": clock(now)}
    if is_other:
        values |= {
            "spec_json": _encode(spec),
            "headers_sealed": headers_sealed,
            "edition": _rows.edition + 1,
            "failures": 0,
            "failing_since": None,
            "last_problem": "",
        }
    await connection.execute(update(monitors).where(_rows.id == monitor.id).values(values))
    return is_other


async def quieten(
    connection: AsyncConnection,
    monitor_id: str,
    *,
    muted: bool,
    snoozed_until: int | None,
    now: int | None = None,
) -> None:
    values = {"muted": muted, "snoozed_until": snoozed_until, "updated_at": clock(now)}
    await connection.execute(update(monitors).where(_rows.id == monitor_id).values(values))


async def set_job(connection: AsyncConnection, monitor_id: str, job_id: str) -> None:
    """A check was queued."""
    await connection.execute(update(monitors).where(_rows.id == monitor_id).values(job_id=job_id))


async def note_good(
    connection: AsyncConnection, monitor_id: str, *, changes: int, now: int | None = None
) -> None:
    """A check has read everything."""
    values: dict[str, Any] = {
        "checked_at": clock(now),
        "failures": 0,
        "failing_since": None,
        "last_problem": "",
    }
    await _note(connection, monitor_id, values, changes, now)


async def note_failed(
    connection: AsyncConnection,
    monitor_id: str,
    *,
    problem: str,
    changes: int = 0,
    is_failing: bool,
    now: int | None = None,
) -> None:
    """A check could not read something. `is_failing`: that is told from now on."""
    values: dict[str, Any] = {
        "checked_at": clock(now),
        "failures": _rows.failures + 1,
        "last_problem": problem,
    }
    if is_failing:
        values["failing_since"] = func.coalesce(_rows.failing_since, clock(now))
    await _note(connection, monitor_id, values, changes, now)


async def remove(connection: AsyncConnection, monitor_id: str) -> bool:
    """The row alone; what hangs on it goes before."""
    return (await connection.execute(delete(monitors).where(_rows.id == monitor_id))).rowcount == 1


async def _note(
    connection: AsyncConnection, monitor_id: str, values: dict[str, Any], changes: int, now: int | None
) -> None:
    if changes:
        values |= {"changed_at": clock(now), "changes": _rows.changes + changes}
    await connection.execute(update(monitors).where(_rows.id == monitor_id).values(values))


def _encode(spec: MonitorSpec) -> str:
    return msgspec.json.encode(spec).decode()


def _monitor(row: Row[Any]) -> StoredMonitor:
    columns = dict(row._mapping)
    return StoredMonitor(spec=_spec.decode(columns.pop("spec_json")), **columns)
