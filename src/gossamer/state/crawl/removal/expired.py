"""What crawls keep for a time only: URLs after the end of their crawl, bodies, and the counts of minutes.

URLs of a crawl that runs or is paused stay, however old they are: they tell which URLs are known.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, delete, false, func, literal, not_, or_, select, tuple_
from ulid import ULID

from gossamer.state.crawl import crawl_counts
from gossamer.state.crawl.crawl_counts import MINUTE_COUNTS
from gossamer.state.crawl.crawl_tables import (
    crawl_blobs,
    crawl_days,
    crawl_minutes,
    crawled_pages,
    crawls,
    frontier,
    host_robots,
)
from gossamer.state.crawl.crawled_pages import Position
from gossamer.state.crawl.refresh import fresh_pages
from gossamer.state.crawl.removal import removed_pages
from gossamer.state.crawl.removal.removed_pages import OVER, OwnedCrawl, RemovedPage
from gossamer.state.crawl.upkeep import archives
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import insert_into

ROWS_AT_ONCE: Final = 1_000  # in one transaction
DAY_MINUTES: Final = 1_440
SKEW_MS: Final = 86_400_000  # between the clocks of a process and of the database

_crawls: Final = crawls.c
_urls: Final = frontier.c
_pages: Final = crawled_pages.c
_minutes: Final = crawl_minutes.c
_days: Final = crawl_days.c
_blobs: Final = crawl_blobs.c
_robots: Final = host_robots.c


# URLs.


def _due_urls(states: Sequence[str], before: int) -> ColumnElement[bool]:
    """A crawl is over for good, except the default one, which ends and goes on: its URLs count one by one."""
    return and_(
        _urls.state.in_(states),
        _crawls.deleting == false(),
        _crawls.state.in_(OVER),
        case((_crawls.is_default, _urls.updated_at), else_=_crawls.finished_at) < before,
    )


async def crawls_with_urls(
    connection: AsyncConnection, states: Sequence[str], before: int, after: str, limit: int
) -> list[str]:
    """Crawls, in the order of their ids, that may have URLs that are due."""
    counted = sum((_crawls[state] for state in states), literal(0))
    ended = and_(_crawls.state.in_(OVER), or_(_crawls.is_default, _crawls.finished_at < before))
    query = select(_crawls.id).where(_crawls.id > after, ended, counted > 0, _crawls.deleting == false())
    return list((await connection.scalars(query.order_by(_crawls.id).limit(limit))).all())


async def count_urls(connection: AsyncConnection, states: Sequence[str], before: int) -> int:
    joined = frontier.join(crawls, _crawls.id == _urls.crawl_id)
    query = select(func.count()).select_from(joined).where(_due_urls(states, before))
    return await connection.scalar(query) or 0


async def next_urls(
    connection: AsyncConnection, crawl_id: str, states: Sequence[str], before: int, after: str
) -> list[str]:
    """The hashes of a batch of due URLs of a crawl, in their order."""
    joined = frontier.join(crawls, _crawls.id == _urls.crawl_id)
    query = select(_urls.url_hash).select_from(joined).where(_due_urls(states, before))
    query = query.where(_urls.crawl_id == crawl_id, _urls.url_hash > after).order_by(_urls.url_hash)
    return list((await connection.scalars(query.limit(ROWS_AT_ONCE))).all())


async def drop_urls(
    connection: AsyncConnection,
    crawl_id: str,
    hashes: Sequence[str],
    states: Sequence[str],
    *,
    now: int | None = None,
) -> int:
    """Remove URLs and take them off the counts, unless the crawl goes on meanwhile."""
    rows = await crawl_counts.lock(connection, [crawl_id])
    if not rows or rows[0].deleting or rows[0].state not in OVER:
        return 0
    chosen = and_(_urls.crawl_id == crawl_id, _urls.url_hash.in_(hashes), _urls.state.in_(states))
    gone = (await connection.execute(delete(frontier).where(chosen).returning(_urls.host, _urls.state))).all()
    await removed_pages.forget_counted(connection, crawl_id, gone, now)
    return len(gone)


# Bodies.


async def crawls_with_bodies(
    connection: AsyncConnection, before: int, after: str, limit: int
) -> list[OwnedCrawl]:
    """Crawls, in the order of their ids, that may have bodies that are due."""
    stored = select(_blobs.blob).where(_blobs.crawl_id == _crawls.id).exists()
    query = select(_crawls.id, _crawls.tenant_id).where(_crawls.id > after, _crawls.created_at < before)
    query = query.where(_crawls.deleting == false(), stored).order_by(_crawls.id).limit(limit)
    return [OwnedCrawl(*row) for row in await connection.execute(query)]


async def first_body(connection: AsyncConnection, crawl_id: str) -> int:
    """No page that was stored before this has a body: the name of a blob tells when it was made. So the pages
    whose bodies have gone are not looked at again."""
    first = await connection.scalar(select(func.min(_blobs.blob)).where(_blobs.crawl_id == crawl_id))
    try:
        made = ULID.from_str(str(first).rpartition("/")[2].upper())
    except ValueError:
        return 0
    return made.milliseconds - SKEW_MS


def due_bodies(before: int) -> ColumnElement[bool]:
    """A crawl that is kept fresh keeps what its pages are now, however long they have been so."""
    old = archives.is_not_restored_since(before)
    fresh = select(_crawls.id).where(_crawls.keeps_fresh != false())
    return and_(_pages.blob.is_not(None), _pages.crawled_at < before, old, _pages.crawl_id.not_in(fresh))


async def count_bodies(connection: AsyncConnection, before: int) -> tuple[int, int]:
    """How many, and how many bytes they take."""
    return await _count_pages(connection, _pages.blob_size, due_bodies(before))


async def next_bodies(
    connection: AsyncConnection, crawl_id: str, before: int, after: Position
) -> list[RemovedPage]:
    which = [_pages.crawl_id == crawl_id, due_bodies(before)]
    return await removed_pages.next_pages(connection, which, after)


# Pages.


async def count_pages(connection: AsyncConnection, before: int) -> tuple[int, int]:
    old = archives.is_not_restored_since(before)
    due = and_(_pages.crawled_at < before, old, not_(fresh_pages.is_current()))
    return await _count_pages(connection, _pages.content_length, due)


async def _count_pages(
    connection: AsyncConnection, size: ColumnElement[int], which: ColumnElement[bool]
) -> tuple[int, int]:
    """Of crawls that are there to stay."""
    joined = crawled_pages.join(crawls, _crawls.id == _pages.crawl_id)
    query = select(func.count(), func.coalesce(func.sum(size), 0)).select_from(joined)
    rows, size_ = (await connection.execute(query.where(which, _crawls.deleting == false()))).one()
    return rows, int(size_)


# Counts of minutes.


async def count_minutes(connection: AsyncConnection, before: int) -> int:
    query = select(func.count()).select_from(crawl_minutes).where(_minutes.minute < before)
    return await connection.scalar(query) or 0


async def fold_minutes(connection: AsyncConnection, before: int) -> int:
    """Add a batch of minutes before this one to their days; returns how many. Whoever deletes a crawl waits
    for its minutes, and then removes its days."""
    due = select(_minutes.crawl_id, _minutes.minute).where(_minutes.minute < before)
    due = due.order_by(_minutes.minute, _minutes.crawl_id).limit(ROWS_AT_ONCE)
    keys = [tuple(row) for row in await connection.execute(due.with_for_update(skip_locked=True))]
    if not keys:
        return 0
    gone = delete(crawl_minutes).where(tuple_(_minutes.crawl_id, _minutes.minute).in_(keys))
    counts = (_minutes[name] for name in MINUTE_COUNTS)
    sums: dict[tuple[str, int], list[int]] = {}
    for row in await connection.execute(gone.returning(_minutes.crawl_id, _minutes.minute, *counts)):
        day = sums.setdefault((row[0], row[1] // DAY_MINUTES), [0] * len(MINUTE_COUNTS))
        day[:] = [sum(pair) for pair in zip(day, row[2:], strict=True)]
    await _add_days(connection, sums)
    return len(keys)


async def _add_days(connection: AsyncConnection, sums: dict[tuple[str, int], list[int]]) -> None:
    new = insert_into(connection, crawl_days)
    more = {name: _days[name] + new.excluded[name] for name in MINUTE_COUNTS}
    added = new.on_conflict_do_update(index_elements=["crawl_id", "day"], set_=more)
    rows: list[dict[str, Any]] = [
        {"crawl_id": crawl_id, "day": day, **dict(zip(MINUTE_COUNTS, counts, strict=True))}
        for (crawl_id, day), counts in sorted(sums.items())
    ]
    await connection.execute(added, rows)


# robots.txt of hosts that nobody asks for any more: whoever does, fetches it again when it has expired.


async def count_robots(connection: AsyncConnection, before: int) -> int:
    query = select(func.count()).select_from(host_robots).where(_unused(before))
    return await connection.scalar(query) or 0


async def drop_robots(connection: AsyncConnection, before: int) -> int:
    some = select(_robots.host).where(_unused(before)).order_by(_robots.host).limit(ROWS_AT_ONCE)
    chosen = _robots.host.in_(some.with_for_update(skip_locked=True))
    return (await connection.execute(delete(host_robots).where(chosen))).rowcount


def _unused(before: int) -> ColumnElement[bool]:
    return and_(_robots.fetched_at < before, _robots.expires_at < before)
