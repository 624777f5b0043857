"""Heartbeats: which workers are alive, and the kinds of jobs they work on."""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from sqlalchemy import delete, select

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import workers

CRAWL: Final = "crawl"  # the kind of workers that crawl
EVERY_SECONDS: Final = 15.0
ALIVE_SECONDS: Final = 3 * EVERY_SECONDS
DAY: Final = 86_400_000  # milliseconds


class Heartbeat(Struct, frozen=True):
    name: str
    kinds: tuple[str, ...]
    running: int  # jobs
    started_at: int
    seen_at: int
    is_alive: bool = True


async def beat(
    connection: AsyncConnection, name: str, kinds: Collection[str], running: int, *, now: int | None = None
) -> None:
    """This worker is alive."""
    new = insert_into(connection, workers).values(
        name=name, kinds=",".join(sorted(kinds)), running=running, started_at=clock(now), seen_at=clock(now)
    )
    changing = {column: new.excluded[column] for column in ("kinds", "running", "seen_at")}
    await connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=changing))


async def leave(connection: AsyncConnection, name: str) -> None:
    """This worker has stopped."""
    await connection.execute(delete(workers).where(workers.c.name == name))


async def alive(connection: AsyncConnection, *, now: int | None = None) -> Sequence[Heartbeat]:
    since = clock(now) - int(ALIVE_SECONDS * 1000)
    rows = await connection.execute(select(workers).where(workers.c.seen_at > since).order_by(workers.c.name))
    return [Heartbeat(row[0], tuple(row[1].split(",")), *row[2:]) for row in rows]


async def recent(connection: AsyncConnection, *, now: int | None = None) -> Sequence[Heartbeat]:
    """The workers that are alive, and those that fell silent within a day."""
    time = await connection.scalar(select(clock(now))) or 0
    query = select(workers).where(workers.c.seen_at > time - DAY).order_by(workers.c.name)
    alive_since = time - int(ALIVE_SECONDS * 1000)
    return [
        Heartbeat(
            name=row.name,
            kinds=tuple(row.kinds.split(",")),
            running=row.running,
            started_at=row.started_at,
            seen_at=row.seen_at,
            is_alive=row.seen_at > alive_since,
        )
        for row in await connection.execute(query)
    ]


async def forget_dead(connection: AsyncConnection, *, now: int | None = None) -> int:
    """Delete the traces of workers that have not been heard from for a day."""
    since = clock(now) - DAY
    return (await connection.execute(delete(workers).where(workers.c.seen_at <= since))).rowcount
