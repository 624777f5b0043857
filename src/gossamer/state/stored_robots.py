"""What hosts answered when they were asked for robots.txt."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl_tables import host_robots
from gossamer.state.database import insert_into
from gossamer.state.given import storable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRobots:
    status: int | None  # None: there was no answer
    body: str
    fetched_at: int
    expires_at: int


async def keep(connection: AsyncConnection, host: str, robots: StoredRobots) -> None:
    values = {
        "status": robots.status,
        "body": storable(robots.body),
        "fetched_at": robots.fetched_at,
        "expires_at": robots.expires_at,
    }
    new = insert_into(connection, host_robots).values(host=host, **values)
    await connection.execute(new.on_conflict_do_update(index_elements=["host"], set_=values))


async def get(connection: AsyncConnection, names: Sequence[str]) -> dict[str, StoredRobots]:
    """Those that are known, by their hosts."""
    query = select(host_robots).where(host_robots.c.host.in_(names))
    rows = (await connection.execute(query)).all() if names else []
    return {
        row.host: StoredRobots(
            status=row.status, body=row.body, fetched_at=row.fetched_at, expires_at=row.expires_at
        )
        for row in rows
    }


async def forget(connection: AsyncConnection, host: str) -> None:
    await connection.execute(delete(host_robots).where(host_robots.c.host == host))
