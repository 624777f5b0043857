"""Rows about backups and restores of this database.

A backup holds its row under a lease that it renews. While the lease lasts, orphan blobs are not dropped
(`orphan_blobs`): rows of the snapshot may name them. A backup that was killed holds them until its lease
ends.

A restore is begun before anything is written and finished in the transaction that writes the rows. In
between, nothing else starts on the database (`Database.migrate`).
"""

from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, delete, exists, insert, select, update
from ulid import ULID

from gossamer.state.backup.backup_tables import backups, restores
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock

HOLD_MS: Final = 120_000
KEPT_ROWS: Final = 100

_backups: Final = backups.c


class BackupRecord(Struct, frozen=True, kw_only=True):
    """A backup that was made of this database; times are in milliseconds."""

    id: str
    place: str
    started_at: int
    snapshot_at: int  # what is newer is not in it
    finished_at: int
    rows: int
    bytes: int


class RestoreRecord(Struct, frozen=True, kw_only=True):
    """A restore into this database that has ended."""

    backup_id: str
    snapshot_at: int
    finished_at: int


class BackupRunning(Exception):
    """There is one backup at a time, since each removes what no backup needs any more."""


async def begin(connection: AsyncConnection, place: str, *, now: int | None = None) -> str:
    """Raises `BackupRunning`."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer
        await connection.exec_driver_sql("LOCK TABLE backups IN EXCLUSIVE MODE")
    running = select(_backups.id).where(_backups.held_until > clock(now)).limit(1)
    if await connection.scalar(running) is not None:
        raise BackupRunning
    await _forget_old(connection)
    new = str(ULID()).lower()
    held_until = clock(now) + HOLD_MS
    row = insert(backups).values(id=new, place=place, started_at=clock(now), held_until=held_until)
    await connection.execute(row)
    return new


async def hold(connection: AsyncConnection, backup_id: str, *, now: int | None = None) -> None:
    """It goes on."""
    await _change(connection, backup_id, held_until=clock(now) + HOLD_MS)


async def finish(
    connection: AsyncConnection,
    backup_id: str,
    *,
    snapshot_at: int,
    rows: int,
    size: int,
    now: int | None = None,
) -> None:
    """It exists. The hold goes on until `let_go`."""
    about = {"snapshot_at": snapshot_at, "rows": rows, "bytes": size}
    await _change(connection, backup_id, finished_at=clock(now), **about)


async def let_go(connection: AsyncConnection, backup_id: str) -> None:
    """End the hold; a backup that is not finished is forgotten."""
    unfinished = (_backups.id == backup_id, _backups.finished_at.is_(None))
    await connection.execute(delete(backups).where(*unfinished))
    await _change(connection, backup_id, held_until=0)


async def last_backup(connection: AsyncConnection) -> BackupRecord | None:
    """The newest good one."""
    columns = [_backups[name] for name in BackupRecord.__struct_fields__]
    done = select(*columns).where(_backups.finished_at.is_not(None)).order_by(_backups.finished_at.desc())
    row = (await connection.execute(done.limit(1))).first()
    return None if row is None else BackupRecord(**row._mapping)


def is_held(now: int | None = None) -> ColumnElement[bool]:
    """Whether a backup needs all blobs that its snapshot names."""
    return exists().where(_backups.held_until > clock(now))


async def begin_restore(
    connection: AsyncConnection, backup_id: str, place: str, snapshot_at: int, *, now: int | None = None
) -> str:
    """An earlier one that did not end is replaced by this one."""
    await connection.execute(delete(restores).where(restores.c.finished_at.is_(None)))
    new = str(ULID()).lower()
    row = insert(restores).values(
        id=new, backup_id=backup_id, place=place, snapshot_at=snapshot_at, started_at=clock(now)
    )
    await connection.execute(row)
    return new


async def give_up_restore(connection: AsyncConnection, restore_id: str) -> None:
    """Nothing was written."""
    await connection.execute(delete(restores).where(restores.c.id == restore_id))


async def last_restore(connection: AsyncConnection) -> RestoreRecord | None:
    columns = [restores.c[name] for name in RestoreRecord.__struct_fields__]
    done = select(*columns).where(restores.c.finished_at.is_not(None)).order_by(restores.c.finished_at.desc())
    row = (await connection.execute(done.limit(1))).first()
    return None if row is None else RestoreRecord(**row._mapping)


async def _change(connection: AsyncConnection, backup_id: str, **values: Any) -> None:
    await connection.execute(update(backups).where(_backups.id == backup_id).values(**values))


async def _forget_old(connection: AsyncConnection) -> None:
    newest = select(_backups.id).order_by(_backups.id.desc()).limit(KEPT_ROWS)
    await connection.execute(delete(backups).where(_backups.id.not_in(newest)))
