# ruff: noqa: S608 - only constants of this module are put into these statements
"""Deleting a crawl: first it is marked, then everything that belongs to it is removed, a batch at a time.

Whoever writes for a crawl locks its row, and finds it marked (`crawl_counts.lock_all`). So after the mark
nothing is added, and what was removed stays removed. Its URLs go first: as long as one is there, a host that
is given back may change the counts. A batch never waits for a row that somebody else has locked, so nobody
waits for a deletion longer than one batch takes.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Table, delete, false, select, update

from gossamer.state.crawl import crawls as crawl_rows
from gossamer.state.crawl.crawl_tables import (
    crawl_days,
    crawl_hosts,
    crawl_minutes,
    crawl_traps,
    crawls,
    frontier,
    trap_states,
    unindexed,
)
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, hint_records, page_versions, refresh_days
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules import schedules
from gossamer.state.webhooks import endpoints
from gossamer.web.schedules.schedule_words import ScheduleKind

ROWS_AT_ONCE: Final = 1_000  # in one transaction

_crawls: Final = crawls.c


class MarkedCrawl(Struct, frozen=True):
    """A crawl that is being deleted."""

    id: str
    tenant_id: str
    pages: int
    urls: int
    is_new: bool = False  # it was marked just now

    @property
    def owned(self) -> OwnedCrawl:
        return OwnedCrawl(self.id, self.tenant_id)


async def mark(
    connection: AsyncConnection, crawl_id: str, tenant: str | None, *, now: int | None = None
) -> MarkedCrawl | None:
    """Mark a crawl of this tenant, or of any; from then on nobody finds it. None: there is none."""
    which = [_crawls.id == crawl_id, *([] if tenant is None else [_crawls.tenant_id == tenant])]
    marked = update(crawls).where(*which, _crawls.deleting == false())
    changed = await connection.execute(marked.values(deleting=True, is_default=False))
    is_new = changed.rowcount == 1
    if is_new:
        await crawl_rows.cancel(connection, crawl_id, now=now)
        await schedules.remove_of_subject(
            connection, ScheduleKind.RECRAWL, crawl_id
        )  # also of one that is over
    return await _find(connection, which, is_new=is_new)


async def find(connection: AsyncConnection, crawl_id: str) -> MarkedCrawl | None:
    """A crawl that was marked; None if it is not there any more."""
    return await _find(connection, [_crawls.id == crawl_id])


async def list_of_tenant(connection: AsyncConnection, tenant: str, after: str, limit: int) -> list[str]:
    """The ids of crawls of a tenant, marked or not, in their order."""
    query = select(_crawls.id).where(_crawls.tenant_id == tenant, _crawls.id > after)
    return list((await connection.scalars(query.order_by(_crawls.id).limit(limit))).all())


async def drop_row(connection: AsyncConnection, crawl_id: str) -> None:
    """The last step: nothing else of the crawl is left."""
    await endpoints.remove_work(connection, [crawl_id])
    await connection.execute(delete(crawls).where(_crawls.id == crawl_id, _crawls.deleting != false()))


async def drop_rows(connection: AsyncConnection, table: Table, crawl_id: str) -> int:
    """Remove one batch of the crawl's rows from a table of `KEYS`; returns how many."""
    return len(await _DROP[table](connection, None, crawl_id=crawl_id))


async def are_left(connection: AsyncConnection, table: Table, crawl_id: str) -> bool:
    """Whether the table has a row of the crawl, such as one that somebody had locked."""
    row = select(table.c.crawl_id).where(table.c.crawl_id == crawl_id).limit(1)
    return await connection.scalar(row) is not None


def _dropping(table: Table, key: str, most: int = ROWS_AT_ONCE) -> Any:
    return bulk(
        f"""
DELETE FROM {table.name} WHERE crawl_id = {{crawl_id}} AND {key} IN (
    SELECT {key} FROM {table.name} WHERE crawl_id = {{crawl_id}} LIMIT {most} {{for_update}} {{skip_locked}}
) RETURNING {key}""",
        values={"crawl_id": "text"},
    )


# The tables that a crawl has rows in, with what distinguishes its rows.
KEYS: Final[dict[Table, str]] = {
    frontier: "url_hash",
    unindexed: "blob",
    crawl_hosts: "host",
    crawl_minutes: "minute",
    crawl_days: "day",
    trap_states: "host",
    crawl_traps: "host",
    fresh_pages: "url_hash",
    page_versions: "url_hash",
    refresh_days: "host",
    hint_records: "host",
}
# Those that go after its URLs, pages and their content.
LAST: Final = tuple(table for table in KEYS if table not in (frontier, unindexed))
_DROP: Final = {table: _dropping(table, key) for table, key in KEYS.items()}


async def _find(
    connection: AsyncConnection, which: Sequence[Any], *, is_new: bool = False
) -> MarkedCrawl | None:
    row = (await connection.execute(_marked().where(*which))).first()
    return None if row is None else _marked_crawl(row, is_new=is_new)


def _marked() -> Any:
    urls = _crawls.pending + _crawls.in_progress + _crawls.completed + _crawls.failed + _crawls.blocked
    columns = (_crawls.id, _crawls.tenant_id, _crawls.pages, urls.label("urls"))
    return select(*columns).where(_crawls.deleting != false())


def _marked_crawl(row: Any, *, is_new: bool = False) -> MarkedCrawl:
    return MarkedCrawl(row.id, row.tenant_id, row.pages, row.urls, is_new)
