# ruff: noqa: S608 - only constants of this module are put into these statements
"""What hosts answered when they were asked for robots.txt."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import fields
from sqlalchemy import delete, select

from gossamer.state.crawl.crawl_tables import host_robots
from gossamer.state.db.bulk import bulk, storable
from gossamer.state.db.connection import AsyncConnection


class StoredRobots(Struct, frozen=True, kw_only=True):
    status: int | None  # None: there was no answer
    body: str
    fetched_at: int
    expires_at: int


_NAMES: Final = tuple(each.name for each in fields(StoredRobots))
_KEEP: Final = bulk(
    f"""
INSERT INTO host_robots (host, {", ".join(_NAMES)}) SELECT host, {", ".join(_NAMES)} FROM {{given}} WHERE true
ON CONFLICT (host) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _NAMES)}""",
    rows={"host": "text", "status": "int", "body": "text", "fetched_at": "bigint", "expires_at": "bigint"},
)


async def keep(connection: AsyncConnection, found: Mapping[str, StoredRobots]) -> None:
    """By their hosts."""
    rows = [
        (host, robots.status, storable(robots.body), robots.fetched_at, robots.expires_at)
        for host, robots in sorted(found.items())
    ]
    await _KEEP(connection, None, rows)


async def get(connection: AsyncConnection, names: Sequence[str]) -> dict[str, StoredRobots]:
    """Those that are known, by their hosts."""
    query = select(host_robots).where(host_robots.c.host.in_(names))
    rows = (await connection.execute(query)).all() if names else []
    return {row.host: StoredRobots(**{name: row._mapping[name] for name in _NAMES}) for row in rows}


async def forget(connection: AsyncConnection, host: str) -> None:
    await connection.execute(delete(host_robots).where(host_robots.c.host == host))
