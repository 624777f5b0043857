"""Clock steps: when the database's clock is set back, set back the times that jobs and crawls wait for.

All such times are the database's. If its machine's clock is set back by an hour, no delayed job, no host of a
crawl and nothing that a lost worker held would have its turn for an hour. Workers write a heartbeat every few
seconds: a heartbeat in the future shows that the clock was set back, and by how much at least.
"""

from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Table, and_, case, func, or_, select, true, update

from gossamer.state.crawl.crawl_tables import frontier, host_robots, hosts, unindexed
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.db.tables import cached_pages, jobs, workers

TOLERANCE_MS: Final = 120_000  # smaller steps are waited out; no lease is as long
SECONDS: Final = 60.0  # there may be many rows

_AWAITED: Final[dict[Table, tuple[Column[Any], ...]]] = {
    jobs: (jobs.c.locked_until,),
    hosts: (hosts.c.due_at, hosts.c.locked_until, hosts.c.next_at, hosts.c.resting_until),
    host_robots: (host_robots.c.fetched_at, host_robots.c.expires_at),
    frontier: (frontier.c.due_at,),
    unindexed: (unindexed.c.due_at,),
    cached_pages: (cached_pages.c.due_at,),
    workers: (workers.c.seen_at,),  # the last, because it shows that there is something to do
}
_ONLY: Final[dict[Table, ColumnElement[bool]]] = {frontier: frontier.c.state == "pending"}


async def follow(database: Database, *, now: int | None = None) -> int:
    """Set the times back with the clock. The milliseconds of the step; 0 when there was none to speak of."""
    newest = select(func.max(workers.c.seen_at) - clock(now))
    async with database.read() as connection:
        step = int(await connection.scalar(newest) or 0)
    if step <= TOLERANCE_MS:
        return 0
    async with database.write(seconds=SECONDS) as connection:
        for table, columns in _AWAITED.items():
            await _set_back(connection, table, columns, step, now)
    return step


async def _set_back(
    connection: AsyncConnection, table: Table, columns: tuple[Column[Any], ...], step: int, now: int | None
) -> None:
    """Times in the near future were written after the step, and stay."""
    late = {column: column > clock(now) + TOLERANCE_MS for column in columns}
    values = {column.name: case((is_late, column - step), else_=column) for column, is_late in late.items()}
    which = and_(or_(*late.values()), _ONLY.get(table, true()))
    await connection.execute(update(table).where(which).values(values))
