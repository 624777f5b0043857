"""Orphan blobs: those that no row names.

A blob is registered before it is uploaded, claimed by the transaction that writes its row, and marked by the
one that changes or deletes the row. So no crash leaves a blob behind. While a backup runs, none is dropped
here: its snapshot may have rows that name them. What a caller deletes goes at once all the same.
"""

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, func, select, update

from gossamer.state.backup import records as backups
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import stray_blobs

UPLOAD_MS: Final = 15 * 60_000  # no upload takes longer
SOON_MS: Final = 5_000  # a process drops the blobs that it marks at once; after this, others do
RETRY_MS: Final = 30_000
MAX_COUNTED: Final = 100_000

_orphans: Final = stray_blobs.c


async def register(
    connection: AsyncConnection, name: str, *, kept_ms: int = UPLOAD_MS, now: int | None = None
) -> None:
    """A blob of this name is about to be uploaded. It is kept for that long if no row names it."""
    await _add(connection, [name], kept_ms, now)


async def claim(connection: AsyncConnection, name: str) -> bool:
    """A row names it from now on. False: it took too long, and the blob may be gone."""
    mine = delete(stray_blobs).where(_orphans.name == name, _orphans.dropping.is_(False))
    return (await connection.execute(mine)).rowcount == 1


async def mark(connection: AsyncConnection, names: Sequence[str], *, now: int | None = None) -> None:
    """No row names them any more."""
    if names:
        await _add(connection, names, SOON_MS, now)


async def hurry(connection: AsyncConnection, names: Sequence[str], *, now: int | None = None) -> None:
    """Those that are registered are not needed any more."""
    if names:
        these = update(stray_blobs).where(_orphans.name.in_(names))
        await connection.execute(these.values(due_at=clock(now) + SOON_MS))


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_orphans.name).where(_orphans.due_at <= clock(now), ~backups.is_held(now)).limit(1)
    return await connection.scalar(first) is not None


async def count_due(connection: AsyncConnection, most: int = MAX_COUNTED, *, now: int | None = None) -> int:
    """The number of blobs that are due to be dropped, up to `most`."""
    some = select(_orphans.name).where(_orphans.due_at <= clock(now)).limit(most).subquery()
    return await connection.scalar(select(func.count()).select_from(some)) or 0


async def take_due(connection: AsyncConnection, limit: int, *, now: int | None = None) -> Sequence[str]:
    """Take orphans to drop. They cannot be claimed any more; if this process fails, another takes them."""
    due = select(_orphans.name).where(_orphans.due_at <= clock(now), ~backups.is_held(now))
    due = due.order_by(_orphans.due_at).limit(limit)
    taken = (
        update(stray_blobs)
        .where(_orphans.name.in_(due.with_for_update(skip_locked=True)))
        .values(dropping=True, due_at=clock(now) + RETRY_MS)
        .returning(_orphans.name)
    )
    return (await connection.scalars(taken)).all()


async def forget(connection: AsyncConnection, names: Collection[str]) -> None:
    """They are dropped."""
    if names:
        # In one order, since two processes may have dropped the same ones.
        these = select(_orphans.name).where(_orphans.name.in_(names)).order_by(_orphans.name)
        await connection.execute(delete(stray_blobs).where(_orphans.name.in_(these.with_for_update())))


async def _add(connection: AsyncConnection, names: Sequence[str], delay: int, now: int | None) -> None:
    new = insert_into(connection, stray_blobs).values(
        name=bindparam("stray"), due_at=clock(now) + delay, dropping=False
    )
    added = new.on_conflict_do_nothing(index_elements=["name"])
    await connection.execute(added, [{"stray": name} for name in names])
