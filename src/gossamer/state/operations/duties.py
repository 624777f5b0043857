"""Duties: work that one process at a time does. Who has one renews it; another takes it when that ends."""

from typing import Final

from sqlalchemy import delete, or_

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.operations.operation_tables import duties

_duties: Final = duties.c


async def take(
    connection: AsyncConnection, name: str, holder: str, *, seconds: float, now: int | None = None
) -> bool:
    """Take or renew a duty; False if another process has it."""
    until = clock(now) + round(seconds * 1000)
    new = insert_into(connection, duties).values(name=name, holder=holder, until=until)
    mine = or_(_duties.holder == holder, _duties.until <= clock(now))
    changed = {"holder": new.excluded.holder, "until": new.excluded.until}
    taken = new.on_conflict_do_update(index_elements=["name"], set_=changed, where=mine)
    return (await connection.scalar(taken.returning(_duties.name))) is not None


async def leave(connection: AsyncConnection, name: str, holder: str) -> None:
    """Let another process have it at once."""
    await connection.execute(delete(duties).where(_duties.name == name, _duties.holder == holder))
