"""What hosts answered when they were asked for robots.txt."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, fields
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer.state.crawl.crawl_tables import host_robots
from gossamer.state.db.bulk import storable
from gossamer.state.db.database import insert_into


class StoredRobots(Struct, frozen=True, kw_only=True):
    status: int | None  # None: there was no answer
    body: str
    fetched_at: int
    expires_at: int


_NAMES: Final = tuple(each.name for each in fields(StoredRobots))


async def keep(connection: AsyncConnection, host: str, robots: StoredRobots) -> None:
    values = asdict(robots) | {"body": storable(robots.body)}
    new = insert_into(connection, host_robots).values(host=host, **values)
    await connection.execute(new.on_conflict_do_update(index_elements=["host"], set_=values))


async def get(connection: AsyncConnection, names: Sequence[str]) -> dict[str, StoredRobots]:
    """Those that are known, by their hosts."""
    query = select(host_robots).where(host_robots.c.host.in_(names))
    rows = (await connection.execute(query)).all() if names else []
    return {row.host: StoredRobots(**{name: row._mapping[name] for name in _NAMES}) for row in rows}


async def forget(connection: AsyncConnection, host: str) -> None:
    await connection.execute(delete(host_robots).where(host_robots.c.host == host))
