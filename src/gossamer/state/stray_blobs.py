"""Stray blobs: those that no row speaks of.

They are announced before they are uploaded, adopted by the transaction that writes the row, and cast out by
the one that changes or deletes it. So a crash leaves none behind, wherever it falls.
"""

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.database import clock, insert_into
from gossamer.state.tables import stray_blobs

UPLOAD_MS: Final = 15 * 60_000  # nobody uploads for longer
SOON_MS: Final = 5_000  # who casts a blob out drops it at once; this is when others do it for him
RETRY_MS: Final = 30_000

_strays: Final = stray_blobs.c


async def announce(connection: AsyncConnection, name: str, *, now: int | None = None) -> None:
    """A blob of this name is about to be uploaded."""
    await _add(connection, [name], UPLOAD_MS, now)


async def adopt(connection: AsyncConnection, name: str) -> bool:
    """A row speaks of it from now on. False: it took too long, and the blob may be gone."""
    mine = delete(stray_blobs).where(_strays.name == name, _strays.dropping.is_(False))
    return (await connection.execute(mine)).rowcount == 1


async def cast_out(connection: AsyncConnection, names: Sequence[str], *, now: int | None = None) -> None:
    """No row speaks of them any more."""
    if names:
        await _add(connection, names, SOON_MS, now)


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_strays.name).where(_strays.due_at <= clock(now)).limit(1)
    return await connection.scalar(first) is not None


async def take_due(connection: AsyncConnection, limit: int, *, now: int | None = None) -> Sequence[str]:
    """Strays to be dropped. Nobody can adopt them any more; who does not manage is followed by another."""
    due = select(_strays.name).where(_strays.due_at <= clock(now)).order_by(_strays.due_at).limit(limit)
    taken = (
        update(stray_blobs)
        .where(_strays.name.in_(due.with_for_update(skip_locked=True)))
        .values(dropping=True, due_at=clock(now) + RETRY_MS)
        .returning(_strays.name)
    )
    return (await connection.scalars(taken)).all()


async def forget(connection: AsyncConnection, names: Collection[str]) -> None:
    """They are dropped."""
    if names:
        # In one order for all, since two may have dropped the same ones.
        these = select(_strays.name).where(_strays.name.in_(names)).order_by(_strays.name)
        await connection.execute(delete(stray_blobs).where(_strays.name.in_(these.with_for_update())))


async def _add(connection: AsyncConnection, names: Sequence[str], delay: int, now: int | None) -> None:
    new = insert_into(connection, stray_blobs).values(
        name=bindparam("stray"), due_at=clock(now) + delay, dropping=False
    )
    added = new.on_conflict_do_nothing(index_elements=["name"])
    await connection.execute(added, [{"stray": name} for name in names])
